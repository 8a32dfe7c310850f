import * as z from "zod";
import { checkVersion, jsonColumn, parseRow } from "../../platform/azure/row-columns.ts";
import type { Row } from "../../platform/azure/tables.ts";
import { schemaVersion } from "../tables.table.ts";
import type { Attributes } from "./attributes.ts";

/** Row of all attributes of a user or an OTP key, in the owner's partition. */
export const attributesRow = "attributes";

const valueColumn = (index: number): string => `value${index}`;

const textsSchema = z.lazy(() => z.array(z.string()));

/**
 * Returns the columns of attributes: `keys`, and `value0`, `value1`, … in the same order. A value has a column of its
 * own, because one of the maximum length fills a column, and JSON would escape some characters.
 */
export const attributeColumns = (attributes: Attributes): Record<string, string | number> => ({
  schema: schemaVersion,
  keys: JSON.stringify(Object.keys(attributes)),
  ...Object.fromEntries(Object.values(attributes).map((value, index) => [valueColumn(index), value])),
});

/** Returns the attributes of a row; none if there is no row. Throws a `RowError` for one that cannot be read. */
export function attributesIn(row: Row | undefined): Attributes {
  if (row === undefined) return {};
  checkVersion("attributes", row, schemaVersion);
  const keys = parseRow("attributes", row, textsSchema, jsonColumn("attributes", row, "keys"));
  const columns = keys.map((_, index) => row[valueColumn(index)]);
  const values = parseRow("attributes", row, textsSchema, columns);
  return Object.fromEntries(keys.map((key, index) => [key, values[index] ?? ""]));
}
