import type { Instant } from "../../lib/platform/time.ts";
import type { ImportKey } from "./formats/parsed-lines.ts";
import { type LogOptions, readPersonalisationLog } from "./formats/personalisation-log.ts";
import { readPskc } from "./formats/pskc.ts";
import type { PskcSecrets } from "./formats/pskc-encryption-key.ts";

/**
 * The outcome of a line.
 * - `ordered`: the connector created the request
 * - `imported`: Core created the OTP key or the user, or stored the secret
 * - `present`: Core already had the OTP key with this secret, or the same user; the connector the request
 * - `replaced`: Core had another secret for the prefix, and replaced it
 * - `refused`: the line is invalid, or the API refused it
 * - `failed`: the API failed repeatedly at this line
 * - `open`: not sent, or without a response
 */
export type Outcome = "ordered" | "imported" | "present" | "replaced" | "refused" | "failed" | "open";

/** A line of a file, with its outcome. @typeParam T what it describes */
export interface Line<T = ImportKey> {
  readonly file: string;
  /** Number of the line, from 1. */
  readonly line: number;
  /** Absent if the line describes nothing that can be imported. */
  readonly item?: T;
  readonly outcome: Outcome;
  /** Reason of the outcome, or empty. Never quotes a secret. */
  readonly reason: string;
}

export interface ReadingOptions {
  readonly log: LogOptions;
  readonly pskc: PskcSecrets;
  readonly now: Instant;
}

/** Reads the lines of all files in order. If several lines have the same prefix, only the last one is sent, as within a log. */
export function readLines(
  files: readonly { readonly name: string; readonly text: string }[],
  options: ReadingOptions,
): readonly Line[] {
  const lines = files.flatMap(({ name, text }) => fileLines(name, text, options));
  const last = new Map(lines.flatMap(line => (line.item === undefined ? [] : [[line.item.prefix, line] as const])));
  return lines.map(line => {
    const used = line.item && last.get(line.item.prefix);
    if (used === undefined || used === line) return line;
    const reason = `${locationOf(used)} has the same prefix, and the last one counts`;
    return { file: line.file, line: line.line, outcome: "refused", reason };
  });
}

/** Returns `file:line`, the form that editors recognise. */
export const locationOf = ({ file, line }: Pick<Line<unknown>, "file" | "line">): string => `${file}:${line}`;

function fileLines(file: string, text: string, { log, pskc, now }: ReadingOptions): readonly Line[] {
  const isXml = /^\ufeff?\s*</.test(text);
  const { keys, refused } = isXml ? readPskc(text, { ...pskc, now }) : readPersonalisationLog(text, log);
  const lines: Line[] = [
    ...keys.map(key => ({ file, line: key.line, item: key, outcome: "open" as const, reason: "not sent" })),
    ...refused.map(({ line, reason }) => ({ file, line, outcome: "refused" as const, reason })),
  ];
  return lines.sort((one, other) => one.line - other.line);
}
