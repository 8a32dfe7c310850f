import type { PeerAnswer } from "../peers/http-exchange.ts";
import { consoleUserAgent } from "../start/log.ts";

/** What a call of the console came to. The page shows it as it is, whatever its status. */
export interface Outcome {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed where it is JSON; undefined where it is empty. */
  readonly body: unknown;
}

/** A job may take 100 s (decision C15). */
const longestMs = 150_000;

/** Response headers that the page shows. Cookies are left out: the page sends a session in its header. */
const forwardedHeaders = [
  "location",
  "link",
  "retry-after",
  "www-authenticate",
  "x-ignored-fields",
  "x-request-id",
  "content-type",
];

export interface OutgoingCall {
  readonly method: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
}

/** Calls on behalf of the page. Rejects where nobody answers. @param gone when the page no longer waits */
export async function outcomeOf(
  address: string,
  { method, headers = {}, body }: OutgoingCall,
  gone: AbortSignal,
): Promise<Outcome> {
  const response = await fetch(address, {
    method,
    headers: { "user-agent": consoleUserAgent, ...headers },
    redirect: "manual",
    signal: AbortSignal.any([gone, AbortSignal.timeout(longestMs)]),
    ...(body === undefined || body.length === 0 ? {} : { body }),
  });
  return {
    status: response.status,
    headers: Object.fromEntries(
      forwardedHeaders.flatMap(name => [[name, response.headers.get(name)]]).filter(([, text]) => text),
    ),
    body: parsed(await response.text()),
  };
}

/** The outcome in an envelope, so that the page tells what was answered from what the console itself has to say. */
export async function enveloped(name: string, call: () => Promise<Outcome>): Promise<PeerAnswer> {
  try {
    return { status: 200, body: await call() };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
    return { status: 502, body: { error: `${name} does not answer: ${reason}` } };
  }
}

function parsed(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
