import * as fc from "fast-check";

/** Random decisions of one run. The same seed and the same order of calls give the same decisions. */
export interface Draw {
  /** @param share from 0 to 1 */
  chance(share: number): boolean;
  /** One of a list that is not empty. */
  pick<T>(of: readonly T[]): T;
  /** One of the names, each as often as its number is large. */
  weighted<N extends string>(weights: Readonly<Record<N, number>>): N;
}

export function drawBySeed(seed: number): Draw {
  const [generate] = fc.sample(fc.gen(), { seed, numRuns: 1, unbiased: true });
  if (generate === undefined) throw new Error("fast-check returned no generator");
  const below = (count: number) => generate(fc.nat, { max: count - 1 });
  const pick: Draw["pick"] = of => {
    if (of.length === 0) throw new Error("there is nothing to pick");
    return of[below(of.length)] as (typeof of)[number];
  };
  return {
    chance: share => below(10_000) < share * 10_000,
    pick,
    weighted: weights => {
      const names = Object.keys(weights) as (keyof typeof weights)[];
      return pick(names.flatMap(name => Array.from({ length: weights[name] }, () => name)));
    },
  };
}

/**
 * The seeds of this run of the tests: `RANDOM_RUNS` seeds from `RANDOM_SEED` on, by default one. Calls of several hosts
 * meet in an order that no seed determines, so a seed can pass once and fail another time.
 */
export const seeds: readonly number[] = Array.from(
  { length: Number(process.env.RANDOM_RUNS ?? 1) },
  (_, run) => Number(process.env.RANDOM_SEED ?? 1) + run,
);
