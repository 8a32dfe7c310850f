import * as z from "zod";
import { trimEnd } from "../lib/trim-end.ts";

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON; undefined where there is none. */
  readonly body: unknown;
}

export interface ApiCall {
  readonly method: "GET" | "POST";
  /** From the API's path on. */
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: object | undefined;
  /** Aborts the call, which then rejects. */
  readonly signal?: AbortSignal | undefined;
}

/** The API that a command calls (G13). */
export interface Api {
  readonly url: string;
  /** Sends a call. Rejects with a readable reason if there is no response. Does not follow redirects, which could send secrets elsewhere. */
  call(call: ApiCall): Promise<ApiAnswer>;
}

/** A bearer token, or the host's master key for maintenance. */
type Credential = string | { readonly functionsKey: string };

/**
 * @param url address of the deployment with the API's path, as in `https://core.example.com/core`. Throws for one that is no
 * https (loopback excepted)
 * @param credential commands take it from the environment or a file, never from their arguments, which others can see
 */
export function connectApi(
  url: string,
  credential: Credential,
  { timeoutMs = 60_000 }: { readonly timeoutMs?: number } = {},
): Api {
  checkUrl(url);
  const authorization: Readonly<Record<string, string>> =
    typeof credential === "string"
      ? { authorization: `Bearer ${credential}` }
      : { "x-functions-key": credential.functionsKey };
  // Check the token here, because an error of `fetch` would quote it.
  if (!Object.values(authorization).every(value => /^(Bearer )?[\x21-\x7e]+$/.test(value)))
    throw new Error("The token is none: it has characters that no token has.");
  const base = trimEnd(url, "/");
  return {
    url: base,
    async call({ method, path, body, signal }) {
      const headers = {
        ...authorization,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      };
      const signals = [AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])];
      const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
      try {
        const response = await fetch(`${base}${path}`, {
          ...init,
          redirect: "manual",
          signal: AbortSignal.any(signals),
        });
        return { status: response.status, headers: response.headers, body: jsonOf(await response.text()) };
      } catch (error) {
        throw new Error(`${base} does not answer: ${reasonOf(error)}`);
      }
    },
  };
}

function checkUrl(url: string): void {
  if (!URL.canParse(url)) throw new Error("The address is no URL: https://core.example.com/core is one.");
  const { protocol, hostname } = new URL(url);
  const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
  if (protocol === "https:" || (protocol === "http:" && loopback)) return;
  throw new Error("The address must begin with https: a token goes there.");
}

const reasonOf = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  // If several addresses were tried, only the inner errors have a message.
  if (cause instanceof AggregateError && cause.message === "") return cause.errors.map(reasonOf).join("; ");
  return cause instanceof Error ? cause.message : String(cause);
};

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const refusal = z.union([
  z.object({ error: z.string() }).transform(({ error }) => error),
  z.object({ error_message: z.string() }).transform(({ error_message }) => error_message),
]);

/** Returns the reason of a refusal with its status, for people. */
export const refusalOf = ({ status, body }: Pick<ApiAnswer, "status" | "body">): string =>
  `${refusal.safeParse(body).data ?? "refused"} (${status})`;
