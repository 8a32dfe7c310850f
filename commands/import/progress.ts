import { type Line, locationOf, type Outcome } from "./lines.ts";
import type { Screen } from "./screen.ts";

/**
 * Returns a function that is called after each line. It shows each line that was refused or failed, and the progress
 * after every tenth of the lines. @param now milliseconds
 */
export function createProgress(screen: Screen, total: number, now: () => number, noun = "key") {
  const startedAt = now();
  const milestone = Math.ceil(total / 10);
  return (line: Line<unknown>, count: number): void => {
    if (line.outcome === "refused" || line.outcome === "failed") screen.result(refusedLine(line));
    if (count % milestone !== 0) return;
    const perSecond = count / Math.max(0.001, (now() - startedAt) / 1000);
    const left = count === total ? "" : `, about ${formatCount(Math.ceil((total - count) / perSecond))} s left`;
    screen.note(
      `${formatCount(count)} of ${counted(total, noun)}, ${formatCount(Math.round(perSecond))} a second${left}`,
    );
  };
}

/** Returns the text about a line that was refused or failed. */
export const refusedLine = (line: Line<unknown>): string => `${locationOf(line)}: ${line.outcome}: ${line.reason}`;

const words: Readonly<Record<Exclude<Outcome, "open">, string>> = {
  ordered: "ordered",
  imported: "imported",
  present: "already present",
  replaced: "replaced",
  refused: "refused",
  failed: "failed",
};

/** Returns the number of lines of each outcome. @param open word for lines that were not sent or got no response */
export function summaryOf(
  lines: readonly Line<unknown>[],
  open: string,
  noun = "key",
  present = words.present,
): string {
  const groups = Object.groupBy(lines, ({ outcome }) => outcome);
  const counts = Object.entries({ ...words, present, open }).flatMap(([outcome, word]) => {
    const count = groups[outcome as Outcome]?.length ?? 0;
    return count === 0 ? [] : [`${formatCount(count)} ${word}`];
  });
  return `${counted(lines.length, noun)}: ${counts.join(", ")}`;
}

const counted = (count: number, noun: string): string => `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;

/** Formats a number with thousands separators. */
export const formatCount = (count: number): string => count.toLocaleString("en");
