import * as z from "zod";
import { trimEnd } from "../lib/platform/trim-end.ts";

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON; undefined if the body is not JSON. */
  readonly body: unknown;
}

export interface ApiCall {
  readonly method: "GET" | "POST";
  /** Relative to the URL of the API. */
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
 * Returns the API. Throws if the URL is not https, except on this machine.
 * @param url URL of the deployment with the API's path, such as `https://core.example.com/core`
 * @param credential from the environment or a file, never from the arguments, which other users of the machine can read
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
    throw new Error("The token is malformed: it contains characters that no token has.");
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
        throw new Error(`${base} does not respond: ${reasonOf(error)}`);
      }
    },
  };
}

function checkUrl(url: string): void {
  if (!URL.canParse(url)) throw new Error("The address is not a URL such as https://core.example.com/core.");
  const { protocol, hostname } = new URL(url);
  const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
  if (protocol === "https:" || (protocol === "http:" && loopback)) return;
  throw new Error("The address must start with https, because the token is sent to it.");
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
  z
    .object({
      error_message: z.string(),
      error_data: z
        .object({ fields: z.array(z.object({ path: z.string(), reason: z.string() })) })
        .optional()
        .catch(undefined),
    })
    .transform(({ error_message, error_data }) =>
      [error_message, ...(error_data?.fields ?? []).map(({ path, reason }) => `${path} ${reason}.`)].join(" "),
    ),
]);

/** Returns the reason of a refusal with its status, for people. */
export const refusalOf = ({ status, body }: Pick<ApiAnswer, "status" | "body">): string =>
  `${refusal.safeParse(body).data ?? "refused"} (${status})`;

/** Returns the body of a success. Throws a readable error if it has another form, as the page of a website has. */
export function bodyOf<T>(schema: z.ZodType<T>, { body }: Pick<ApiAnswer, "body">, { url }: Pick<Api, "url">): T {
  const parsed = schema.safeParse(body);
  if (!parsed.success) throw new Error(`Another service responds at ${url}: check the address.`);
  return parsed.data;
}
