import * as z from "zod";
import { Fault } from "../../fault.ts";
import type { Log } from "../../log.ts";
import type { Row } from "./entity.ts";

/** A stored row that cannot be read. The message names the row and its wrong columns, never a value (decision G10). */
class RowError extends Error {
  override readonly name = "RowError";

  /** @param kind what the row is of, as docs/storage.md calls it */
  constructor(kind: string, { partitionKey, rowKey }: Pick<Row, "partitionKey" | "rowKey">, reason: string) {
    super(`The ${kind} row ${partitionKey}/${rowKey} cannot be read: ${reason}.`);
  }
}

/** Removes `readonly` everywhere, which no schema knows. */
type Plain<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends readonly (infer E)[]
    ? Plain<E>[]
    : T extends object
      ? { -readonly [K in keyof T]: Plain<T[K]> }
      : T;

type Same<A, B> = (<X>() => X extends Plain<A> ? 1 : 2) extends <X>() => X extends Plain<B> ? 1 : 2 ? true : false;

/**
 * Returns the schema as the one of type T. It compiles only while both have exactly the same properties: a property that is added
 * to the type alone would be lost at the first read.
 */
export const schemaOf =
  <T>() =>
  <S extends z.ZodType>(schema: Same<z.output<S>, T> extends true ? S : never): z.ZodType<T> =>
    schema as z.ZodType as z.ZodType<T>;

/** A time as `instant` writes it. */
export const storedInstant = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

/** Throws a `RowError` for a row of a version that this code cannot read: it reads its own and the one before (decision G12). */
export function checkVersion(kind: string, row: Row, version: number): void {
  const { schema } = row;
  if (schema === version || (schema === version - 1 && schema > 0)) return;
  throw new RowError(kind, row, `schema version ${typeof schema === "number" ? schema : "is missing or no number"}`);
}

/** Returns the value as the schema has it. Throws a `RowError` that names the wrong columns. */
export function parseRow<T>(kind: string, row: Row, schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = new Set(result.error.issues.map(({ path, code }) => `${path.join(".") || "row"} (${code})`));
  throw new RowError(kind, row, [...problems].slice(0, 10).join(", "));
}

/** Returns the content of a column that holds JSON. Throws a `RowError`, because the parser's own error quotes what it read. */
export function jsonColumn(kind: string, row: Row, name: string): unknown {
  try {
    return JSON.parse(String(row[name]));
  } catch {
    throw new RowError(kind, row, `${name} (invalid_json)`);
  }
}

/**
 * Returns what `read` makes of a row, undefined where it cannot be read: the event `row_failed` names the row, and the others go
 * on. An outage of storage is thrown.
 */
export async function readOrLog<T>(log: Log, read: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Fault && error.kind === "unavailable") throw error;
    log.error("row_failed", { error });
    return undefined;
  }
}
