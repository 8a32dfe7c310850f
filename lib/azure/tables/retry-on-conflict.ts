import { Fault } from "../../fault.ts";

/** Another writer was faster: read again, decide again. */
export const conflict = Symbol("lost");

const maxAttempts = 100;

/** Repeats `work` until it loses no race. One of the racers always wins, so the limit is met by a fault alone. */
export async function retryOnConflict<T>(work: () => Promise<T | typeof conflict>): Promise<T> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const result = await work();
    if (result !== conflict) return result as T;
  }
  throw new Fault("unavailable", "Too many changes at once.", { retryAfter: 1 });
}
