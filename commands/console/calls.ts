import type { HttpAnswer, HttpCall } from "../http-exchange.ts";
import { NoResponse } from "../no-response.ts";

/** The response to a call of the console. The page shows it with any status. */
export interface Outcome {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed if it is JSON; undefined if it is empty. */
  readonly body: unknown;
}

/** User agent of the calls of the console. */
export const consoleUserAgent = "local-console";

/** Time limit of a call for a page. A create may take 150 s and a job 100 s (decisions C6 and C15). */
export const longestMs = 180_000;

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

/** Makes a call for the page. Rejects if there is no response. @param gone aborts when the page no longer waits */
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

/**
 * Returns the outcome in an envelope, which distinguishes the response of a call from an error of the console itself.
 */
export async function enveloped(name: string, method: string, call: () => Promise<Outcome>): Promise<HttpAnswer> {
  try {
    return { status: 200, body: await call() };
  } catch (error) {
    const { message, advice } = new NoResponse(name, method, error);
    return { status: 502, body: { error: message + advice } };
  }
}

/** Returns those of the page's headers that are meant for the API. */
export const passedOn = ({ headers }: HttpCall): Record<string, string> =>
  Object.fromEntries(
    ["content-type", "x-service-session", "idempotency-key"].flatMap(name => {
      const text = headers[name];
      return typeof text === "string" ? [[name, text]] : [];
    }),
  );

function parsed(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
