import pLimit from "p-limit";

/**
 * Does `work` for each item, at most `concurrency` at once. After a failure it starts no more, waits for the end of the
 * others and throws the first failure.
 */
export async function forEachLimited<T>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  await pLimit(concurrency).map(items, async item => {
    if (failures.length === 0) await work(item).catch((error: unknown) => failures.push(error));
  });
  if (failures.length > 0) throw failures[0];
}
