import { between, type Now } from "../../platform/time.ts";

/** A moving estimate of how fast this host hashes passwords. */
export interface HashTime {
  /** Milliseconds from one finished hash to the next, with as many hashes in progress as in the last measurements. */
  perHashMs(): number;
  /** Runs a hash and includes its time in the estimate, unless it fails. */
  measure<T>(hash: () => Promise<T>): Promise<T>;
}

/** Estimate before the first hash: a slow core. */
const firstPerHashMs = 20;
/** The clock does not measure less. */
const minPerHashMs = 1;
/** Weight of one hash in the estimate: after a change of load, 16 hashes decide most of it. */
const weight = 1 / 16;
/** A single hash that waited for something else, such as the loading of the package, counts at most as four usual ones. */
const maxGrowth = 4;

export function createHashTime(now: Now): HashTime {
  let perHashMs = firstPerHashMs;
  let running = 0;
  return {
    perHashMs: () => perHashMs,
    async measure(hash) {
      running += 1;
      const runningAtStart = running;
      const startedAt = now();
      try {
        const result = await hash();
        // Hashes in parallel share the cores: four that take 40 ms each are one every 10 ms.
        const sampleMs = between(startedAt, now()) / ((runningAtStart + running) / 2);
        const boundedMs = Math.max(minPerHashMs, Math.min(sampleMs, perHashMs * maxGrowth));
        perHashMs += (boundedMs - perHashMs) * weight;
        return result;
      } finally {
        running -= 1;
      }
    },
  };
}
