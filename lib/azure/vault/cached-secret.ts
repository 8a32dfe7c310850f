import type { Log } from "../../log.ts";
import { between, type Instant, type Now } from "../../time.ts";

export interface CachedSecret<T> {
  /**
   * The value as of the last good read, which is repeated when it is older than `maxAgeMs`. Rejects before the first, and where the
   * value is older than `maxStaleMs`.
   */
  get(): Promise<T | undefined>;
  /** Reads now, unless the last forced read is younger than `refreshAfterMs`: then as `get`. */
  refresh(): Promise<T | undefined>;
}

export interface CacheOptions {
  /** 5 minutes by decision G3. */
  readonly maxAgeMs: number;
  /** 1 minute by decision G3; also the pause after a read that failed. */
  readonly refreshAfterMs: number;
  /** Age up to which a value stays in use while reads fail. No limit by default. */
  readonly maxStaleMs?: number;
  readonly now: Now;
  readonly log: Log;
}

/**
 * A secret that is not read for every call (decision G3). Concurrent callers share one read. While the vault is away, or
 * what it gives is no good to `read`, the old value goes on, for `maxStaleMs` at most; a vault that says the secret is gone is believed.
 */
export function cachedSecret<T>(
  name: string,
  read: () => Promise<T | undefined>,
  { maxAgeMs, refreshAfterMs, maxStaleMs = Number.POSITIVE_INFINITY, now, log }: CacheOptions,
): CachedSecret<T> {
  let held: { readonly secret: T | undefined; readonly at: Instant } | undefined;
  let failed: { readonly error: unknown; readonly at: Instant } | undefined;
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
      failed = { error, at };
      if (held !== undefined) log.warn("secret.stale", { secret: name, readAt: held.at, error });
      return staleOr(error);
    }
  };
  const staleOr = (error: unknown) => {
    if (held === undefined || !younger(held.at, maxStaleMs)) throw error;
    return held.secret;
  };
  const shared = () => {
    reading ??= readAgain().finally(() => {
      reading = undefined;
    });
    return reading;
  };

  const get = async () => {
    if (held !== undefined && younger(held.at, maxAgeMs)) return held.secret;
    if (held !== undefined && younger(failed?.at, refreshAfterMs)) return staleOr(failed?.error);
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
