import { confirmWrite } from "../platform/azure/confirm-write.ts";
import type { Action, Entity, Row, Table } from "../platform/azure/tables.ts";
import { type AuthTables, newWriteId } from "./tables.table.ts";

/** The rows of a user or an OTP key, as far as they exist. Those of one owner are inserted and removed together. */
export type OwnRows = Partial<Readonly<Record<"user" | "login" | "key" | "attributes", Row>>>;

/** Returns rows of one partition by their row keys. */
export const byRowKey = (rows: readonly Row[]): OwnRows => Object.fromEntries(rows.map(row => [row.rowKey, row]));

/**
 * Replaces a row by version. Returns its new version; undefined after a conflict. The random `writeId`, a column of no
 * schema, says whether a write was made whose response was lost.
 */
export function replaceRow(
  tables: AuthTables,
  table: Table,
  row: Entity,
  version: string,
): Promise<string | undefined> {
  const writeId = newWriteId(tables);
  return confirmWrite(
    () => table.replace({ ...row, writeId }, version),
    async () => {
      const found = await table.get(row.partitionKey, row.rowKey);
      return found?.writeId === writeId ? found.etag : undefined;
    },
  );
}

/** Returns the action that changes the version of a row and nothing else. */
export const touchAction = ({ rowKey, etag, schema }: Row): Action => ({
  merge: { rowKey, schema: Number(schema) },
  etag,
});

/** Returns the action that removes a row by the version that was read. */
export const removeAction = ({ rowKey, etag }: Row): Action => ({ remove: { rowKey }, etag });
