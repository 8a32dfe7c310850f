import type { Fault } from "../../platform/fault.ts";
import type { Stored } from "../../platform/stored.ts";
import { confirmWrite, isStoredAs } from "../../platform/tables/confirm-write.ts";
import { rowColumns } from "../../platform/tables/row-columns.ts";
import type { Action, Row, Tables } from "../../platform/tables/tables.ts";
import type { Changes, LoadedRequest } from "../model/loaded-request.ts";
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
  const keys = rows.filter(({ rowKey }) => rowKey.startsWith(keyPrefix));
  return {
    request: { value: requestColumns.fromRow(row), version: row.etag },
    keys: keys.map(key => ({ value: securityKeyColumns.fromRow(key), version: key.etag })),
  };
}

const toRequestRow = (request: CredentialRequest) => ({ rowKey: requestRow, ...requestColumns.toColumns(request) });
const toKeyRow = (key: SecurityKey) => ({ rowKey: keyPrefix + key.id, ...securityKeyColumns.toColumns(key) });

/** Returns the rows of credential requests, without those that index them. */
export function requestRows(tables: Tables) {
  const table = tables.table(requestsTable);

  // The rows of events sort before those of the security keys.
  const load = async (id: string): Promise<LoadedRequest | undefined> =>
    requestIn(await Array.fromAsync(table.query({ partitionKey: id, from: keyPrefix })));

  const replace = async (
    loaded: LoadedRequest,
    changes: Changes,
    more: readonly Action[],
  ): Promise<LoadedRequest | undefined> => {
    const { id } = loaded.request.value;
    const replacements = replacementsOf(loaded, changes);
    const [only] = replacements;
    const etags =
      replacements.length === 1 && only !== undefined && more.length === 0
        ? [await table.replace({ partitionKey: id, ...only.replace }, only.etag)]
        : await table.transact(id, [...replacements, ...more]);
    if (etags === undefined || etags.includes(undefined)) return undefined;
    return withChanges(loaded, changes, etags.map(String));
  };

  return {
    load,

    /** Inserts all rows in one transaction. Returns the stored request if the id exists. */
    async insert(request: CredentialRequest, keys: readonly SecurityKey[]): Promise<LoadedRequest> {
      const actions = [{ insert: toRequestRow(request) }, ...keys.map(key => ({ insert: toKeyRow(key) }))];
      // Ids are unique, so a row that exists was written by this call: its response was lost.
      const stored = await confirmWrite(
        async () => {
          const etags = await table.transact(request.id, actions);
          return etags && withChanges(unstored(request, keys), { request, keys }, etags.map(String));
        },
        () => load(request.id),
      );
      if (stored === undefined) throw new Error(`credential request ${request.id} vanished while it was written`);
      return stored;
    },

    /**
     * Replaces the changed rows in one transaction, each by the ETag that was read. Returns undefined on a conflict. If
     * the response to the write is lost, or if there is a conflict, reads the rows: they are the result if they have
     * the changes. A write that storage did not answer and did not make is repeated once: if that succeeds, the first
     * one cannot take effect late.
     * @param more the writes of other rows in the same transaction: the events of the change
     * @param onDoubt called if storage did not answer the first write
     */
    save: (
      loaded: LoadedRequest,
      changes: Changes,
      more: readonly Action[] = [],
      onDoubt?: (error: Fault) => void,
    ): Promise<LoadedRequest | undefined> =>
      confirmWrite(
        () => replace(loaded, changes, more),
        async () => {
          const stored = await load(loaded.request.value.id);
          return stored !== undefined && hasChanges(loaded, stored, changes) ? stored : undefined;
        },
        { isRepeated: true, onDoubt },
      ),

    /** Removes all rows by their versions. Returns false if the request was changed meanwhile, true if it is gone. */
    async remove({ request, keys }: LoadedRequest): Promise<boolean> {
      const removed = await table.transact(request.value.id, [
        ...keys.map(key => ({ remove: { rowKey: keyPrefix + key.value.id }, etag: key.version })),
        { remove: { rowKey: requestRow }, etag: request.version },
      ]);
      return removed !== undefined || (await load(request.value.id)) === undefined;
    },
  };
}

function replacementsOf(loaded: LoadedRequest, { request, keys = [] }: Changes) {
  const ofKey = (key: SecurityKey) => {
    const stored = loaded.keys.find(({ value }) => value.id === key.id);
    if (stored === undefined) throw new Error(`the request has no security key ${key.id}`);
    return { replace: toKeyRow(key), etag: stored.version };
  };
  const ofRequest = request === undefined ? [] : [{ replace: toRequestRow(request), etag: loaded.request.version }];
  return [...ofRequest, ...keys.map(ofKey)];
}

const unstored = (request: CredentialRequest, keys: readonly SecurityKey[]): LoadedRequest => ({
  request: { value: request, version: "" },
  keys: keys.map(value => ({ value, version: "" })),
});

function withChanges(loaded: LoadedRequest, { request, keys = [] }: Changes, etags: readonly string[]): LoadedRequest {
  const [first = "", ...rest] = etags;
  const keyEtags = request === undefined ? etags : rest;
  const changed = new Map(keys.map((value, position) => [value.id, { value, version: keyEtags[position] ?? "" }]));
  const stored: Stored<CredentialRequest> = request === undefined ? loaded.request : { value: request, version: first };
  return { request: stored, keys: loaded.keys.map(key => changed.get(key.value.id) ?? key) };
}

/** Whether the changed rows were written since they were loaded, with exactly these values. */
function hasChanges(loaded: LoadedRequest, stored: LoadedRequest, { request, keys = [] }: Changes): boolean {
  const isWritten = <T>(before: Stored<T> | undefined, current: Stored<T> | undefined, value: T): boolean =>
    current !== undefined && current.version !== before?.version && isStoredAs(value, current.value);
  const keyOf = ({ keys: all }: LoadedRequest, id: string) => all.find(({ value }) => value.id === id);
  return (
    (request === undefined || isWritten(loaded.request, stored.request, request)) &&
    keys.every(key => isWritten(keyOf(loaded, key.id), keyOf(stored, key.id), key))
  );
}
