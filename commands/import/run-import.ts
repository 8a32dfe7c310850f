import { ImportStopped } from "./calls.ts";
import type { Line } from "./lines.ts";

/** The outcome of a line that was sent, and what it describes where the response has told more of it. */
export type Sent<T = never> = Pick<Line<T>, "outcome" | "reason" | "item">;

export interface RunOptions<T> {
  /** Number of calls in progress. */
  readonly parallel: number;
  /** Maximum number of items in a call, and of bytes if `bytesOf` is given. */
  readonly batch: number;
  readonly bytesOf?: ((item: T) => number) | undefined;
  /** Fires when no further item is to be sent. */
  readonly stop: AbortSignal;
  /** Sends items in one call. The outcomes have the order of the items. */
  readonly send: (items: readonly T[]) => Promise<readonly Sent<T>[]>;
  /** Called after each line, with the number of lines tried so far. */
  readonly tried: (line: Line<T>, count: number) => void;
}

/** After this many failures in a row the cause is not the lines. */
const maxFailuresInARow = 10;

/**
 * Sends every open line, several in one call and several calls in parallel. After `ImportStopped` sends no further line
 * and waits for calls in progress.
 * @returns all lines in their order, and the reason if the run ended early
 */
export async function runImport<T>(
  lines: readonly Line<T>[],
  { parallel, batch, bytesOf, stop, send, tried }: RunOptions<T>,
): Promise<{ readonly lines: readonly Line<T>[]; readonly stopped?: string }> {
  const results = [...lines];
  const queue = batchesOf(lines, batch, bytesOf).values();
  let count = 0;
  let failures = 0;
  let stopped: string | undefined;

  const conclude = (index: number, line: Line<T>) => {
    results[index] = line;
    tried(line, ++count);
    failures = line.outcome === "failed" ? failures + 1 : 0;
    // The other items of the call have their results, so the run ends after them.
    if (failures >= maxFailuresInARow) stopped ??= `${maxFailuresInARow} lines in a row failed (500)`;
  };
  const work = async () => {
    for (const some of queue) {
      const sent = await send(some.map(({ item }) => item));
      for (const [position, { index, line }] of some.entries()) conclude(index, { ...line, ...sent[position] });
      if (stop.aborted || stopped !== undefined) return;
    }
  };
  const guarded = async () => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ImportStopped)) throw error;
      stopped ??= error.message;
    }
  };
  await Promise.all(Array.from({ length: parallel }, guarded));
  return { lines: results, ...(stopped !== undefined && { stopped }) };
}

interface OpenLine<T> {
  readonly index: number;
  readonly line: Line<T>;
  readonly item: T;
}

/** Less than the largest body that Core takes. */
export const maxBatchBytes = 300_000;

/** Returns the open lines, in their order, as many in one batch as a call may have. */
function batchesOf<T>(
  lines: readonly Line<T>[],
  size: number,
  bytesOf: (item: T) => number = () => 0,
): readonly (readonly OpenLine<T>[])[] {
  const batches: OpenLine<T>[][] = [];
  let bytes = 0;
  for (const [index, line] of lines.entries()) {
    const { item, outcome } = line;
    if (item === undefined || outcome !== "open") continue;
    bytes += bytesOf(item);
    const last = batches.at(-1);
    if (last !== undefined && last.length < size && bytes <= maxBatchBytes) last.push({ index, line, item });
    else {
      batches.push([{ index, line, item }]);
      bytes = bytesOf(item);
    }
  }
  return batches;
}
