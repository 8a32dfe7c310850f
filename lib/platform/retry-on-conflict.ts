import { Fault } from "./fault.ts";

/** Result of work that must be repeated, because another writer changed the row. */
export const conflict = Symbol("conflict");

const maxAttempts = 100;

/**
 * Repeats `work` until it has no conflict. In each conflict one writer succeeds, so only a defect reaches the limit.
 * Throws Fault `unavailable`.
 */
export async function retryOnConflict<T>(work: () => Promise<T | typeof conflict>): Promise<T> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const result = await work();
    if (result !== conflict) return result as T;
  }
  throw new Fault("unavailable", "Too many concurrent changes. Repeat the call.", { retryAfter: 1 });
}
