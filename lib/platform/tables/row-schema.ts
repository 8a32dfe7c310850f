import type * as z from "zod";
import { isUnavailable } from "../fault.ts";
import type { Log } from "../log.ts";
import type { Row } from "./entity.ts";

/** A stored row that cannot be read. The message names the row and its wrong columns, never a value (G10). */
export class RowError extends Error {
  override readonly name = "RowError";

  /** @param kind the kind of row, as in docs/storage.md */
  constructor(kind: string, { partitionKey, rowKey }: Pick<Row, "partitionKey" | "rowKey">, reason: string) {
    super(`The ${kind} row ${partitionKey}/${rowKey} cannot be read: ${reason}.`);
  }
}

/** Removes `readonly` at every level, because schemas do not have it. */
type Plain<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends readonly (infer E)[]
    ? Plain<E>[]
    : T extends object
      ? { -readonly [K in keyof T]: Plain<T[K]> }
      : T;

type Same<A, B> = (<X>() => X extends Plain<A> ? 1 : 2) extends <X>() => X extends Plain<B> ? 1 : 2 ? true : false;

type Differing<A, B> = {
  [K in (keyof A | keyof B) & string]: Same<Pick<A, K & keyof A>, Pick<B, K & keyof B>> extends true ? never : K;
}[(keyof A | keyof B) & string];

/**
 * Returns the schema as a schema of type T. Compiles only if both have exactly the same properties: a property of the type alone would be
 * lost at the first read.
 */
export const schemaOf =
  <T>() =>
  <S extends z.ZodType>(
    schema: Same<z.output<S>, T> extends true ? S : `differs in ${Differing<z.output<S>, T>}`,
  ): z.ZodType<T> =>
    schema as z.ZodType as z.ZodType<T>;

/** Throws a `RowError` for a row of another version than `version` or the one before it (G12). */
export function checkVersion(kind: string, row: Row, version: number): void {
  const { schema } = row;
  if (schema === version || (schema === version - 1 && schema > 0)) return;
  throw new RowError(kind, row, `schema version ${typeof schema === "number" ? schema : "is missing or not a number"}`);
}

/** Returns the value parsed by the schema. Throws a `RowError` that names the wrong columns. */
export function parseRow<T>(kind: string, row: Row, schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = new Set(result.error.issues.map(({ path, code }) => `${path.join(".") || "row"} (${code})`));
  throw new RowError(kind, row, [...problems].slice(0, 10).join(", "));
}

/** Parses a column of JSON. Throws a `RowError`, because the parser's error would quote the content. */
export function jsonColumn(kind: string, row: Row, name: string): unknown {
  try {
    return JSON.parse(String(row[name]));
  } catch {
    throw new RowError(kind, row, `${name} (invalid_json)`);
  }
}

/**
 * Returns the result of `read`. If the row cannot be read, logs `row_failed` with its name and returns undefined, so that one row does not
 * stop the others. Throws only Fault `unavailable`.
 */
export async function readOrLog<T>(log: Log, read: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isUnavailable(error)) throw error;
    log.error("row_failed", { error });
    return undefined;
  }
}
