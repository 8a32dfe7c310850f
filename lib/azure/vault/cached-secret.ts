import type { Log } from "../../log.ts";
import { between, type Instant, type Now } from "../../time.ts";

export interface CachedSecret<T> {
  /** The value as of the last good read, which is repeated when it is older than `maxAgeMs`. Rejects only before the first. */
  get(): Promise<T | undefined>;
  /** Reads now, unless the last forced read is younger than `refreshAfterMs`: then as `get`. */
  refresh(): Promise<T | undefined>;
}

export interface CacheOptions {
  /** 5 minutes by decision G3. */
  readonly maxAgeMs: number;
  /** 1 minute by decision G3; also the pause after a read that failed. */
  readonly refreshAfterMs: number;
  readonly now: Now;
  readonly log: Log;
}

/**
 * A secret that is not read for every call (decision G3). Concurrent callers share one read. While the vault is away, or
 * what it gives is no good to `read`, the old value goes on; a vault that says the secret is gone is believed.
 */
export function cachedSecret<T>(
  name: string,
  read: () => Promise<T | undefined>,
  { maxAgeMs, refreshAfterMs, now, log }: CacheOptions,
): CachedSecret<T> {
  let held: { readonly secret: T | undefined; readonly at: Instant } | undefined;
  let failedAt: Instant | undefined;
  let forcedAt: Instant | undefined;
  let reading: Promise<T | undefined> | undefined;

  const younger = (at: Instant | undefined, ms: number) => at !== undefined && between(at, now()) < ms;

  const readAgain = async () => {
    const at = now();
    try {
      const secret = await read();
      held = { secret, at };
      return secret;
    } catch (error) {
      if (held === undefined) throw error;
      failedAt = at;
      log.warn("secret.stale", { secret: name, readAt: held.at, error });
      return held.secret;
    }
  };
  const shared = () => {
    reading ??= readAgain().finally(() => {
      reading = undefined;
    });
    return reading;
  };

  const get = async () => {
    if (held !== undefined && (younger(held.at, maxAgeMs) || younger(failedAt, refreshAfterMs))) return held.secret;
    return shared();
  };
  return {
    get,
    async refresh() {
      if (younger(forcedAt, refreshAfterMs)) return get();
      forcedAt = now();
      return shared();
    },
  };
}
