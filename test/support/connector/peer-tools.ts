import { randomBytes } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished } from "vitest";
import type { Fetch, PeerTools } from "../../../lib/platform/call-peer.ts";
import { PeerFailure, type PeerFailureKind } from "../../../lib/platform/peer-failure.ts";
import { instant, plus } from "../../../lib/platform/time.ts";
import { type HttpAnswer, type HttpCall, startPeer } from "../../../local/peers/peer.ts";

export interface TestTools extends PeerTools {
  /** How long each wait was to be; none took any time. */
  readonly waits: number[];
  advance(ms: number): void;
}

/** Real `fetch`, a clock that stands still but for waits, and waits that take no time. */
export function testTools(): TestTools {
  let time = instant(Date.now());
  const waits: number[] = [];
  const advance = (ms: number) => {
    time = plus(time, ms);
  };
  return {
    fetch,
    now: () => time,
    random: bytes => randomBytes(bytes),
    sleep: async (ms, signal) => {
      signal.throwIfAborted();
      waits.push(ms);
      advance(ms);
    },
    waits,
    advance,
  };
}

/** A server of the test's own, for answers that no simulated peer gives. Ends with the test. */
export async function oddServer(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A peer of the test's own, which records its calls. Ends with the test. */
export async function oddPeer(answer: (call: HttpCall) => HttpAnswer) {
  const calls: HttpCall[] = [];
  const handle = (call: HttpCall) => {
    calls.push(call);
    return answer(call);
  };
  const { url, close } = await startPeer("odd", { handle });
  onTestFinished(close);
  return { url, calls };
}

/** `fetch` as it fails when the system fails below it. */
export const failingFetch =
  (cause: Error): Fetch =>
  async () => {
    throw new TypeError("fetch failed", { cause });
  };

export const systemError = (code: string, syscall?: string): Error =>
  Object.assign(new Error(`${syscall ?? ""} ${code}`), syscall === undefined ? { code } : { code, syscall });

/** The failure of a call that has to fail. */
export async function failureOf(call: Promise<unknown> = Promise.resolve()): Promise<PeerFailure> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(PeerFailure);
  return error as PeerFailure;
}

export const kindOf = async (call: Promise<unknown> | undefined): Promise<PeerFailureKind> =>
  (await failureOf(call)).kind;
