import type { Log } from "../log.ts";
import { between, type Instant, type Now } from "../time.ts";

/** Checks one dependency of the deployment. Rejects if it does not work. */
export type HealthCheck = () => Promise<void>;

/**
 * Returns a function that returns whether all checks passed. A success is cached for `maxAgeMs`, a failure is not cached.
 * Concurrent callers share one run of the checks (G11).
 * @param options `timeLimitMs` is the time limit of each check
 */
export function createHealthCheck(
  checks: Readonly<Record<string, HealthCheck>>,
  options: { now: Now; log: Log; maxAgeMs: number; timeLimitMs: number },
): () => Promise<boolean> {
  const { now, log, maxAgeMs, timeLimitMs } = options;
  let passedAt: Instant | undefined;
  let running: Promise<boolean> | undefined;

  const runAll = async (): Promise<boolean> => {
    const startedAt = now();
    const results = await Promise.all(Object.entries(checks).map(([part, check]) => passes(part, check)));
    if (results.every(Boolean)) passedAt = startedAt;
    return results.every(Boolean);
  };
  const passes = async (part: string, check: HealthCheck): Promise<boolean> => {
    const limit = Promise.withResolvers<never>();
    const timer = setTimeout(() => limit.reject(new Error(`${part} did not answer in time`)), timeLimitMs);
    try {
      await Promise.race([check(), limit.promise]);
      return true;
    } catch (error) {
      log.warn("unhealthy", { part, error });
      return false;
    } finally {
      clearTimeout(timer);
    }
  };
  return async () => {
    if (passedAt !== undefined && between(passedAt, now()) < maxAgeMs) return true;
    running ??= runAll().finally(() => {
      running = undefined;
    });
    return running;
  };
}
