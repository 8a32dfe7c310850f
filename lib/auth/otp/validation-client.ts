import { type Outcome, timed } from "../../telemetry.ts";
import type { Answer, ValidationClient } from "./contract.ts";
import { readSigned, sameText, signatureOf, type ValidationMessage } from "./validation-message.ts";

export interface ValidationOptions {
  /** Addresses of `verify`, asked in turn until one gives an answer that can be believed. */
  readonly urls: readonly string[];
  /** Our id at those servers. */
  readonly clientId: string;
  /** The secret that goes with it: requests are signed with it, and answers have to be. */
  readonly key: () => Promise<Uint8Array>;
  readonly fetch: typeof fetch;
  readonly random: (bytes: number) => Uint8Array;
  /** For one server, its answer's body included. */
  readonly timeLimitMs: number;
  /** For all of them. */
  readonly totalMs: number;
}

/** Status words that judge the OTP. Any other tells of the server, or of this client's place at it, so the next is asked. */
const verdicts: ReadonlyMap<string, "replayed" | "invalid"> = new Map([
  ["BAD_OTP", "invalid"],
  ["DELAYED_OTP", "invalid"],
  ["REPLAYED_OTP", "replayed"],
]);

const longestAnswer = 8192;

export function createValidationClient(options: ValidationOptions): ValidationClient {
  const { urls, random, totalMs } = options;
  return {
    async validate(otp) {
      // One nonce for all: servers of one pool then know a repeated request from a repeated OTP.
      const nonce = Buffer.from(random(16)).toString("hex");
      const key = await options.key();
      const deadline = AbortSignal.timeout(totalMs);
      const troubles: string[] = [];
      for (const url of urls) {
        const { host } = new URL(url);
        const { outcome, detail } = deadline.aborted
          ? { outcome: "unavailable" as const, detail: "not asked, time is up" }
          : await ask(options, { url, otp, nonce, key, deadline });
        if (outcome !== "unavailable") return { outcome, detail: `${host}: ${detail}` };
        troubles.push(`${host}: ${detail}`);
      }
      return { outcome: "unavailable", detail: troubles.join("; ") };
    },
  };
}

interface Question {
  readonly url: string;
  readonly otp: string;
  readonly nonce: string;
  readonly key: Uint8Array;
  readonly deadline: AbortSignal;
}

/** Asks one server; told as a call of a peer, by the server's name alone. */
function ask(options: ValidationOptions, question: Question): Promise<Answer> {
  const labels = { peer: "validation server", operation: "verify" };
  const outcomeOf = (ended: Outcome<Answer>) =>
    "result" in ended && ended.result.outcome !== "unavailable" ? "ok" : "unanswered";
  return timed("peer.call.duration", "validation server: verify", { kind: "client", labels, outcomeOf }, span => {
    span.label({ "http.request.method": "GET", "server.address": new URL(question.url).host });
    return askOnce(options, question);
  });
}

/** Errors of `fetch` are not passed on: they may quote the address, and the OTP stands in it. */
async function askOnce(options: ValidationOptions, { url, otp, nonce, key, deadline }: Question): Promise<Answer> {
  const signal = AbortSignal.any([AbortSignal.timeout(options.timeLimitMs), deadline]);
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
    return judge(readSigned(await textOf(response), key), { otp, nonce });
  } catch {
    return { outcome: "unavailable", detail: signal.aborted ? "no answer in time" : "not reached" };
  }
}

/** Only a signed answer to this very request can say "yes"; one that names another request says nothing (decision A7). */
function judge(answer: ValidationMessage | undefined, asked: { readonly otp: string; readonly nonce: string }): Answer {
  if (answer === undefined) return { outcome: "unavailable", detail: "the answer is not signed by our key" };
  const named = (["otp", "nonce"] as const).filter(name => answer[name] !== undefined);
  if (!named.every(name => sameText(answer[name] ?? "", asked[name]))) {
    return { outcome: "unavailable", detail: "the answer is to another request" };
  }
  const { status = "" } = answer;
  const verdict = status === "OK" && named.length === 2 ? "valid" : verdicts.get(status);
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
    if (length > longestAnswer) throw new Error("the answer is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
