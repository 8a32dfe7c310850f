import pLimit from "p-limit";
import { Fault, isUnavailable } from "../platform/fault.ts";
import type { Log } from "../platform/log.ts";

interface Options<E> {
  readonly log: Log;
  /** Number of elements that are worked on at once. */
  readonly concurrency: number;
  /** Elements of one group are worked on one after another; by default each is a group. */
  readonly groupOf?: (element: E) => string;
}

/**
 * Works on the elements of a batch. Returns the results in the order of the elements: of a refusal its Fault, of any
 * other error, which is logged, Fault `internal`. Throws the first Fault `unavailable`: after it no further element is
 * begun, because it would fail as well, and the batch is repeated as a whole.
 */
export async function runBatch<E, R>(
  elements: readonly E[],
  work: (element: E) => Promise<R>,
  { log, concurrency, groupOf }: Options<E>,
): Promise<readonly (R | Fault)[]> {
  let outage: Fault | undefined;
  const results: (R | Fault)[] = [];
  const faultOf = (error: unknown): Fault => {
    const isFault = error instanceof Fault;
    if (!isFault) log.error("failed", { error });
    if (isUnavailable(error)) outage ??= error;
    return isFault ? error : new Fault("internal", "Internal error.", { cause: error });
  };
  const groups = Map.groupBy(elements.entries(), ([index, element]) => groupOf?.(element) ?? index);
  await pLimit(concurrency).map(groups.values(), async group => {
    for (const [index, element] of group) results[index] = outage ?? (await work(element).catch(faultOf));
  });
  if (outage !== undefined) throw outage;
  return results;
}
