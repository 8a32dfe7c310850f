import { singleFlight, withTimeout } from "../lib/platform/async.ts";
import type { Log } from "../lib/platform/log.ts";
import { type Instant, isRecent, type Now } from "../lib/platform/time.ts";

/** Checks one dependency of the deployment. Rejects if it does not work. */
type HealthCheck = () => Promise<void>;

/**
 * Returns a function that returns whether all checks passed. A success is cached for `maxAgeMs`, a failure is not
 * cached. Concurrent callers share one run of the checks (G11).
 * @param options `timeLimitMs` is the time limit of each check
 */
export function createHealthCheck(
  checks: Readonly<Record<string, HealthCheck>>,
  options: { now: Now; log: Log; maxAgeMs: number; timeLimitMs: number },
): () => Promise<boolean> {
  const { now, log, maxAgeMs, timeLimitMs } = options;
  let passedAt: Instant | undefined;

  const runAll = singleFlight(async () => {
    const startedAt = now();
    const results = await Promise.all(Object.entries(checks).map(([part, check]) => passes(part, check)));
    if (results.every(Boolean)) passedAt = startedAt;
    return results.every(Boolean);
  });
  const passes = async (part: string, check: HealthCheck): Promise<boolean> => {
    try {
      await withTimeout(timeLimitMs, check);
      return true;
    } catch (error) {
      log.warn("unhealthy", { part, error });
      return false;
    }
  };
  return async () => {
    return isRecent(passedAt, maxAgeMs, now()) || runAll();
  };
}
