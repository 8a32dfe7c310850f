import * as z from "zod";
import { withTimeoutSignal } from "./async.ts";
import { hasSentNothing, systemError } from "./connection-error.ts";
import { kindOfStatus, PeerFailure, type PeerFailureKind, traceCall } from "./peer-failure.ts";
import { readRetryAfter, requestIdIn } from "./response-headers.ts";
import type { ActiveSpanHandle } from "./telemetry.ts";
import type { Instant, Now } from "./time.ts";

export type Fetch = typeof globalThis.fetch;

/** The platform functions that each client of a peer gets passed. */
export interface PeerTools {
  readonly fetch: Fetch;
  readonly now: Now;
  readonly random: (bytes: number) => Uint8Array;
  /** Rejects when the signal fires. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** The connection to one peer. */
export interface PeerAccess extends PeerTools {
  /** As failures and log lines name it. */
  readonly peer: string;
  /** The time limit of an operation, including token, attempts and body. */
  readonly timeLimitMs: number;
  /** Default 4 MiB, after decompression. */
  readonly maxResponseBytes?: number | undefined;
  /** Returns the peer's own error code and text from the body of a 4xx or 5xx. */
  readonly errorOf?: ((body: unknown) => { code?: unknown; detail?: unknown }) | undefined;
}

export interface PeerRequest<T> {
  /** As failures and log lines name it. */
  readonly operation: string;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly url: string;
  readonly token?: string | undefined;
  /** Added to the usual headers, or replacing them. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** An object is sent as JSON, `URLSearchParams` as a form, text as it is. */
  readonly body?: URLSearchParams | object | string | undefined;
  /** What a 2xx body is read as: by default JSON. */
  readonly reads?: "json" | "text";
  /** The schema of a 2xx body. It gets `undefined` for an empty body, and may throw a `PeerFailure`. */
  readonly response: z.ZodType<T>;
  /** The only 2xx status that counts as success. By default all do. */
  readonly status?: number;
  /**
   * Whether the call may be repeated after temporary failures: it reads, gets a token, or is idempotent by its
   * contract.
   */
  readonly mayRepeat?: boolean;
  readonly signal?: AbortSignal | undefined;
  /**
   * The call does not start after this time, even if the process was suspended meanwhile. It then fails as
   * `unreachable`.
   */
  readonly notAfter?: Instant | undefined;
}

const unreadable = Symbol("not readable");

/** Accepts any 2xx body except non-JSON: that is a proxy's page, and the call never reached the peer. */
export const anyResponse: z.ZodType<unknown> = z.unknown().refine(body => body !== unreadable);

const maxTries = 3;
/** Doubles with each attempt. */
const firstWaitMs = 250;
/** A call is not repeated if the peer asks for a longer wait. */
const maxWaitMs = 3000;

/**
 * Calls a peer within its time limit: once, or up to three times if the call may be repeated. Redirects are not
 * followed, because they would send the token to another host.
 * @returns the parsed body of a 2xx
 * @throws PeerFailure only, that of the last attempt
 */
export function callPeer<T>(access: PeerAccess, request: PeerRequest<T>): Promise<T> {
  return withTimeoutSignal(access.timeLimitMs, request.signal, async signal => {
    for (let tried = 1; ; tried++) {
      try {
        return await traceCall(access.peer, request.operation, span => callOnce(access, { ...request, signal }, span));
      } catch (error) {
        const isLast = request.mayRepeat !== true || tried === maxTries;
        if (isLast || !(error instanceof PeerFailure) || !error.isTransient) throw error;
        const waitMs = Math.max(backOff(tried, access.random), (error.retryAfterSeconds ?? 0) * 1000);
        if (waitMs > maxWaitMs) throw error;
        await access.sleep(waitMs, signal).catch(() => {
          throw error;
        });
      }
    }
  });
}

/** Returns the wait before the next attempt. Half of it is random, so that many hosts do not retry at the same time. */
function backOff(tried: number, random: PeerAccess["random"]): number {
  const maxMs = firstWaitMs * 2 ** (tried - 1);
  return maxMs / 2 + (maxMs / 2) * ((random(1)[0] ?? 0) / 256);
}

async function callOnce<T>(
  access: PeerAccess,
  request: PeerRequest<T> & { readonly signal: AbortSignal },
  span: ActiveSpanHandle,
): Promise<T> {
  const { signal } = request;
  const failed = (kind: PeerFailureKind, details?: ConstructorParameters<typeof PeerFailure>[3]) =>
    new PeerFailure(access.peer, request.operation, kind, details);

  const call = outgoing(request);
  if (call === undefined) throw failed("unreachable", { detail: "The call could not be formed from the settings." });
  span.label({ "http.request.method": request.method, "server.address": call.url.host });
  if (signal.aborted) throw failed("unreachable", { cause: signal.reason });
  if (request.notAfter !== undefined && access.now() > request.notAfter)
    throw failed("unreachable", { detail: "The deadline had passed before the call began." });

  const response = await access
    .fetch(call.url, { ...call.init, redirect: "manual", signal })
    .catch((error: unknown) => {
      throw failed(hasSentNothing(error) ? "unreachable" : "unanswered", { cause: systemError(error) });
    });
  const { status } = response;
  const peerRequestId = requestIdIn(response.headers);
  span.label({ "http.response.status_code": status });
  const text = await textOf(response, access.maxResponseBytes ?? 4 * 1024 * 1024);

  if (!response.ok) {
    const retryAfterSeconds = readRetryAfter(response.headers.get("retry-after"), access.now);
    const detail = redirectDetail(response, call.url);
    const reported = detail === undefined ? access.errorOf?.(jsonOf(text)) : { detail };
    const details = { status, retryAfterSeconds, ...reported, peerRequestId };
    throw failed(kindOfStatus(status, details), details);
  }
  if (request.status !== undefined && status !== request.status)
    throw failed("unanswered", { status, detail: `The response must have status ${request.status}.`, peerRequestId });
  const parsed = request.response.safeParse(request.reads === "text" ? text : jsonOf(text));
  if (parsed.success) return parsed.data;
  const wrong = parsed.error.issues.map(({ path }) => path.join(".") || "body");
  const detail = `The response cannot be read: ${wrong.join(", ")}`;
  throw failed("unanswered", { status, detail, peerRequestId });
}

/** Names both hosts of a redirect and what to change; undefined for another response. A query is left out. */
function redirectDetail({ status, headers }: Response, from: URL): string | undefined {
  if (status < 300 || status > 399) return undefined;
  const location = headers.get("location");
  const to = (location !== null && URL.parse(location, from.href)?.origin) || "another address";
  return `${from.origin} redirects to ${to}, which is not followed: correct the address in the settings.`;
}

/** Builds the request here, because the error of `fetch` quotes a bad header, including the token. */
function outgoing({
  url,
  method,
  token,
  headers: more = {},
  body,
}: PeerRequest<unknown>): { url: URL; init: RequestInit } | undefined {
  const isForm = body instanceof URLSearchParams;
  try {
    const headers = new Headers({ accept: "application/json" });
    if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
    if (body !== undefined)
      headers.set("content-type", isForm ? "application/x-www-form-urlencoded" : "application/json");
    for (const [name, value] of Object.entries(more)) headers.set(name, value);
    const text = isForm || typeof body === "string" ? body.toString() : JSON.stringify(body);
    return { url: new URL(url), init: { method, headers, ...(text !== undefined && { body: text }) } };
  } catch {
    return undefined;
  }
}

/** Returns the body; undefined if it is empty, `unreadable` if it is too long or incomplete. */
async function textOf(response: Response, maxBytes: number): Promise<string | undefined | typeof unreadable> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of response.body ?? []) {
      length += chunk.byteLength;
      if (length > maxBytes) return unreadable;
      chunks.push(chunk);
    }
    return length === 0 ? undefined : new TextDecoder().decode(Buffer.concat(chunks));
  } catch {
    return unreadable;
  }
}

function jsonOf(text: Awaited<ReturnType<typeof textOf>>): unknown {
  if (typeof text !== "string") return text;
  try {
    return JSON.parse(text);
  } catch {
    return unreadable;
  }
}
