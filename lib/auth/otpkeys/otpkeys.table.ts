import * as z from "zod";
import { rowColumns } from "../../platform/azure/row-columns.ts";
import { confirmWrite, type Stored, storedInstant } from "../../platform/stored.ts";
import type { Instant } from "../../platform/time.ts";
import { attributeColumns, attributesIn, attributesRow } from "../attributes/attribute-rows.table.ts";
import type { Attributes } from "../attributes/attributes.ts";
import { holderPrefix } from "../hints.table.ts";
import { newKeyId } from "../ids.ts";
import type { KeyHolders, NewOtpKey, OtpKey, OtpKeyFilter, Range } from "../store.ts";
import {
  type AuthTables,
  idAtEnd,
  newWriteId,
  nonePartition,
  replaceRow,
  saveExpiring,
  schemaVersion,
} from "../tables.table.ts";
import type { UserRef } from "../users/username.ts";
import { addAssignment, removeAssignment } from "./assignments.table.ts";
import { keyIn, keyRow, otpKeyColumns, readKeyRows } from "./key-rows.table.ts";
import { listKeys } from "./list-keys.table.ts";
import { removeKey } from "./remove-key.table.ts";

/** Storage of OTP keys. */
export function otpKeyTable(tables: AuthTables) {
  const { otpkeys, now, random } = tables;

  const find = async (prefix: string): Promise<Stored<OtpKey> | undefined> => {
    const row = await otpkeys.get(prefix, keyRow);
    return row && keyIn(row);
  };

  return {
    find,

    /**
     * Inserts an OTP key without attributes, or returns the one that has the prefix. Returns undefined if that was
     * deleted meanwhile.
     */
    async create(given: NewOtpKey): Promise<{ readonly key: Stored<OtpKey>; readonly isNew: boolean } | undefined> {
      const value: OtpKey = { ...given, id: newKeyId(random), createdAt: now() };
      const inserts = [
        { insert: { rowKey: keyRow, ...otpKeyColumns.toColumns(value) } },
        { insert: { rowKey: attributesRow, ...attributeColumns({}) } },
      ];
      const key = await confirmWrite(
        async () => {
          const [version] = (await otpkeys.transact(given.prefix, inserts)) ?? [];
          return version === undefined ? undefined : { value, version };
        },
        () => find(given.prefix),
      );
      return key && { key, isNew: key.value.id === value.id };
    },

    /** Reads an OTP key that cannot exist. Each text has a partition of its own, so that many such reads heat none. */
    findNone: async (text: string): Promise<void> => void (await otpkeys.get(nonePartition(text), keyRow)),

    /** Returns an OTP key and the users to whom it may be assigned. Their rows decide. */
    async findHolders(prefix: string): Promise<KeyHolders | undefined> {
      const rows = await Array.fromAsync(otpkeys.query({ partitionKey: prefix, from: keyRow }));
      const key = rows.find(({ rowKey }) => rowKey === keyRow);
      const holders = rows.filter(({ rowKey }) => rowKey.startsWith(holderPrefix));
      return key && { key: keyIn(key), userIds: holders.map(({ rowKey }) => idAtEnd(rowKey)) };
    },

    /** Returns undefined if there is no such OTP key, or if it is not assigned to the user `of`. */
    async view(
      prefix: string,
      of?: UserRef,
    ): Promise<{ readonly key: Stored<OtpKey>; readonly attributes: Attributes } | undefined> {
      const rows = await readKeyRows(tables, prefix, of);
      return rows && { key: keyIn(rows.key), attributes: attributesIn(rows.attributes) };
    },

    /**
     * Writes all columns but prefix, id and creation time, by version: the use or failure of an OTP counts exactly once.
     * A lost response is found out: a repeated check would report the OTP as replayed. Returns undefined after a
     * conflict.
     */
    async save(
      { value: { id, prefix, createdAt }, version }: Stored<OtpKey>,
      given: NewOtpKey,
    ): Promise<Stored<OtpKey> | undefined> {
      const value: OtpKey = { ...given, id, prefix, createdAt };
      const row = { partitionKey: prefix, rowKey: keyRow, ...otpKeyColumns.toColumns(value) };
      const written = await replaceRow(tables, otpkeys, row, version);
      return written === undefined ? undefined : { value, version: written };
    },

    remove: (prefix: string) => removeKey(tables, prefix),
    list: (range: Range, filter: OtpKeyFilter = {}) => listKeys(tables, range, filter),
    assign: (userRef: UserRef, prefix: string, options?: Parameters<typeof addAssignment>[3]) =>
      addAssignment(tables, userRef, prefix, options),
    unassign: (userRef: UserRef, prefix: string) => removeAssignment(tables, userRef, prefix),
    spendOtp: (prefix: string, otpHash: string, ends: Instant) => spendOtp(tables, prefix, otpHash, ends),
  };
}

/** The row of an OTP that was used, under its prefix and its hash. */
export const spentColumns = rowColumns({ kind: "spent OTP", version: schemaVersion }, () =>
  z.object({ ends: storedInstant }),
);

/**
 * Records an OTP of kind `remote` as used (A8). Returns false if it was used before.
 * @param otpHash SHA-256 in base64url
 * @param ends when the record may be deleted
 */
export async function spendOtp(tables: AuthTables, prefix: string, otpHash: string, ends: Instant): Promise<boolean> {
  const writeId = newWriteId(tables);
  const row = { partitionKey: prefix, rowKey: otpHash, ...spentColumns.toColumns({ ends }), ends, writeId };
  if ((await saveExpiring(tables, "spentotps", row, undefined)) !== undefined) return true;
  // The row is this call's own if the response to an earlier try was lost.
  return (await tables.spentotps.get(prefix, otpHash))?.writeId === writeId;
}
