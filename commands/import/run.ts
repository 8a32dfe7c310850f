import { ImportStopped } from "./calls.ts";
import type { ImportKey } from "./formats/reading.ts";
import type { Line } from "./lines.ts";

export interface Running {
  readonly parallel: number;
  /** Fires when no further key shall be begun. */
  readonly stop: AbortSignal;
  readonly send: (key: ImportKey) => Promise<Pick<Line, "outcome" | "reason">>;
  /** Is told of each line that was tried, and how many were. */
  readonly tried: (line: Line, count: number) => void;
}

/** So many failures without another outcome between them are not about the keys. */
const mostFailures = 10;

/**
 * Sends every open line, some at a time. What cannot go on ends the run: nothing more is begun, and what is under way is waited
 * for.
 * @returns all lines in their order, and why the run ended before its end, where it did
 */
export async function runImport(
  lines: readonly Line[],
  { parallel, stop, send, tried }: Running,
): Promise<{ readonly lines: readonly Line[]; readonly stopped?: string }> {
  const standing = [...lines];
  const queue = lines.entries();
  let count = 0;
  let failures = 0;
  let stopped: string | undefined;

  const work = async () => {
    for (const [index, line] of queue) {
      if (line.key === undefined || line.outcome !== "open") continue;
      const next: Line = { ...line, ...(await send(line.key)) };
      standing[index] = next;
      tried(next, ++count);
      failures = next.outcome === "failed" ? failures + 1 : 0;
      if (failures >= mostFailures) throw new ImportStopped(`Core failed at ${mostFailures} keys in a row (500)`);
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
  return { lines: standing, ...(stopped !== undefined && { stopped }) };
}
