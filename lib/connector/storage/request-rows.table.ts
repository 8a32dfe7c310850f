import { isDeepStrictEqual } from "node:util";
import { rowColumns } from "../../platform/azure/row-columns.ts";
import type { Action, Row, Tables } from "../../platform/azure/tables.ts";
import type { Fault } from "../../platform/fault.ts";
import type { Fields } from "../../platform/log.ts";
import { confirmWrite } from "../../platform/stored.ts";
import type { Instant } from "../../platform/time.ts";
import { type Changes, type LoadedRequest, type RequestValues, withChanges } from "../model/loaded-request.ts";
import { type CredentialRequest, requestSchema } from "../model/request.ts";
import { type SecurityKey, securityKeySchema } from "../model/security-key.ts";

/** The version of the layout, written into every row of the connector. */
export const schemaVersion = 1;

/** The columns of the row of a request. */
export const requestColumns = rowColumns<CredentialRequest>({ kind: "request", version: schemaVersion }, requestSchema);

/** The columns of the row of a security key (C18). */
export const securityKeyColumns = rowColumns<SecurityKey>(
  { kind: "key", version: schemaVersion, spread: "credentials" },
  securityKeySchema,
);

/** Table of the credential requests: one partition for each request, with its row and the rows of its security keys. */
export const requestsTable = "credentialrequests";
const requestRow = "request";
export const keyPrefix = "key:";

/** Returns a request from the rows of its partition; undefined if its own row is not among them. */
export function requestIn(rows: readonly Row[]): LoadedRequest | undefined {
  const row = rows.find(({ rowKey }) => rowKey === requestRow);
  if (row === undefined) return undefined;
  const keyRows = rows.filter(({ rowKey }) => rowKey.startsWith(keyPrefix));
  return {
    request: requestColumns.fromRow(row),
    keys: keyRows.map(key => securityKeyColumns.fromRow(key)),
    etags: new Map([row, ...keyRows].map(({ rowKey, etag }) => [rowKey, etag])),
  };
}

/** Returns the rows of changed parts. */
const rowsOf = ({ request, keys = [] }: Changes) => [
  ...(request === undefined ? [] : [{ rowKey: requestRow, ...requestColumns.toColumns(request) }]),
  ...keys.map(key => ({ rowKey: keyPrefix + key.id, ...securityKeyColumns.toColumns(key) })),
];
type WrittenRow = ReturnType<typeof rowsOf>[number];

