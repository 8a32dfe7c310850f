import * as z from "zod";
import { RowError, rowColumns } from "../platform/azure/row-columns.ts";
import type { Action, Entity, Row, Table, Tables } from "../platform/azure/tables.ts";
import { hashOf } from "../platform/crypto.ts";
import { isUnavailable } from "../platform/fault.ts";
import type { Log } from "../platform/log.ts";
import { confirmWrite } from "../platform/stored.ts";
import { hourOf, type Instant, type Now } from "../platform/time.ts";
import type { KeyedHash } from "./keyed-hash.ts";

/** Names of the tables of the authentication server. */
export const authTables = [
  "users",
  "names",
  "index",
  "otpkeys",
  "throttles",
  "addresses",
  "sessions",
  "spentotps",
  "expiry",
] as const;

/** What the tables need besides storage. */
export interface StorageDeps {
  readonly now: Now;
  readonly random: (bytes: number) => Uint8Array;
  readonly sleep: (ms: number) => Promise<void>;
  readonly log: Log;
  /** Hashes what people type, for the keys of throttles and addresses (G10). */
  readonly keyedHash: KeyedHash;
}

/** The tables of the authentication server, with clock, randomness and log (G9). */
export type AuthTables = Readonly<Record<TableName, Table>> & StorageDeps;
type TableName = (typeof authTables)[number];

export const openAuthTables = (tables: Tables, { now, random, sleep, log, keyedHash }: StorageDeps): AuthTables => ({
  ...(Object.fromEntries(authTables.map(name => [name, tables.table(name)])) as Record<TableName, Table>),
  ...{ now, random, sleep, log, keyedHash },
});

/** Version of the layout, written into every row. */
export const schemaVersion = 1;

/** Returns an id as text that sorts by number. */
export const idKey = (id: number): string => String(id).padStart(16, "0");

/** Returns the id at the end of a row key, where `idKey` has put it. */
export const idAtEnd = (rowKey: string): number => Number(rowKey.slice(-16));

/** Returns a random text by which a call recognises what it has written itself, also if the response was lost. */
export const newWriteId = ({ random }: Pick<AuthTables, "random">): string =>
  Buffer.from(random(12)).toString("base64url");

/** Returns the partition of a folded username in the table of names. It has one row. */
export const namePartition = (folded: string): string => hashOf(folded);
export const nameRow = "name";

/** Returns a partition that no user or OTP key has. Reads of it take as long as reads of real rows. */
export const nonePartition = (text: string): string => `-${hashOf(text)}`;

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

/**
 * Tables whose rows expire, each with a partition in the expiry index. Sessions need none: their partition keys begin
 * with the hour.
 */
export type Expiring = "throttles" | "addresses" | "spentotps";

/** A row whose column `ends` says when it may be deleted. */
type ExpiringRow = Entity & { readonly ends: Instant };

export const expiryColumns = rowColumns({ kind: "expiry", version: schemaVersion }, () =>
  z.object({ partition: z.string(), row: z.string() }),
);

/**
 * Writes the row of the expiry index that points to an expiring row. Clean-up checks that row after the hour has
 * passed. The key contains the hour, not the exact time, so that concurrent attempts share one index row.
 */
export const indexExpiry = ({ expiry }: AuthTables, table: Expiring, row: ExpiringRow): Promise<string> =>
  expiry.upsert({
    partitionKey: table,
    rowKey: `${hourOf(row.ends)}_${row.partitionKey}_${row.rowKey}`,
    ...expiryColumns.toColumns({ partition: row.partitionKey, row: row.rowKey }),
  });

/**
 * Replaces a row by version, or inserts it with its index row. A replaced row has an index row already. Returns the
 * ETag; undefined after a conflict.
 */
export async function saveExpiring(
  tables: AuthTables,
  table: Expiring,
  row: ExpiringRow,
  version: string | undefined,
): Promise<string | undefined> {
  if (version !== undefined) return tables[table].replace(row, version);
  const [etag] = await Promise.all([tables[table].insert(row), indexExpiry(tables, table, row)]);
  return etag;
}

/**
 * Removes a row in any version. Succeeds also if only the response was lost. Returns whether the row is gone, also if
 * there was none.
 */
export const confirmRemoval = async (table: Table, partitionKey: string, rowKey: string): Promise<boolean> =>
  (await confirmWrite<boolean>(
    () => table.remove(partitionKey, rowKey),
    async () => ((await table.get(partitionKey, rowKey)) === undefined ? true : undefined),
  )) === true;

/**
 * Runs the rest of a change that is already made: work that readers or clean-up do later if it is missing. If storage
 * is unavailable or a row cannot be read, logs `change_not_finished` or `row_failed` and does not throw: a caller who
 * gets an error repeats the change, the repetition finds nothing to change, and so the change would have no audit
 * event.
 */
export async function finishOrLog(log: Log, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof RowError) log.error("row_failed", { error });
    else if (isUnavailable(error)) log.warn("change_not_finished", { error });
    else throw error;
  }
}
