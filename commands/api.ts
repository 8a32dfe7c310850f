import createClient, { type Client } from "openapi-fetch";
import * as z from "zod";
import { trimEnd } from "../lib/platform/text.ts";
import { NoResponse } from "./no-response.ts";

/** A response of the API: `data` of a success, `error` of a refusal. */
export interface ApiAnswer<T = unknown> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/**
 * A bearer token, from the environment or a file, never from the arguments, which other users of the machine can read; a
 * function that returns one for each call; or the host's master key for maintenance.
 */
export type Credential = string | (() => Promise<string>) | { readonly functionsKey: string };

interface Options {
  readonly timeoutMs?: number;
  /** What the paths of the OpenAPI document begin with, and the URL ends with: `/core` of the Core API. */
  readonly prefix?: string;
}

/**
 * Returns a client of an API (G13), typed by its OpenAPI document: `connectApi<paths>(url, token)`. Its calls reject with a readable
 * reason if there is no response, or if another service responds. They do not follow redirects, which could send secrets elsewhere.
 * Throws if the URL is not https, except on this machine.
 * @param url URL of the deployment with the API's path, such as `https://core.example.com/core`
 */
export function connectApi<Paths extends {}>(
  url: string,
  credential: Credential,
  { timeoutMs = 60_000, prefix = "" }: Options = {},
): Client<Paths> {
  const base = apiUrl(url);
  const authorization = authorizationOf(credential);
  return createClient<Paths>({
    baseUrl: base,
    fetch: async request => {
      for (const [name, value] of Object.entries(await authorization())) request.headers.set(name, value);
      const signal = AbortSignal.any([request.signal, AbortSignal.timeout(timeoutMs)]);
      const address = base + request.url.slice(base.length + prefix.length);
      const { method, headers, body: stream } = request;
      const body = stream === null ? null : await request.text();
      const response = await fetch(address, { method, headers, body, redirect: "manual", signal }).catch(
        (error: unknown) => {
          throw new NoResponse(base, method, error);
        },
      );
      const type = response.headers.get("content-type") ?? "";
      const wanted = headers.get("accept") === "text/csv" ? "text/csv" : "application/json";
      if (response.ok && response.status !== 204 && !type.startsWith(wanted))
        throw new WrongService(`Another service responds at ${base}: check the address.`);
      return response;
    },
  });
}

function authorizationOf(credential: Credential): () => Promise<Record<string, string>> {
  if (typeof credential === "object") {
    const headers = { "x-functions-key": sound(credential.functionsKey) };
    return async () => headers;
  }
  if (typeof credential === "string") sound(credential);
  return async () => ({
    authorization: `Bearer ${typeof credential === "string" ? credential : sound(await credential())}`,
  });
}

/** Checks a token here, because an error of `fetch` would quote it. */
function sound(token: string): string {
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new Error("The token is malformed: it contains characters that no token has.");
  return token;
}

/** Returns the URL of an API without a slash at its end. Throws if it is not https, except on this machine. */
export function apiUrl(url: string): string {
  if (!URL.canParse(url)) throw new Error("The address is not a URL such as https://core.example.com/core.");
  const { protocol, hostname } = new URL(url);
  const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
  if (protocol === "https:" || (protocol === "http:" && loopback)) return trimEnd(new URL(url).href, "/");
  throw new Error("The address must start with https, because the token is sent to it.");
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
export const refusalOf = (status: number, body: unknown): string =>
  `${refusal.safeParse(body).data ?? "refused"} (${status})`;

/** What helps against a refusal that does not name it. */
function adviceOf({ response: { status, headers } }: ApiAnswer): string {
  if (status === 401) return " The token may be incomplete, expired or revoked.";
  const seconds = Number(headers.get("retry-after"));
  if (!(seconds > 0)) return "";
  return ` Try again in ${seconds < 120 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`}.`;
}

/** Something else than the API responds at its address. */
export class WrongService extends Error {
  override readonly name = "WrongService";
}

/** The API refused a call. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly status: number;
  constructor(answer: ApiAnswer) {
    const { status } = answer.response;
    super(refusalOf(status, answer.error) + adviceOf(answer));
    this.status = status;
  }
}

/** Returns the data of a success. Throws `Refused` otherwise, or `WrongService` if no API has the call. */
export async function dataOf<T>(call: Promise<ApiAnswer<T>>): Promise<T> {
  const answer = await call;
  const { ok, status, url } = answer.response;
  if (status === 404 && !refusal.safeParse(answer.error).success)
    throw new WrongService(`There is no such call at ${new URL(url).origin}: check the address and its path.`);
  if (!ok) throw new Refused(answer);
  return answer.data as T;
}

/** Returns the data of a list with its response, whose `Link` header leads to the next page. Throws `Refused` like `dataOf`. */
export async function pageOf<T>(
  call: Promise<ApiAnswer<T>>,
): Promise<{ readonly data: T; readonly response: Response }> {
  const answer = await call;
  return { data: await dataOf(Promise.resolve(answer)), response: answer.response };
}