/** Returns the rows of credential requests, without those that index them. */
export function requestRows(tables: Tables) {
  const table = tables.table(requestsTable);

  // The rows of events sort before those of the security keys.
  const read = (id: string): Promise<Row[]> => Array.fromAsync(table.query({ partitionKey: id, from: keyPrefix }));
  const load = async (id: string): Promise<LoadedRequest | undefined> => requestIn(await read(id));

  return {
    load,

    /** Inserts all rows in one transaction. Returns the stored request if the id exists. */
    async insert(request: CredentialRequest, keys: readonly SecurityKey[]): Promise<LoadedRequest> {
      const rows = rowsOf({ request, keys });
      const actions = rows.map(row => ({ insert: row }));
      // Ids are unique, so a row that exists was written by this call: its response was lost.
      const stored = await confirmWrite(
        async () => {
          const etags = await table.transact(request.id, actions);
          return etags && { request, keys, etags: etagsOf(rows, etags) };
        },
        () => load(request.id),
      );
      if (stored === undefined) throw new Error(`credential request ${request.id} vanished while it was written`);
      return stored;
    },

    /**
     * Replaces the changed rows in one transaction, each by the ETag that was read. Returns undefined on a conflict. If
     * the response to the write is lost, or if there is a conflict, reads the rows: they are the result if they are
     * those that were sent. A write that storage did not answer and did not make is repeated once: if that succeeds,
     * the first one cannot take effect late.
     * @param more the writes of other rows in the same transaction: the events of the change
     * @param onDoubt called if storage did not answer the first write
     */
    async save(
      loaded: LoadedRequest,
      changes: Changes,
      more: readonly Action[] = [],
      onDoubt?: (error: Fault) => void,
    ): Promise<LoadedRequest | undefined> {
      const { id } = loaded.request;
      const rows = rowsOf(changes);
      const replacements = rows.map(row => ({ replace: row, etag: etagOf(loaded, row.rowKey) }));
      const [first] = replacements;
      const isOneRow = replacements.length === 1 && more.length === 0;
      return confirmWrite(
        async () => {
          const etags =
            isOneRow && first !== undefined
              ? [await table.replace({ partitionKey: id, ...first.replace }, first.etag)]
              : await table.transact(id, [...replacements, ...more]);
          if (etags === undefined || etags.includes(undefined)) return undefined;
          return { ...withChanges(loaded, changes), etags: new Map([...loaded.etags, ...etagsOf(rows, etags)]) };
        },
        async () => {
          const stored = await read(id);
          return replacements.every(({ replace, etag }) => isStored(replace, etag, stored))
            ? requestIn(stored)
            : undefined;
        },
        { isRepeated: true, onDoubt },
      );
    },

    /** Removes all rows by their versions. Returns false if the request was changed meanwhile, true if it is gone. */
    async remove({ request: { id }, etags }: LoadedRequest): Promise<boolean> {
      const removed = await table.transact(
        id,
        [...etags].map(([rowKey, etag]) => ({ remove: { rowKey }, etag })),
      );
      return removed !== undefined || (await load(id)) === undefined;
    },
  };
}

function etagOf({ etags }: LoadedRequest, rowKey: string): string {
  const etag = etags.get(rowKey);
  if (etag === undefined) throw new Error(`the request has no row ${rowKey}`);
  return etag;
}

/** Returns the ETags of written rows. @param written in the order of the rows */
const etagsOf = (rows: readonly WrittenRow[], written: readonly unknown[]): LoadedRequest["etags"] =>
  new Map(rows.map(({ rowKey }, index) => [rowKey, String(written[index])]));

/** Whether a row was written since it had the ETag `before`, with exactly the columns of `written`. */
function isStored(written: WrittenRow, before: string, stored: readonly Row[]): boolean {
  const { partitionKey, etag, ...row } = stored.find(({ rowKey }) => rowKey === written.rowKey) ?? {};
  return etag !== before && isDeepStrictEqual(row, written);
}

/** The events of a change, and how they are written. */
interface EventWrites {
  /** The changed request, which counts its events. */
  readonly request: CredentialRequest;
  /** Writes the index rows by which senders find the events. They come first. */
  readonly addDue: () => Promise<void>;
  /** The writes in the transaction of the change. */
  readonly rows: readonly Action[];
}

/** An event that a sink has not got. */
interface UndeliveredEvent {
  readonly at: Instant;
  /** What a log has of it. */
  readonly fields: Fields;
}

/** What the store and the jobs call of the events. `events/` implements it; without it no events are recorded. */
export interface RequestEvents {
  /** Returns the events of a change; undefined if there are none. They are written in the transaction of the change. */
  record(before: RequestValues, after: RequestValues): EventWrites | undefined;
  /** Removes the events and index rows of a request as it was read. Makes no call without events. */
  removeAll(request: CredentialRequest): Promise<void>;
  /** Returns the events of a request that a configured sink has not received. */
  undelivered(request: CredentialRequest): Promise<readonly UndeliveredEvent[]>;
  /**
   * Reads the events in the rows of a request in a backup. Returns a function that writes them, and those of the change
   * that the restore makes to the request: events that are not done are due at once. It returns the changed request
   * with the number of its events.
   */
  readBackup(rows: readonly Row[]): (before: RequestValues, after: RequestValues) => Promise<CredentialRequest>;
}
