import { isDeepStrictEqual } from "node:util";
import type * as z from "zod";
import { isUnavailable } from "../fault.ts";
import type { Log } from "../log.ts";
import type { Row } from "./rows.ts";

/** Columns of a row to write. Table storage has no column for an absent value. */
type Columns = Readonly<Record<string, string | number | boolean>>;

/** Conversion between a value and the columns of its row, in both directions. */
interface RowColumns<T, K extends keyof T = never> {
  toColumns(value: T): Columns;
  /**
   * Returns the value of a row. Throws a `RowError` for a row of another version or form.
   * @param keyed the properties that are in the keys of the row instead of a column
   */
  fromRow(row: Row, ...keyed: [K] extends [never] ? [] : [Pick<T, K>]): T;
  /** The schema: those columns, and the properties that the keys have. */
  schema(): z.ZodType<T>;
}

/**
 * Returns the conversion for rows of one schema, which is the only list of their columns. Texts, numbers and booleans
 * are columns of their own type, anything else is JSON.
 * @param kind the kind of row, for messages
 * @param define returns an object schema; called at the first use
 * @param keyed properties that are no columns, because the keys of the row have them
 * @param spread an array whose elements have a column each, because all together would exceed the size of a column
 */
export function rowColumns<T extends object, K extends keyof T & string = never>(
  {
    kind,
    version,
    keyed = [],
    spread,
  }: {
    readonly kind: string;
    readonly version: number;
    readonly keyed?: readonly K[];
    readonly spread?: keyof T & string;
  },
  define: () => z.ZodType<T>,
): RowColumns<T, K> {
  let defined: { readonly schema: z.ZodType<T>; readonly isJson: ReadonlyMap<string, boolean> } | undefined;
  const definition = () => {
    if (defined !== undefined) return defined;
    const schema = define();
    const fields = Object.entries((schema as unknown as z.ZodObject).shape as Record<string, z.ZodType>);
    const columns = fields.filter(([name]) => !(keyed as readonly string[]).includes(name));
    defined = { schema, isJson: new Map(columns.map(([name, field]) => [name, !isPlain(field)])) };
    return defined;
  };
  return {
    toColumns(value) {
      const columns: Record<string, string | number | boolean> = { schema: version };
      for (const [name, isJson] of definition().isJson) {
        const content = (value as Readonly<Record<string, unknown>>)[name];
        if (content === undefined) continue;
        if (name === spread)
          for (const [index, element] of (content as readonly unknown[]).entries())
            columns[elementColumn(name, index)] = JSON.stringify(element);
        else columns[name] = isJson ? JSON.stringify(content) : (content as string | number | boolean);
      }
      return columns;
    },
    fromRow(row, keys?: Pick<T, K>) {
      checkVersion(kind, row, version);
      const { schema, isJson } = definition();
      const value: Record<string, unknown> = { ...keys };
      for (const [name, json] of isJson)
        if (row[name] !== undefined) value[name] = json ? jsonColumn(kind, row, name) : row[name];
      if (spread !== undefined) {
        const elements: unknown[] = [];
        for (let at = elementColumn(spread, 0); at in row; at = elementColumn(spread, elements.length))
          elements.push(jsonColumn(kind, row, at));
        value[spread] = elements;
      }
      return parseRow(kind, row, schema, value);
    },
    schema: () => definition().schema,
  };
}

/** Returns the column of one element of an array, such as `credentials00`. */
const elementColumn = (name: string, index: number): string => name + String(index).padStart(2, "0");

const plainTypes: readonly string[] = ["string", "number", "boolean", "enum", "literal"];

/** Returns whether values of a schema can be a column as they are. */
function isPlain(schema: z.ZodType): boolean {
  const { type, innerType } = schema.def as { type: string; innerType?: z.ZodType };
  return innerType === undefined ? plainTypes.includes(type) : isPlain(innerType);
}

/** A stored row that cannot be read. The message names the row and its wrong columns, never a value (G10). */
export class RowError extends Error {
  override readonly name = "RowError";

  /** @param kind the kind of row, as in docs/storage.md */
  constructor(kind: string, { partitionKey, rowKey }: Pick<Row, "partitionKey" | "rowKey">, reason: string) {
    super(`The ${kind} row ${partitionKey}/${rowKey} cannot be read: ${reason}.`);
  }
}

/** Throws a `RowError` for a row of another version (G12). */
export function checkVersion(kind: string, row: Row, version: number): void {
  const { schema } = row;
  if (schema === version) return;
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

/** Whether a value equals one that was read, which has no members that are undefined. */
export const isStoredAs = (value: unknown, stored: unknown): boolean =>
  isDeepStrictEqual(JSON.parse(JSON.stringify(value)), stored);

/**
 * Returns the result of `read`. If the row cannot be read, logs `row_failed` with its name and returns undefined, so
 * that one row does not stop the others. Throws only Fault `unavailable`.
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
