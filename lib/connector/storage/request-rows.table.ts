import { isUnavailable } from "../../platform/fault.ts";
import type { Action, Tables } from "../../platform/tables/tables.ts";
import type { Changes, LoadedRequest, Stored } from "../deps.ts";
import type { CredentialRequest, SecurityKey } from "../model/request.ts";
import { fromKeyRow, fromRequestRow, toKeyColumns, toRequestColumns } from "./rows.table.ts";

/** Table of the credential requests: one partition for each request, with its row and the rows of its security keys. */
export const requestsTable = "credentialrequests";
export const requestRow = "request";
export const keyPrefix = "key:";

/** Returns the rows of credential requests, without those that index them. */
export function requestRows(tables: Tables) {
  const table = tables.table(requestsTable);

  const load = async (id: string): Promise<LoadedRequest | undefined> => {
    // The rows of events sort before those of the security keys.
    const rows = await Array.fromAsync(table.query({ partitionKey: id, from: keyPrefix }));
    const row = rows.find(({ rowKey }) => rowKey === requestRow);
    if (row === undefined) return undefined;
    const keys = rows.filter(({ rowKey }) => rowKey.startsWith(keyPrefix));
    return {
      request: { value: fromRequestRow(row), etag: row.etag },
      keys: keys.map(key => ({ value: fromKeyRow(key), etag: key.etag })),
    };
  };

  return {
    load,

    /** Inserts all rows in one transaction. */
    async insert(request: CredentialRequest, keys: readonly SecurityKey[]): Promise<LoadedRequest> {
      const actions = [
        { insert: { rowKey: requestRow, ...toRequestColumns(request) } },
        ...keys.map(key => ({ insert: { rowKey: keyPrefix + key.id, ...toKeyColumns(key) } })),
      ];
      let doubt: unknown;
      const etags = await table.transact(request.id, actions).catch((error: unknown) => {
        if (!isUnavailable(error)) throw error;
        doubt = error;
        return undefined;
      });
      // Ids are unique, so a row that exists was written by this call: its response was lost.
      if (etags === undefined) return (await load(request.id)) ?? raise(doubt ?? vanished(request.id));
      const [requestEtag = "", ...keyEtags] = etags.map(etag => etag ?? "");
      return {
        request: { value: request, etag: requestEtag },
        keys: keys.map((value, position) => ({ value, etag: keyEtags[position] ?? "" })),
      };
    },

    /**
     * Replaces the changed rows in one transaction, each by the ETag that was read. Returns undefined on a conflict.
     * @param more the writes of other rows in the same transaction: the events of the change
     */
    async save(
      loaded: LoadedRequest,
      changes: Changes,
      more: readonly Action[] = [],
    ): Promise<LoadedRequest | undefined> {
      const { id } = loaded.request.value;
      const replacements = replacementsOf(loaded, changes);
      const [only] = replacements;
      const etags =
        replacements.length === 1 && only !== undefined && more.length === 0
          ? [await table.replace({ partitionKey: id, ...only.replace }, only.etag)]
          : await table.transact(id, [...replacements, ...more]);
      if (etags === undefined || etags.includes(undefined)) return undefined;
      return withChanges(loaded, changes, etags.map(String));
    },

    async remove({ request, keys }: LoadedRequest): Promise<void> {
      await table.transact(request.value.id, [
        ...keys.map(key => ({ remove: { rowKey: keyPrefix + key.value.id } })),
        { remove: { rowKey: requestRow } },
      ]);
    },
  };
}

const vanished = (id: string) => new Error(`credential request ${id} vanished while it was written`);

function raise(error: unknown): never {
  throw error;
}

function replacementsOf(loaded: LoadedRequest, { request, keys = [] }: Changes) {
  const ofKey = (key: SecurityKey) => {
    const stored = loaded.keys.find(({ value }) => value.id === key.id);
    if (stored === undefined) throw new Error(`the request has no security key ${key.id}`);
    return { replace: { rowKey: keyPrefix + key.id, ...toKeyColumns(key) }, etag: stored.etag };
  };
  const ofRequest =
    request === undefined
      ? []
      : [{ replace: { rowKey: requestRow, ...toRequestColumns(request) }, etag: loaded.request.etag }];
  return [...ofRequest, ...keys.map(ofKey)];
}

function withChanges(loaded: LoadedRequest, { request, keys = [] }: Changes, etags: readonly string[]): LoadedRequest {
  const [first = "", ...rest] = etags;
  const keyEtags = request === undefined ? etags : rest;
  const changed = new Map(keys.map((value, position) => [value.id, { value, etag: keyEtags[position] ?? "" }]));
  const stored: Stored<CredentialRequest> = request === undefined ? loaded.request : { value: request, etag: first };
  return { request: stored, keys: loaded.keys.map(key => changed.get(key.value.id) ?? key) };
}
