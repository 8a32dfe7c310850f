import { chunksOf } from "../../../chunks.ts";
import type { Action, Row } from "../../tables/tables.ts";
import { transactionSize } from "../../tables/transaction.ts";
import { assignedPrefix, attributePrefix, headRow, loginRow, ownerOf, schemaVersion } from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";
import type { Claim, Source } from "./claim-name.ts";

type Part = Extract<Action, { upsert: unknown }>["upsert"];

/**
 * Copies attributes, assignments and last sign-in to the claim, and removes what an earlier attempt has left. Each
 * transaction writes the head row by its version: a process whose claim was removed or rewritten writes nothing any
 * more.
 */
export async function copyRows(tables: AuthTables, { user }: Source, claim: Claim): Promise<boolean> {
  const { users } = tables;
  const { userHash, id } = claim;
  const rowsIn = async (partitionKey: string) => Array.fromAsync(users.query({ partitionKey }));
  const [own, there] = await Promise.all([rowsIn(user.userHash), rowsIn(userHash)]);
  const copied = own.filter(row => ownerOf(row) === id && isCopied(row));
  const rowKeys = new Set(copied.map(({ rowKey }) => rowKey));
  const isLeft = (row: Row) => ownerOf(row) === id && row.rowKey !== headRow && !rowKeys.has(row.rowKey);
  const actions: Action[] = [
    ...there.filter(isLeft).map(({ rowKey, etag }) => ({ remove: { rowKey }, etag })),
    ...copied.map(({ partitionKey: _, etag: __, ...columns }) => ({ upsert: columns as Part })),
  ];
  let head = claim.head;
  for (const some of chunksOf(actions, transactionSize - 1)) {
    const touch: Action = { merge: { rowKey: headRow, schema: schemaVersion }, etag: head };
    const written = await users.transact(userHash, [touch, ...some]);
    if (written?.[0] === undefined) return false;
    head = written[0];
  }
  return true;
}

const isCopied = ({ rowKey }: Row) =>
  rowKey.startsWith(attributePrefix) || rowKey.startsWith(assignedPrefix) || rowKey === loginRow;
