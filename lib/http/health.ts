import type { Log } from "../log.ts";
import { between, type Instant, type Now } from "../time.ts";

/** A part that must answer for the deployment to work; rejects when it does not. */
export type HealthCheck = () => Promise<void>;

/**
 * Whether every part answered within the last `maxAgeMs` (decision G11). Asks the parts at most once in that time while they
 * answer; simultaneous callers share one round of asking.
 */
export function createHealth(
  checks: Readonly<Record<string, HealthCheck>>,
  { now, log, maxAgeMs, timeLimitMs }: { now: Now; log: Log; maxAgeMs: number; timeLimitMs: number },
): () => Promise<boolean> {
  let answeredAt: Instant | undefined;
  let asking: Promise<boolean> | undefined;

  const ask = async (): Promise<boolean> => {
    const asked = now();
    const results = await Promise.all(Object.entries(checks).map(([part, check]) => answers(part, check)));
    if (results.every(Boolean)) answeredAt = asked;
    return results.every(Boolean);
  };
  const answers = async (part: string, check: HealthCheck): Promise<boolean> => {
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
    if (answeredAt !== undefined && between(answeredAt, now()) < maxAgeMs) return true;
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    return asking;
  };
}
