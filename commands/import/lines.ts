import type { Instant } from "../../lib/time.ts";
import { type LogOptions, readPersonalisationLog } from "./formats/personalisation-log.ts";
import { readPskc } from "./formats/pskc.ts";
import type { ImportKey } from "./formats/reading.ts";

/**
 * What became of a line.
 * - `imported`: Core has the key now
 * - `present`: Core had it, with this secret
 * - `replaced`: Core had another secret for the prefix
 * - `refused`: it will not go in as it is
 * - `failed`: Core failed at this key, again and again
 * - `open`: not sent, or not answered
 */
export type Outcome = "imported" | "present" | "replaced" | "refused" | "failed" | "open";

/** A line of a file, and where it stands. */
export interface Line {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** Absent where the line describes none. */
  readonly key?: ImportKey;
  readonly outcome: Outcome;
  /** Tells nothing of a secret. Empty where there is nothing to say. */
  readonly reason: string;
}

export interface ReadingOptions {
  readonly log: LogOptions;
  readonly preSharedKey: Uint8Array | undefined;
  readonly now: Instant;
}

/** Lines of all files in their order, of every layout. Of several keys with one prefix the last one counts, as within a log. */
export function linesOf(
  files: readonly { readonly name: string; readonly text: string }[],
  options: ReadingOptions,
): readonly Line[] {
  const lines = files.flatMap(({ name, text }) => fileLines(name, text, options));
  const last = new Map(lines.flatMap(line => (line.key === undefined ? [] : [[line.key.prefix, line] as const])));
  return lines.map(line => {
    const winner = line.key && last.get(line.key.prefix);
    if (winner === undefined || winner === line) return line;
    const reason = `${placeOf(winner)} has the same prefix, and the last one counts`;
    return { file: line.file, line: line.line, outcome: "refused", reason };
  });
}

/** As compilers say it, so that editors find it. */
export const placeOf = ({ file, line }: Pick<Line, "file" | "line">): string => `${file}:${line}`;

function fileLines(file: string, text: string, { log, preSharedKey, now }: ReadingOptions): readonly Line[] {
  const isXml = /^\ufeff?\s*</.test(text);
  const { keys, refused } = isXml
    ? readPskc(text, { now, ...(preSharedKey && { preSharedKey }) })
    : readPersonalisationLog(text, log);
  const lines: Line[] = [
    ...keys.map(key => ({ file, line: key.line, key, outcome: "open" as const, reason: "not sent" })),
    ...refused.map(({ line, reason }) => ({ file, line, outcome: "refused" as const, reason })),
  ];
  return lines.sort((one, other) => one.line - other.line);
}
