import * as z from "zod";
import { type Immutable, storedInstant } from "../../platform/stored.ts";
import { type Instant, plus } from "../../platform/time.ts";

/** The attempts of one piece of work: how many failed, and when the next one is due. */
export const retrySchema = z.object({
  /** Failed attempts, for the back-off. */
  attempts: z.int(),
  nextAt: storedInstant,
  /** The time before which the peer must not be called, from its Retry-After. An on-demand job waits for it too. */
  notBefore: storedInstant.exactOptional(),
  /** Why the last attempt failed. */
  lastError: z.string().exactOptional(),
});
export type Retry = Immutable<z.output<typeof retrySchema>>;

/** The wait after a failed attempt in milliseconds. It doubles with each attempt from `minMs` up to `maxMs`. */
export interface BackOff {
  readonly minMs: number;
  readonly maxMs: number;
}

/** Returns the attempts of work that has not been tried yet. */
export const firstAttempt = (nextAt: Instant): Retry => ({ attempts: 0, nextAt });

/**
 * Returns the attempts after a failed one: the next is due after the back-off, and not before the peer's Retry-After.
 * @param retryAfterSeconds seconds that the peer asked to wait
 * @param latest the time at which the next attempt is due even if the back-off or the peer asks for a longer wait
 */
export function postpone(
  { attempts }: Pick<Retry, "attempts">,
  now: Instant,
  { minMs, maxMs }: BackOff,
  {
    retryAfterSeconds,
    lastError,
    latest,
  }: {
    readonly retryAfterSeconds?: number | undefined;
    readonly lastError?: string | undefined;
    readonly latest?: Instant | undefined;
  } = {},
): Retry {
  const limited = (at: Instant): Instant => (latest !== undefined && latest < at ? latest : at);
  const backOffMs = Math.min(maxMs, minMs * 2 ** Math.min(attempts, 30));
  const askedMs = (retryAfterSeconds ?? 0) * 1000;
  return {
    attempts: attempts + 1,
    nextAt: limited(plus(now, Math.max(backOffMs, askedMs))),
    ...(retryAfterSeconds !== undefined && { notBefore: limited(plus(now, askedMs)) }),
    ...(lastError !== undefined && { lastError }),
  };
}

/** Returns the attempts of work that waits until a time that its peer has set. No attempt is counted. */
export const waitUntil = (
  at: Instant,
  retry: Pick<Retry, "attempts" | "lastError"> | undefined,
  lastError = retry?.lastError,
): Retry => ({
  attempts: retry?.attempts ?? 0,
  nextAt: at,
  notBefore: at,
  ...(lastError !== undefined && { lastError }),
});
