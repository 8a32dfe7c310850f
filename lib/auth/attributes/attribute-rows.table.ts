import * as z from "zod";
import { checkVersion, jsonColumn, parseRow, RowError } from "../../platform/tables/row-columns.ts";
import type { Row } from "../../platform/tables/tables.ts";
import { schemaVersion } from "../storage/tables.table.ts";
import type { Attributes } from "./attributes.ts";

/** Row of all attributes of a user or an OTP key, in the owner's partition. */
export const attributesRow = "attributes";

/** Maximum length of a column, in UTF-16 units. */
const columnLength = 32_768;

const keysSchema = z.lazy(() => z.array(z.tuple([z.string(), z.int().nonnegative()])));

/**
 * Returns the columns of attributes: `keys` has each key with the length of its value, and `values0`, `values1`, …
 * have the values one after another. As JSON, attributes of the maximum size could exceed the size of a row, because
 * some characters are escaped.
 */
export function attributeColumns(attributes: Attributes): Record<string, string | number> {
  const entries = Object.entries(attributes);
  const columns: Record<string, string | number> = {
    schema: schemaVersion,
    keys: JSON.stringify(entries.map(([key, value]) => [key, value.length])),
  };
  const values = entries.map(([, value]) => value).join("");
  for (let start = 0, count = 0; start < values.length; count++) {
    const end = start + columnLength;
    // A column must be well-formed, so it does not end within a surrogate pair.
    const isWithinPair = (values.charCodeAt(end - 1) & 0xfc00) === 0xd800;
    const part = values.slice(start, isWithinPair ? end - 1 : end);
    columns[`values${count}`] = part;
    start += part.length;
  }
  return columns;
}

/** Returns the attributes of a row; none if there is no row. Throws a `RowError` for one that cannot be read. */
export function attributesIn(row: Row | undefined): Attributes {
  if (row === undefined) return {};
  checkVersion("attributes", row, schemaVersion);
  const keys = parseRow("attributes", row, keysSchema, jsonColumn("attributes", row, "keys"));
  let values = "";
  for (let count = 0; typeof row[`values${count}`] === "string"; count++) values += row[`values${count}`];
  let start = 0;
  const entries = keys.map(([key, length]) => {
    start += length;
    return [key, values.slice(start - length, start)] as const;
  });
  if (start !== values.length) throw new RowError("attributes", row, "keys (length)");
  return Object.fromEntries(entries);
}
