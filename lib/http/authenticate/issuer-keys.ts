import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from "jose";
import { singleFlight } from "../../async/single-flight.ts";
import type { Log } from "../../log.ts";
import { between, days, type Instant, minutes, type Now, seconds } from "../../time.ts";

/** Age at which the keys are read again. */
const maxAgeMs = minutes(10);
/** Maximum age of keys that are used while the issuer cannot be read. */
const maxStaleMs = days(1);
/** Minimum time between two reads for unknown keys, which strangers can name, and after a failed read. */
const pauseMs = seconds(30);
const timeoutMs = seconds(5);

/**
 * Returns the issuer's keys for `jwtVerify` (G3). While they cannot be read, the last ones are used for a day, and a read is tried every
 * 30 seconds. Rejects with the error of the last read if there are no such keys, or if it may have been the read of a new key.
 */
export function issuerKeys(
  url: URL,
  { fetch, now, log }: { readonly fetch: typeof globalThis.fetch; readonly now: Now; readonly log: Log },
): JWTVerifyGetKey {
  // Without the limits of `jose`, by which every call in an outage would wait for a read that fails, and none would use older keys.
  const limits = { cacheMaxAge: Number.POSITIVE_INFINITY, cooldownDuration: Number.POSITIVE_INFINITY };
  const keys = createRemoteJWKSet(url, { [customFetch]: fetch, timeoutDuration: timeoutMs, ...limits });
  let readAt: Instant | undefined;
  let failed: { readonly at: Instant; readonly error: unknown } | undefined;

  const isRecent = (at: Instant | undefined, ms: number): boolean => {
    const ageMs = at === undefined ? Number.POSITIVE_INFINITY : between(at, now());
    // A time in the future is not recent: the clock was set back.
    return ageMs >= 0 && ageMs < ms;
  };
  const read = singleFlight(async () => {
    const at = now();
    try {
      await keys.reload();
      [readAt, failed] = [at, undefined];
    } catch (error) {
      failed = { at, error };
      if (readAt !== undefined) log.warn("issuer_keys_stale", { readAt, error });
    }
  });

  return async (header, token) => {
    const isUsable = () => isRecent(readAt, maxStaleMs);
    const isChecked = isRecent(readAt, maxAgeMs) || isRecent(failed?.at, pauseMs);
    if (!(isUsable() && isChecked)) await read();
    if (failed !== undefined && !isUsable()) throw failed.error;
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      if (!isRecent(failed?.at ?? readAt, pauseMs)) await read();
      // The issuer may have published the key since the last read.
      if (failed !== undefined) throw failed.error;
      return keys(header, token);
    }
  };
}
