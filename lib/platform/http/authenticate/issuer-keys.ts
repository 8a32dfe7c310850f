import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from "jose";
import { singleFlight } from "../../async/single-flight.ts";
import type { Log } from "../../log.ts";
import { days, type Instant, isRecent, minutes, type Now, seconds } from "../../time.ts";

/** Age at which the keys are read again. */
const maxAgeMs = minutes(10);
/** Maximum age of keys that are used while the issuer cannot be read. */
const maxStaleMs = days(1);
/**
 * Minimum time between two reads for unknown keys, which any caller can name, and after a failed read while older keys
 * are used.
 */
const pauseMs = seconds(30);
const timeoutMs = seconds(5);

/**
 * Returns a function that returns the issuer's key of a token, for `jwtVerify` (G3). While the keys cannot be read, the
 * last ones are used for a day, and a read is tried every 30 seconds. The function rejects with the error of the failed
 * read if there are no keys to use, or if they lack the key of the token: it may be new.
 */
export function issuerKeys(
  url: URL,
  { fetch, now, log }: { readonly fetch: typeof globalThis.fetch; readonly now: Now; readonly log: Log },
): JWTVerifyGetKey {
  // Without the limits of `jose`, by which every call in an outage would wait for a read that fails, and none would use
  // older keys.
  const limits = { cacheMaxAge: Number.POSITIVE_INFINITY, cooldownDuration: Number.POSITIVE_INFINITY };
  const keys = createRemoteJWKSet(url, { [customFetch]: fetch, timeoutDuration: timeoutMs, ...limits });
  let readAt: Instant | undefined;
  let failed: { readonly at: Instant; readonly error: unknown } | undefined;

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
    const isUsable = () => isRecent(readAt, maxStaleMs, now());
    const isReadDue = !isRecent(readAt, maxAgeMs, now()) && !isRecent(failed?.at, pauseMs, now());
    if (isReadDue || !isUsable()) await read();
    if (failed !== undefined && !isUsable()) throw failed.error;
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      if (!isRecent(failed?.at ?? readAt, pauseMs, now())) await read();
      // The issuer may have published the key since the last successful read.
      if (failed !== undefined) throw failed.error;
      return keys(header, token);
    }
  };
}
