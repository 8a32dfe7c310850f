import * as z from "zod";
import { withTimeoutSignal } from "../async/with-timeout-signal.ts";
import type { ActiveSpanHandle } from "../telemetry.ts";
import type { Instant, Now } from "../time.ts";
import { kindOfStatus, neverConnected, requestIdIn, retryAfterSeconds } from "./http-failure.ts";
import { PeerFailure, type PeerFailureDetails, type PeerFailureKind } from "./peer-failure.ts";
import { traceCall } from "./trace-call.ts";

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
  readonly longestAnswer?: number | undefined;
  /** Returns the peer's own error code and text from the body of a 4xx or 5xx. */
  readonly refusalOf?: ((body: unknown) => { code?: unknown; detail?: unknown }) | undefined;
}

export interface PeerRequest<T> {
  /** As failures and log lines name it. */
  readonly operation: string;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly url: string;
  readonly token?: string | undefined;
  /** Added to the usual headers, or replacing them. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sent as JSON, or as a form if it is `URLSearchParams`. */
  readonly body?: URLSearchParams | object | undefined;
  /** The schema of a 2xx body. It gets `undefined` for an empty body. */
  readonly answer: z.ZodType<T>;
  readonly signal?: AbortSignal | undefined;
  /** The call does not start after this time, even if the process was suspended meanwhile. It then fails as `unreachable`. */
  readonly notAfter?: Instant | undefined;
}

const unreadable = Symbol("no JSON");

/** Accepts any 2xx body except non-JSON: that is a proxy's page, and the call never reached the peer. */
export const anyResponse: z.ZodType<unknown> = z.unknown().refine(body => body !== unreadable);

/**
 * Calls a peer once. Redirects are not followed, because they would send the token to another host.
 * @returns the parsed body of a 2xx
 * @throws PeerFailure only
 */
export function callPeer<T>(access: PeerAccess, request: PeerRequest<T>): Promise<T> {
  return traceCall(access.peer, request.operation, span => callOnce(access, request, span));
}

function callOnce<T>(access: PeerAccess, request: PeerRequest<T>, span: ActiveSpanHandle): Promise<T> {
  const failed = (kind: PeerFailureKind, details?: PeerFailureDetails) =>
    new PeerFailure(access.peer, request.operation, kind, details);

  return withTimeoutSignal(access.timeLimitMs, request.signal, async signal => {
    const call = outgoing(request);
    if (call === undefined) throw failed("unreachable", { detail: "The call could not be formed from the settings." });
    span.label({ "http.request.method": request.method, "server.address": call.url.host });
    if (signal.aborted) throw failed("unreachable", { cause: signal.reason });
    if (request.notAfter !== undefined && access.now() > request.notAfter)
      throw failed("unreachable", { detail: "The deadline had passed before the call began." });

    const response = await access
      .fetch(call.url, { ...call.init, redirect: "manual", signal })
      .catch((error: unknown) => {
        throw failed(neverConnected(error) ? "unreachable" : "unanswered", { cause: harmless(error) });
      });
    const { status } = response;
    const peerRequestId = requestIdIn(response.headers);
    span.label({ "http.response.status_code": status });
    const body = await bodyOf(response, access.longestAnswer ?? 4 * 1024 * 1024);

    if (!response.ok) {
      const retryAfter = retryAfterSeconds(response.headers.get("retry-after"), access.now);
      const refusal = access.refusalOf?.(body);
      throw failed(kindOfStatus(status, retryAfter), { status, retryAfter, ...refusal, peerRequestId });
    }
    const answer = request.answer.safeParse(body);
    if (answer.success) return answer.data;
    const wrong = answer.error.issues.map(({ path }) => path.join(".") || "body");
    const detail = `The response cannot be read: ${wrong.join(", ")}`;
    throw failed("unanswered", { status, detail, peerRequestId });
  });
}

/** Builds the request here, because the error of `fetch` quotes a bad header, including the token. */
function outgoing({
  url,
  method,
  token,
  headers: more = {},
  body,
}: PeerRequest<unknown>): { url: URL; init: RequestInit } | undefined {
  const form = body instanceof URLSearchParams;
  try {
    const headers = new Headers({ accept: "application/json" });
    if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
    if (body !== undefined)
      headers.set("content-type", form ? "application/x-www-form-urlencoded" : "application/json");
    for (const [name, value] of Object.entries(more)) headers.set(name, value);
    if (body === undefined) return { url: new URL(url), init: { method, headers } };
    return { url: new URL(url), init: { method, headers, body: form ? body.toString() : JSON.stringify(body) } };
  } catch {
    return undefined;
  }
}

/** Returns the system's error or the reason of the signal. The own errors of `fetch` may quote the call. */
function harmless(error: unknown): Error | undefined {
  if (error instanceof DOMException) return error;
  return error instanceof Error && error.cause instanceof Error ? error.cause : undefined;
}

/** Returns the body as JSON; undefined if it is empty, `unreadable` if it is not JSON, too long or incomplete. */
async function bodyOf(response: Response, longest: number): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of response.body ?? []) {
      length += chunk.byteLength;
      if (length > longest) return unreadable;
      chunks.push(chunk);
    }
    return length === 0 ? undefined : JSON.parse(new TextDecoder().decode(Buffer.concat(chunks)));
  } catch {
    return unreadable;
  }
}
