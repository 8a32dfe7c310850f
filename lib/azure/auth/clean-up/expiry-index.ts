import { withoutHash } from "../../../auth/otp/temporary-code.ts";
import type { Instant } from "../../../time.ts";
import { mapConcurrently, removeRows } from "../../tables/row-batches.ts";
import { parseRow, readOrLog } from "../../tables/row-schema.ts";
import type { Action, Entity, Page, Row, Table } from "../../tables/tables.ts";
import { correctIndexRows } from "../index/correct-index-rows.ts";
import { pointToUser } from "../index/locate-user.ts";
import { renamedIn } from "../rows/renamed-rows.ts";
import { endsSchema, expirySchema } from "../rows/row-schemas.ts";
import {
  checkedVersion,
  fromKeyRow,
  fromUserRow,
  newWriteId,
  ownerOf,
  schemaVersion,
  toKeyColumns,
  userRow,
} from "../rows/rows.ts";
import type { AuthTables } from "../rows/tables.ts";
import { vacate } from "./sweep.ts";

/** Kinds of rows with an expiry index, one queue each. Sessions need none: their partition keys begin with the hour. */
type Queue = "throttle" | "address" | "spentotp" | "temporarycode" | "rename";

/** A row whose column `ends` says when it may be deleted. */
type ExpiringRow = Entity & { readonly ends: Instant };

const tableOf = ({ users, addresses, spentOtps, otpkeys }: AuthTables, queue: Queue): Table =>
  ({ throttle: users, address: addresses, spentotp: spentOtps, temporarycode: otpkeys, rename: users })[queue];

/**
 * Returns the row of the expiry index that points to an expiring row. Clean-up checks that row after the hour has passed. The key
 * contains the hour, not the exact time, so that concurrent attempts share one index row.
 */
const expiryRowOf = (queue: Queue, { partitionKey, rowKey, ends }: ExpiringRow) => ({
  partitionKey: queue,
  rowKey: `${ends.slice(0, 13)}_${partitionKey}_${rowKey}`,
  schema: schemaVersion,
  partition: partitionKey,
  row: rowKey,
});

/**
 * Replaces a row by version, or inserts it with its index row. A replaced row has an index row already. Returns the
 * ETag.
 * @param more changes in the same partition, in one transaction with the row
 */
export async function saveExpiring(
  tables: AuthTables,
  queue: Queue,
  row: ExpiringRow,
  version: string | undefined,
  more: readonly Action[] = [],
): Promise<string | undefined> {
  const table = tableOf(tables, queue);
  const save = async () => {
    if (more.length === 0) return version === undefined ? table.insert(row) : table.replace(row, version);
    const { partitionKey, ...columns } = row;
    const first = version === undefined ? { insert: columns } : { replace: columns, etag: version };
    return (await table.transact(partitionKey, [first, ...more]))?.[0];
  };
  const [etag] = await Promise.all([save(), version === undefined && tables.expiry.upsert(expiryRowOf(queue, row))]);
  return etag;
}

/** Records an OTP of kind `remote` as used (A8). Returns false if it was used before. */
export async function insertSpentOtp(
  tables: AuthTables,
  prefix: string,
  otpHash: string,
  ends: Instant,
): Promise<boolean> {
  const row = { partitionKey: prefix, rowKey: otpHash, schema: schemaVersion, ends, writeId: newWriteId(tables) };
  if ((await saveExpiring(tables, "spentotp", row, undefined)) !== undefined) return true;
  // The row is this call's own if the response to an earlier try was lost.
  return (await tables.spentOtps.get(prefix, otpHash))?.writeId === row.writeId;
}

/** Writes the index row by which clean-up finds a temporary code after its time. */
export const indexTemporaryCode = (tables: AuthTables, row: ExpiringRow): Promise<string> =>
  tables.expiry.upsert(expiryRowOf("temporarycode", row));

