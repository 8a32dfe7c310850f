import type { TableServiceClientOptions } from "@azure/data-tables";
import { Fault } from "../fault.ts";

/** What may be put into the SDKs' request pipelines. */
export type Policies = NonNullable<TableServiceClientOptions["additionalPolicies"]>;

/** A few tries within about a second: a caller waits meanwhile, and the time limit of the call bounds them all. */
export const retryOptions = { maxRetries: 3, retryDelayInMs: 200, maxRetryDelayInMs: 2_000 };

/** Seconds that a caller is told to wait when the service named none. */
const defaultRetryAfterSeconds = 5;

/**
 * Runs `work` with a signal that ends it after `timeoutMs` or when `signal` does; rejects then, even where `work` does
 * not heed it (a token that is fetched by foreign code).
 */
export async function withTimeout<T>(
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  signal?.throwIfAborted();
  const limit = new AbortController();
  const both = signal === undefined ? limit.signal : AbortSignal.any([limit.signal, signal]);
  const { promise: over, reject } = Promise.withResolvers<never>();
  both.addEventListener("abort", () => reject(both.reason), { once: true });
  // Not `AbortSignal.timeout`, which stays behind until the time is over, one of each call, and then makes an error for nobody.
  const timer = setTimeout(() => limit.abort(new DOMException("The time is over", "TimeoutError")), timeoutMs);
  try {
    return await Promise.race([work(both), over]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * `within`, with every sign that the service is away, throttling or late turned into a `Fault` `unavailable` (decision
 * G6). Any other error is thrown as it is. A write that ended so may have been done.
 */
export async function callService<T>(
  service: string,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  try {
    return await withTimeout(timeoutMs, work, signal);
  } catch (error) {
    signal?.throwIfAborted();
    throw toFault(service, error);
  }
}

/**
 * For services that speak JSON. Ends a call at once that is asked for a pause which its time limit does not allow, or that
 * something else answered in the service's place: the SDKs would take a page of HTML for an empty result.
 */
export const rejectNonJson = (service: string, timeoutMs: number): Policies[number] => ({
  position: "perRetry",
  policy: {
    name: "soundAnswers",
    async sendRequest(request, next) {
      const response = await next(request);
      const { status, headers } = response;
      const pause = status === 429 || status === 503 ? parseRetryAfter(headers.get("retry-after")) : undefined;
      if (pause !== undefined && pause * 1000 >= timeoutMs) throw unavailableFault(service, pause);
      if (status === 200 && !/\bjson\b/i.test(headers.get("content-type") ?? ""))
        throw unreadableResponse(service, status);
      return response;
    },
  },
});

/** Seconds; Azure's services do not use the form with a date. At most a day: a slip must not stop callers for good. */
const parseRetryAfter = (header: string | undefined): number | undefined =>
  header !== undefined && /^\d+$/.test(header) ? Math.min(Number(header), 86_400) : undefined;

/** The parts of the SDKs' `RestError` that decide. */
export interface ServiceError extends Error {
  readonly code?: string;
  readonly statusCode?: number;
  readonly response?: { readonly headers: { get(name: string): string | undefined } };
}

export const isServiceError = (error: unknown): error is ServiceError =>
  error instanceof Error && error.name === "RestError";

function toFault(service: string, error: unknown): unknown {
  if (error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError"))
    return unavailableFault(service, undefined, new Error(`${service} did not answer in time`));
  if (!isServiceError(error)) return error;
  const { statusCode, response } = error;
  if (statusCode === undefined) return unavailableFault(service, undefined, error);
  // The SDK's own message quotes the whole body, which may be a secret or a recipient's data (decision G10).
  if (statusCode < 300) return unreadableResponse(service, statusCode);
  if (statusCode === 408 || statusCode === 429 || statusCode >= 500)
    return unavailableFault(service, parseRetryAfter(response?.headers.get("retry-after")), error);
  return error;
}

const unavailableFault = (service: string, pause = defaultRetryAfterSeconds, cause?: unknown) =>
  new Fault("unavailable", `${service} is not available at the moment.`, { retryAfter: pause, cause });

export const unreadableResponse = (service: string, status: number): Fault =>
  unavailableFault(service, undefined, new Error(`${service} answered ${status} unreadably`));
