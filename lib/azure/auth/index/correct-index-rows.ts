import type { User } from "../../../auth/store.ts";
import { mapConcurrently } from "../../tables/row-batches.ts";
import type { Row } from "../../tables/tables.ts";
import { assignedKeyIn, assignedPrefix, attributePrefix, idKey, ownerOf, valueIn } from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";
import { assignmentEntry, attributeEntry, type IndexEntry } from "./index-entries.ts";

/**
 * Writes the partition of a renamed user into the user's index rows. Until then they name the former one, which costs a
 * reader more reads and misleads none.
 */
export async function correctIndexRows(
  tables: AuthTables,
  { userHash, id }: Pick<User, "userHash" | "id">,
): Promise<void> {
  const rows = await Array.fromAsync(tables.users.query({ partitionKey: userHash }));
  const entries = rows.flatMap(row => entryIn(tables, row, id) ?? []);
  await mapConcurrently(entries, async ({ index: { table, partitionKey, rowKeyPrefix } }) => {
    const row = await table.get(partitionKey, rowKeyPrefix + idKey(id));
    if (row === undefined || row.userHash === userHash) return;
    // By version, so that a row that was removed or written again since stays so.
    await table.merge({ partitionKey, rowKey: row.rowKey, userHash, writtenAt: tables.now() }, row.etag);
  });
}

/** Returns the entry of a user's row, if filters find users by it. */
function entryIn(tables: AuthTables, row: Row, id: number): IndexEntry | undefined {
  if (ownerOf(row) !== id) return undefined;
  const { rowKey } = row;
  if (rowKey.startsWith(attributePrefix))
    return attributeEntry(tables, rowKey.slice(attributePrefix.length), valueIn(row, id) ?? "");
  if (!rowKey.startsWith(assignedPrefix)) return undefined;
  const { prefix, id: keyId } = assignedKeyIn(row);
  return assignmentEntry(tables, prefix, keyId);
}
