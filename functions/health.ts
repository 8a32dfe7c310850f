import { singleFlight, withTimeout } from "../lib/platform/async.ts";
import type { Log } from "../lib/platform/log.ts";
import { type Instant, isRecent, type Now } from "../lib/platform/time.ts";

/**
 * Returns a function that returns whether all checks passed, each within `timeLimitMs`. A success is cached for
 * `maxAgeMs`, a failure is not cached. Concurrent callers share one run of the checks (G11).
 * @param checks by the dependency that each checks. A check rejects if the dependency does not work
 */
export function createHealthCheck(
  checks: Readonly<Record<string, () => Promise<void>>>,
  { now, log, maxAgeMs, timeLimitMs }: { now: Now; log: Log; maxAgeMs: number; timeLimitMs: number },
): () => Promise<boolean> {
  let passedAt: Instant | undefined;
  const passes = async ([part, check]: readonly [string, () => Promise<void>]): Promise<boolean> => {
    try {
      await withTimeout(timeLimitMs, check);
      return true;
    } catch (error) {
      log.warn("unhealthy", { part, error });
      return false;
    }
  };
  const runAll = singleFlight(async () => {
    const startedAt = now();
    const results = await Promise.all(Object.entries(checks).map(passes));
    const isHealthy = results.every(passed => passed);
    if (isHealthy) passedAt = startedAt;
    return isHealthy;
  });
  return async () => isRecent(passedAt, maxAgeMs, now()) || runAll();
}
