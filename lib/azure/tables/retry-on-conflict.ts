import { Fault } from "../../fault.ts";

/** Another writer was faster: read again, decide again. */
export const lost = Symbol("lost");

const attempts = 100;

/** Repeats `work` until it loses no race. One of the racers always wins, so the limit is met by a fault alone. */
export async function untilWon<T>(work: () => Promise<T | typeof lost>): Promise<T> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const result = await work();
    if (result !== lost) return result as T;
  }
  throw new Fault("unavailable", "Too many changes at once.", { retryAfter: 1 });
}
