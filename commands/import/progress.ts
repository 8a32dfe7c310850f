import { type Line, type Outcome, placeOf } from "./lines.ts";
import type { Screen } from "./screen.ts";

/** Tells how many keys are through, how fast, and which did not get in. @param now milliseconds */
export function createProgress(screen: Screen, total: number, now: () => number) {
  const began = now();
  const milestone = Math.ceil(total / 10);
  return (line: Line, count: number): void => {
    if (line.outcome === "refused" || line.outcome === "failed") screen.result(refusedLine(line));
    const text = () => {
      const perSecond = count / Math.max(0.001, (now() - began) / 1000);
      const left = count === total ? "" : `, about ${told(Math.ceil((total - count) / perSecond))} s left`;
      return `${told(count)} of ${keys(total)}, ${told(Math.round(perSecond))} a second${left}`;
    };
    screen.progress(text, count % milestone === 0);
  };
}

/** A line that is not in, and why. */
export const refusedLine = (line: Line): string => `${placeOf(line)}: ${line.outcome}: ${line.reason}`;

const words: Readonly<Record<Exclude<Outcome, "open">, string>> = {
  imported: "imported",
  present: "there already",
  replaced: "replaced",
  refused: "refused",
  failed: "failed",
};

/** How many lines came to what. @param open what is said of those that were not sent, or not answered */
export function summaryOf(lines: readonly Line[], open: string): string {
  const groups = Object.groupBy(lines, ({ outcome }) => outcome);
  const counts = Object.entries({ ...words, open }).flatMap(([outcome, word]) => {
    const count = groups[outcome as Outcome]?.length ?? 0;
    return count === 0 ? [] : [`${told(count)} ${word}`];
  });
  return `${keys(lines.length)}: ${counts.join(", ")}`;
}

const keys = (count: number): string => `${told(count)} ${count === 1 ? "key" : "keys"}`;

/** A number as people read it. */
export const told = (count: number): string => count.toLocaleString("en");