/** Writes the index rows by which clean-up finds the rows `user` of a rename, before they are written. */
export async function indexRename(tables: AuthTables, userHashes: readonly string[], ends: Instant): Promise<void> {
  const rows = userHashes.map(partitionKey => expiryRowOf("rename", { partitionKey, rowKey: userRow, ends }));
  await Promise.all(rows.map(row => tables.expiry.upsert(row)));
}

/** Deletes the expired rows of a queue, and returns their number. */
export async function cleanUpQueue(tables: AuthTables, queue: Queue, signal: AbortSignal | undefined): Promise<number> {
  const { expiry, now, log } = tables;
  const range = { partitionKey: queue, before: now().slice(0, 13) };
  let removed = 0;
  let continuation: string | undefined;
  do {
    if (signal?.aborted) break;
    const page: Page = await expiry.queryPage(range, { top: 1000, continuation });
    const results = await mapConcurrently(page.rows, row => readOrLog(log, () => processIndexRow(tables, queue, row)));
    removed += results.filter(result => result === "removed").length;
    const processed = page.rows.filter((_, index) => results[index] === "removed" || results[index] === "passed");
    await removeRows(expiry, processed);
    ({ continuation } = page);
  } while (continuation !== undefined);
  return removed;
}

/** Deletes the row to which an index row points, if it has expired. A row that expires later gets a later index row. */
async function processIndexRow(
  tables: AuthTables,
  queue: Queue,
  indexRow: Row,
): Promise<"removed" | "passed" | "changed"> {
  const table = tableOf(tables, queue);
  const pointed = parseRow("expiry", checkedVersion(indexRow), expirySchema, indexRow);
  if (queue === "rename") return processRenamed(tables, pointed.partition);
  const row = checkedVersion(await table.get(pointed.partition, pointed.row));
  if (row === undefined) return "passed";
  if (queue === "temporarycode") return processCode(tables, row);
  const { partitionKey, rowKey, etag } = row;
  const { ends } = parseRow(queue, row, endsSchema, row);
  if (ends > tables.now()) {
    await tables.expiry.upsert(expiryRowOf(queue, { partitionKey, rowKey, ends }));
    return "passed";
  }
  return (await table.remove(partitionKey, rowKey, etag)) ? "removed" : "changed";
}

/**
 * Deletes what renames have left in a partition: rows of users who have left the name, and of claims that were not
 * committed.
 */
async function processRenamed(tables: AuthTables, userHash: string): Promise<"removed" | "passed"> {
  const rows = await Array.fromAsync(tables.users.query({ partitionKey: userHash }));
  const row = rows.find(({ rowKey }) => rowKey === userRow);
  const renamed = renamedIn(row);
  if (renamed !== undefined && renamed.ends > tables.now()) {
    // The commit, which is later than the claim, may be in the next hour.
    await indexRename(tables, [userHash], renamed.ends);
    return "passed";
  }
  const ids = [...rows.map(ownerOf), renamed?.renamed].filter(id => id !== undefined);
  const former = new Set(ids.filter(id => id !== ownerOf(row)));
  for (const id of former) {
    const user = await pointToUser(tables, id);
    if (user !== undefined) await correctIndexRows(tables, fromUserRow(user).value);
    await vacate(tables, { userHash, id, name: String(row?.name ?? "") });
  }
  return former.size > 0 ? "removed" : "passed";
}

/** Deletes the hash of a temporary code, if it has expired. The OTP key stays. */
async function processCode(tables: AuthTables, row: Row): Promise<"removed" | "passed" | "changed"> {
  const { partitionKey, rowKey } = row;
  const { value: key, version } = fromKeyRow(row);
  const code = key.temporaryCode;
  if (code?.hash === undefined) return "passed";
  if (code.validUntil > tables.now()) {
    await indexTemporaryCode(tables, { partitionKey, rowKey, ends: code.validUntil });
    return "passed";
  }
  const columns = toKeyColumns({ ...key, temporaryCode: withoutHash(code) });
  return (await tables.otpkeys.replace({ partitionKey, rowKey, ...columns }, version)) ? "removed" : "changed";
}
