import { ImportStopped } from "./calls.ts";
import type { ImportKey } from "./formats/parsed-lines.ts";
import type { Line } from "./lines.ts";

export interface RunOptions {
  readonly parallel: number;
  /** Fires when no further key is to be sent. */
  readonly stop: AbortSignal;
  readonly send: (key: ImportKey) => Promise<Pick<Line, "outcome" | "reason">>;
  /** Called after each line, with the number of lines tried so far. */
  readonly tried: (line: Line, count: number) => void;
}

/** After this many failures in a row the cause is not the keys. */
const maxFailuresInARow = 10;

/**
 * Sends every open line, several in parallel. After `ImportStopped` sends no further line and waits for calls in progress.
 * @returns all lines in their order, and the reason if the run ended early
 */
export async function runImport(
  lines: readonly Line[],
  { parallel, stop, send, tried }: RunOptions,
): Promise<{ readonly lines: readonly Line[]; readonly stopped?: string }> {
  const results = [...lines];
  const queue = lines.entries();
  let count = 0;
  let failures = 0;
  let stopped: string | undefined;

  const work = async () => {
    for (const [index, line] of queue) {
      if (line.key === undefined || line.outcome !== "open") continue;
      const next: Line = { ...line, ...(await send(line.key)) };
      results[index] = next;
      tried(next, ++count);
      failures = next.outcome === "failed" ? failures + 1 : 0;
      if (failures >= maxFailuresInARow)
        throw new ImportStopped(`Core failed at ${maxFailuresInARow} keys in a row (500)`);
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
