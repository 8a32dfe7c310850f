import { chunksOf } from "../../lib/platform/chunks.ts";
import { ImportStopped } from "./calls.ts";
import type { ImportKey } from "./formats/parsed-lines.ts";
import type { Line } from "./lines.ts";

/** The outcome of a line that was sent. */
export type Sent = Pick<Line, "outcome" | "reason">;

export interface RunOptions {
  /** Number of calls in progress. */
  readonly parallel: number;
  /** Maximum number of OTP keys in a call. */
  readonly batch: number;
  /** Fires when no further key is to be sent. */
  readonly stop: AbortSignal;
  /** Sends OTP keys in one call. The outcomes have the order of the keys. */
  readonly send: (keys: readonly ImportKey[]) => Promise<readonly Sent[]>;
  /** Called after each line, with the number of lines tried so far. */
  readonly tried: (line: Line, count: number) => void;
}

/** After this many failures in a row the cause is not the keys. */
const maxFailuresInARow = 10;

/**
 * Sends every open line, several in one call and several calls in parallel. After `ImportStopped` sends no further line
 * and waits for calls in progress.
 * @returns all lines in their order, and the reason if the run ended early
 */
export async function runImport(
  lines: readonly Line[],
  { parallel, batch, stop, send, tried }: RunOptions,
): Promise<{ readonly lines: readonly Line[]; readonly stopped?: string }> {
  const results = [...lines];
  const queue = batchesOf(lines, batch).values();
  let count = 0;
  let failures = 0;
  let stopped: string | undefined;

  const conclude = (index: number, line: Line) => {
    results[index] = line;
    tried(line, ++count);
    failures = line.outcome === "failed" ? failures + 1 : 0;
    // The other keys of the call have their results, so the run ends after them.
    if (failures >= maxFailuresInARow) stopped ??= `Core failed at ${maxFailuresInARow} keys in a row (500)`;
  };
  const work = async () => {
    for (const some of queue) {
      const sent = await send(some.map(({ key }) => key));
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

interface OpenLine {
  readonly index: number;
  readonly line: Line;
  readonly key: ImportKey;
}

/** Returns the open lines, in their order, as many in one batch as a call may have. */
function batchesOf(lines: readonly Line[], size: number): readonly (readonly OpenLine[])[] {
  const open = lines.flatMap((line, index) =>
    line.key === undefined || line.outcome !== "open" ? [] : [{ index, line, key: line.key }],
  );
  return chunksOf(open, size);
}
