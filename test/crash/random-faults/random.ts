import * as fc from "fast-check";

/** Random decisions of one run. The same seed and the same order of calls give the same decisions. */
export interface Random {
  /** @param probability from 0 to 1 */
  chance(probability: number): boolean;
  /** Returns one of a list that is not empty. */
  pick<T>(items: readonly T[]): T;
  /** Returns one of the names, with a probability in proportion to its weight. */
  weighted<N extends string>(weights: Readonly<Record<N, number>>): N;
}

export function seededRandom(seed: number): Random {
  const [generate] = fc.sample(fc.gen(), { seed, numRuns: 1, unbiased: true });
  if (generate === undefined) throw new Error("fast-check returned no generator");
  const below = (count: number) => generate(fc.nat, { max: count - 1 });
  const pick: Random["pick"] = items => {
    if (items.length === 0) throw new Error("there is nothing to pick");
    return items[below(items.length)] as (typeof items)[number];
  };
  return {
    chance: probability => below(10_000) < probability * 10_000,
    pick,
    weighted: weights => {
      const names = Object.keys(weights) as (keyof typeof weights)[];
      return pick(names.flatMap(name => Array.from({ length: weights[name] }, () => name)));
    },
  };
}

/**
 * The seeds to run: `RANDOM_RUNS` seeds (default 1), beginning with `RANDOM_SEED` (default 1). The seed does not determine
 * the order of calls of different hosts, so the same seed can pass and fail.
 */
export const seeds: readonly number[] = Array.from(
  { length: Number(process.env.RANDOM_RUNS ?? 1) },
  (_, run) => Number(process.env.RANDOM_SEED ?? 1) + run,
);
