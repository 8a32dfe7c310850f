import type { Result } from "../../../../platform/async/to-result.ts";
import { timed } from "../../../../platform/telemetry.ts";
import type { ValidationClient, ValidationResult } from "../contract.ts";
import { readSigned, sameText, signatureOf, type ValidationMessage } from "./validation-message.ts";

export interface ValidationOptions {
  /** URLs of `verify`, tried in order until one gives a response that can be trusted. */
  readonly urls: readonly string[];
  /** Client id at those servers. */
  readonly clientId: string;
  /** The client's key, which signs requests and responses. */
  readonly key: () => Promise<Uint8Array>;
  readonly fetch: typeof fetch;
  readonly random: (bytes: number) => Uint8Array;
  /** Time limit of one server, including the body of its response. */
  readonly timeoutMs: number;
  /** Time limit of all servers together. */
  readonly totalTimeoutMs: number;
}

/** Statuses that are verdicts on the OTP. Others are errors of the server or of the client's account: the next server is tried. */
const outcomesByStatus: ReadonlyMap<string, "replayed" | "invalid"> = new Map([
  ["BAD_OTP", "invalid"],
  ["DELAYED_OTP", "invalid"],
  ["REPLAYED_OTP", "replayed"],
]);

const maxAnswerBytes = 8192;

export function createValidationClient(options: ValidationOptions): ValidationClient {
  const { urls, random, totalTimeoutMs: totalMs } = options;
  return {
    async validate(otp) {
      // The same nonce for all servers: servers of one pool can then distinguish a repeated request from a replayed OTP.
      const nonce = Buffer.from(random(16)).toString("hex");
      const key = await options.key();
      const deadline = AbortSignal.timeout(totalMs);
      const failures: string[] = [];
      for (const url of urls) {
        const { host } = new URL(url);
        const { outcome, detail } = deadline.aborted
          ? { outcome: "unavailable" as const, detail: "not called, time is up" }
          : await tracedQuery(options, { url, otp, nonce, key, deadline });
        if (outcome !== "unavailable") return { outcome, detail: `${host}: ${detail}` };
        failures.push(`${host}: ${detail}`);
      }
      return { outcome: "unavailable", detail: failures.join("; ") };
    },
  };
}

interface Query {
  readonly url: string;
  readonly otp: string;
  readonly nonce: string;
  readonly key: Uint8Array;
  readonly deadline: AbortSignal;
}

/** Calls one server, traced as a call of a peer. The labels contain the host only, because the URL contains the OTP. */
function tracedQuery(options: ValidationOptions, query: Query): Promise<ValidationResult> {
  const labels = { peer: "validation server", operation: "verify" };
  const outcomeOf = (ended: Result<ValidationResult>) =>
    "value" in ended && ended.value.outcome !== "unavailable" ? "ok" : "unanswered";
  return timed("peer.call.duration", "validation server: verify", { kind: "client", labels, outcomeOf }, span => {
    span.label({ "http.request.method": "GET", "server.address": new URL(query.url).host });
    return queryServer(options, query);
  });
}

/** Calls one server. Does not pass on errors of `fetch`, because they may quote the URL, which contains the OTP. */
async function queryServer(
  options: ValidationOptions,
  { url, otp, nonce, key, deadline }: Query,
): Promise<ValidationResult> {
  const signal = AbortSignal.any([AbortSignal.timeout(options.timeoutMs), deadline]);
  try {
    const request = { id: options.clientId, nonce, otp };
    const response = await options.fetch(addressOf(url, { ...request, h: signatureOf(request, key) }), {
      redirect: "manual",
      signal,
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      return { outcome: "unavailable", detail: `answered ${response.status}` };
    }
    return toResult(readSigned(await textOf(response), key), { otp, nonce });
  } catch {
    return { outcome: "unavailable", detail: signal.aborted ? "no response in time" : "not reached" };
  }
}

/** Returns the verdict of a response. Only a signed response that repeats this request's OTP and nonce can be `valid` (A7). */
function toResult(
  message: ValidationMessage | undefined,
  sent: { readonly otp: string; readonly nonce: string },
): ValidationResult {
  if (message === undefined)
    return { outcome: "unavailable", detail: "the response is not signed with the client key" };
  const repeated = (["otp", "nonce"] as const).filter(name => message[name] !== undefined);
  if (!repeated.every(name => sameText(message[name] ?? "", sent[name]))) {
    return { outcome: "unavailable", detail: "the response is to another request" };
  }
  const { status = "" } = message;
  const verdict = status === "OK" && repeated.length === 2 ? "valid" : outcomesByStatus.get(status);
  return { outcome: verdict ?? "unavailable", detail: /^[A-Z_]{1,40}$/.test(status) ? status : "no status word" };
}

function addressOf(url: string, parameters: Readonly<Record<string, string>>): URL {
  const address = new URL(url);
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
  return address;
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.byteLength;
    if (length > maxAnswerBytes) throw new Error("The response is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
