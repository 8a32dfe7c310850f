import { createHmac, timingSafeEqual } from "node:crypto";
import * as z from "zod";
import { callPeer, type PeerTools } from "../../../platform/call-peer.ts";
import { PeerFailure } from "../../../platform/peer-failure.ts";
import type { RemoteKind, ValidationResult } from "./contract.ts";
import { modhexCode } from "./encodings.ts";

/** OTPs that validation servers check, because only they have the OTP key's secret (A7). */
export const remote: RemoteKind = {
  checkedBy: "validation-server",
  codeFormats: [modhexCode],
  rules: {},
  prepare: () => ({ parameters: { state: { counter: 0 } } }),
};

interface ValidationOptions extends PeerTools {
  /** URLs of `verify`, tried in order until one gives a response that can be trusted. */
  readonly urls: readonly string[];
  /** Client id at those servers. */
  readonly clientId: string;
  /** The client's key, which signs requests and responses. */
  readonly key: () => Promise<Uint8Array>;
  /** Time limit of one server, including the body of its response. */
  readonly timeLimitMs: number;
  /** Time limit of all servers together. */
  readonly totalTimeLimitMs: number;
}

/**
 * Statuses that are verdicts on the OTP. Others are errors of the server or of the client's account: the next server is
 * tried.
 */
const outcomesByStatus: ReadonlyMap<string, "replayed" | "invalid"> = new Map([
  ["BAD_OTP", "invalid"],
  ["DELAYED_OTP", "invalid"],
  ["REPLAYED_OTP", "replayed"],
]);

const peer = "validation server";
const operation = "verify";

/**
 * Returns a function that checks an OTP at the validation servers, by the validation protocol 2.0. Failures of the
 * servers give `unavailable`, listed in `detail`. It rejects if the client key cannot be read.
 */
export function createOtpValidation(options: ValidationOptions): (otp: string) => Promise<ValidationResult> {
  const { urls, clientId, totalTimeLimitMs } = options;
  const access = { ...options, peer, maxResponseBytes: 8192 };
  return async otp => {
    if (urls.length === 0) return { outcome: "unavailable", detail: "no validation server is configured" };
    // The same nonce for all servers: servers of one pool can then distinguish a repeated request from a replayed OTP.
    const nonce = Buffer.from(options.random(16)).toString("hex");
    const key = await options.key();
    const query = { id: clientId, nonce, otp };
    const response = z.string().transform(text => verdictOf(text, key, { otp, nonce }));
    const signal = AbortSignal.timeout(totalTimeLimitMs);
    const failures: string[] = [];
    for (const server of urls) {
      const { host } = new URL(server);
      const url = addressOf(server, { ...query, h: signatureOf(query, key) });
      const result = signal.aborted
        ? "not called: timed out"
        : await callPeer(access, { operation, method: "GET", url, reads: "text", response, signal }).catch(reasonOf);
      if (typeof result !== "string") return { ...result, detail: `${host}: ${result.detail}` };
      failures.push(`${host}: ${result}`);
    }
    return { outcome: "unavailable", detail: failures.join("; ") };
  };
}

/** Returns why a server gave no verdict. */
function reasonOf(error: unknown): string {
  if (!(error instanceof PeerFailure)) throw error;
  const { kind, status, detail } = error;
  if (status !== undefined) return `answered ${status}`;
  return detail ?? (kind === "unreachable" ? "not reached" : "no response");
}

/**
 * Returns the verdict of a response. Only a signed response that repeats this request's OTP and nonce can be `valid`
 * (A7).
 * Throws PeerFailure if the response is none.
 */
function verdictOf(
  text: string,
  key: Uint8Array,
  sent: { readonly otp: string; readonly nonce: string },
): ValidationResult {
  const message = readSigned(text, key);
  if (message === undefined) throw noVerdict("the response is not signed with the client key");
  const repeated = (["otp", "nonce"] as const).filter(name => message[name] !== undefined);
  if (!repeated.every(name => sameText(message[name] ?? "", sent[name])))
    throw noVerdict("the response is to another request");
  const { status = "" } = message;
  const outcome = status === "OK" && repeated.length === 2 ? "valid" : outcomesByStatus.get(status);
  const detail = /^[A-Z_]{1,40}$/.test(status) ? status : "no status word";
  if (outcome === undefined) throw noVerdict(detail);
  return { outcome, detail };
}

const noVerdict = (detail: string): PeerFailure => new PeerFailure(peer, operation, "unanswered", { detail });

function addressOf(server: string, parameters: Readonly<Record<string, string>>): string {
  const address = new URL(server);
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
  return address.href;
}

/** The parameters of a request or response of the validation protocol 2.0, without its signature `h`. */
type ValidationMessage = Readonly<Record<string, string>>;

/** Returns the HMAC-SHA-1 in base64 of the unescaped parameters, sorted by name. */
export const signatureOf = (message: ValidationMessage, key: Uint8Array): string =>
  createHmac("sha1", key).update(textOf(message), "utf8").digest("base64");

const textOf = (message: ValidationMessage): string =>
  Object.keys(message)
    .sort()
    .map(name => `${name}=${message[name]}`)
    .join("&");

/**
 * Parses a response and checks its signature. Returns undefined for a wrong signature or a malformed text: an unsigned
 * response is no verdict, not even a negative one.
 */
export function readSigned(text: string, key: Uint8Array): ValidationMessage | undefined {
  const pairs = text
    .split("\n")
    .map(line => line.trim())
    .filter(line => line !== "")
    .map(line => /^([a-z]+)=(.*)$/.exec(line)?.slice(1) ?? []);
  const message = Object.fromEntries(pairs.map(([name = "", value = ""]) => [name, value]));
  if (Object.keys(message).length !== pairs.length) return undefined;
  const { h, ...rest } = message;
  return h !== undefined && sameText(h, signatureOf(rest, key)) ? rest : undefined;
}

/** Compares two texts in constant time. */
function sameText(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
