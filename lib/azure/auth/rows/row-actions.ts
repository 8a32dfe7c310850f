import type { AttributeHead } from "../../../auth/model/attributes.ts";
import type { Value } from "../../tables/entity.ts";
import type { Action, Row } from "../../tables/tables.ts";
import { headRow, schemaVersion } from "./rows.ts";

/** Returns the action that writes a head row by the version read; inserts it if none was read. */
export function headAction(head: Row | undefined, id: number, next: AttributeHead): Action {
  const row = { rowKey: headRow, schema: schemaVersion, id, ...next };
  return head === undefined ? { insert: row } : { replace: row, etag: head.etag };
}

/** Returns the action that writes a row by the version read; inserts it if none was read. */
export function rowAction(row: Row | undefined, next: { readonly rowKey: string } & Record<string, Value>): Action {
  const written = { schema: schemaVersion, ...next };
  return row === undefined ? { insert: written } : { replace: written, etag: row.etag };
}
