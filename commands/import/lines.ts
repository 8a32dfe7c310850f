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
export interface Line<T> {
  readonly file: string;
  /** Number of the line, from 1. */
  readonly line: number;
  /** Absent if the line describes nothing that can be imported. */
  readonly item?: T;
  readonly outcome: Outcome;
  /** Reason of the outcome, or empty. Never quotes a secret. */
  readonly reason: string;
}

/** What a line of a file describes, or why that cannot be imported. */
export type ReadLine<T> = { readonly line: number } & ({ readonly item: T } | { readonly reason: string });

/** The reason why a line cannot be imported: the rest of a sentence about it. Never quotes a secret. */
export class RefusedLine extends Error {
  override readonly name = "RefusedLine";
}

/**
 * Reads parts of a file, each with the number of its line. `read` returns undefined for a part that describes nothing,
 * such as a comment, and throws `RefusedLine`.
 */
export const readEach = <P, T>(
  parts: readonly (readonly [line: number, part: P])[],
  read: (part: P) => T | undefined,
): readonly ReadLine<T>[] =>
  parts.flatMap(([line, part]): readonly ReadLine<T>[] => {
    try {
      const item = read(part);
      return item === undefined ? [] : [{ line, item }];
    } catch (error) {
      if (!(error instanceof RefusedLine)) throw error;
      return [{ line, reason: error.message }];
    }
  });

/** Returns the lines of a file before they are sent. A file without any is refused, because it would look imported. */
export function linesOf<T>(file: string, read: readonly ReadLine<T>[], noun: string): readonly Line<T>[] {
  const found = read.length > 0 ? read : [{ line: 1, reason: `the file contains no ${noun}` }];
  return found.map(each =>
    "item" in each ? { file, ...each, outcome: "open", reason: "not sent" } : { file, ...each, outcome: "refused" },
  );
}

/** Refuses all but one of the lines with the same name, also of several files. @param what the name, in the reason */
export function withoutDuplicates<T>(
  lines: readonly Line<T>[],
  nameOf: (item: T) => string,
  what: string,
  counts: "first" | "last",
): readonly Line<T>[] {
  const named = lines.flatMap(line => (line.item === undefined ? [] : [[nameOf(line.item), line] as const]));
  const used = new Map(counts === "last" ? named : named.reverse());
  const others = new Map(named.map(([name, line]) => [line, used.get(name)]));
  return lines.map(line => {
    const other = others.get(line) ?? line;
    if (other === line) return line;
    const reason = `${locationOf(other)} has the same ${what}, and the ${counts} one counts`;
    return { file: line.file, line: line.line, outcome: "refused", reason };
  });
}

/** Returns `file:line`, the form that editors recognise. */
export const locationOf = ({ file, line }: Pick<Line<unknown>, "file" | "line">): string => `${file}:${line}`;
