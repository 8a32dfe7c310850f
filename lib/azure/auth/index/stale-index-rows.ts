import { minutes, plus } from "../../../time.ts";
import { parseRow } from "../../tables/row-schema.ts";
import type { Row } from "../../tables/tables.ts";
import { indexSchema } from "../rows/row-schemas.ts";
import type { AuthTables } from "../rows/tables.ts";
import { type IndexEntry, removeIndexRow } from "./index-entries.ts";

/** Longer than any call takes. After that the writer of the index row has finished or crashed. */
const removeAfterMs = minutes(10);

/** Removes an index row that a crash left without its entry. Returns whether it was removed. */
export async function removeStaleIndexRow(tables: AuthTables, entry: IndexEntry, row: Row): Promise<boolean> {
  if (plus(parseRow("index", row, indexSchema, row).writtenAt, removeAfterMs) > tables.now()) return false;
  return (await removeIndexRow(tables, entry, row, { keepEntry: true })) === "removed";
}
