import { Agent, createServer, type IncomingMessage, request as send } from "node:http";
import { buffer } from "node:stream/consumers";
import { listen, shut } from "../../../commands/http-exchange.ts";

/**
 * What happens to one call of storage, which its caller sends again after a cut connection:
 * - `lost`: it does not arrive
 * - `unanswered`: it is done, and its response is lost
 * - `repeated`: it arrives twice, and the second response is given
 * - `late`: it arrives when the operation of the caller, who has sent it again, has ended
 */
const storageFaults = ["lost", "unanswered", "repeated", "late"] as const;
type StorageFault = (typeof storageFaults)[number];

/** Returns every fault of every call, by its number. A read has no effect, so it can only be lost. */
export const playsOf = (calls: readonly string[]): readonly (readonly [number: number, fault: StorageFault])[] =>
  calls.flatMap((method, number) =>
    storageFaults.filter(fault => method !== "GET" || fault === "lost").map(fault => [number, fault] as const),
  );

/** A proxy before storage that does something to one call. */
export interface FaultProxy {
  /** The connection string with the target's address replaced by the proxy's. */
  through(connectionString: string): string;
  /** Counts the calls from 0 again. The call with this number gets the fault. */
  arm(fault?: StorageFault, number?: number): void;
  /** The methods of the calls since then. */
  calls(): readonly string[];
  /** Lets the late call arrive. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Starts one before `target` (`http://127.0.0.1:<port>`). It hands on path, headers and body as they are, so signatures stay valid. */
export async function startFaultProxy(target: string): Promise<FaultProxy> {
  const { hostname, port } = new URL(target);
  const agent = new Agent({ keepAlive: true });
  let armed: { readonly fault?: StorageFault | undefined; readonly number?: number | undefined } = {};
  let calls: string[] = [];
  let late: (() => Promise<unknown>) | undefined;

  const forward = async (request: IncomingMessage, body: Buffer) => {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const { method = "GET", url: path = "/", rawHeaders: headers } = request;
      send({ hostname, port, agent, method, path, headers }).once("response", resolve).once("error", reject).end(body);
    });
    return { answer, content: await buffer(answer) };
  };

  const server = createServer(async (request, response) => {
    const number = calls.push(request.method ?? "GET") - 1;
    const fault = number === armed.number ? armed.fault : undefined;
    try {
      const body = await buffer(request);
      if (fault === "late") late = () => forward(request, body);
      if (fault === "unanswered" || fault === "repeated") await forward(request, body);
      if (fault !== undefined && fault !== "repeated") return request.socket.destroy();
      const { answer, content } = await forward(request, body);
      const headers = answer.rawHeaders.filter(
        (_, i, all) => !/^(connection|keep-alive|transfer-encoding)$/i.test(all[i - (i % 2)] ?? ""),
      );
      response.writeHead(answer.statusCode ?? 502, answer.statusMessage, headers).end(content);
    } catch {
      request.socket.destroy();
    }
    return undefined;
  });
  const url = `http://127.0.0.1:${await listen(server, "the fault proxy", 0)}`;
  return {
    through: connectionString => connectionString.replaceAll(target, url),
    arm: (fault, number) => {
      armed = { fault, number };
      calls = [];
    },
    calls: () => calls,
    settled: async () => {
      await late?.();
      late = undefined;
    },
    close: async () => {
      await shut(server);
      agent.destroy();
    },
  };
}
