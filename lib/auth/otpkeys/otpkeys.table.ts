import * as z from "zod";
import { type Stored, storedInstant } from "../../platform/stored.ts";
import { confirmWrite, finishOrLog } from "../../platform/tables/confirm-write.ts";
import { mapConcurrently } from "../../platform/tables/row-batches.ts";
import { rowColumns } from "../../platform/tables/row-columns.ts";
import type { Row } from "../../platform/tables/tables.ts";
import type { Instant } from "../../platform/time.ts";
import { attributeColumns, attributesIn, attributesRow } from "../attributes/attribute-rows.table.ts";
import type { Attributes } from "../attributes/attributes.ts";
import { indexExpiry, readPointed, type removeExpired, saveExpiring } from "../storage/expiry.table.ts";
import { holderPrefix } from "../storage/hints.table.ts";
import { newKeyId } from "../storage/ids.ts";
import { type AuthTables, idAtEnd, newWriteId, nonePartition, schemaVersion } from "../storage/tables.table.ts";
import type { KeyHolders, NewOtpKey, OtpKey, OtpKeyFilter, Range } from "../store.ts";
import { readUser } from "../users/names.table.ts";
import type { UserRef } from "../users/username.ts";
import { addAssignment, removeAssignment } from "./assignments.table.ts";
import { keyIn, keyPartition, keyRow, otpKeyColumns, readKeyRows } from "./key-rows.table.ts";
import { withoutHash } from "./kinds/temporary-code.ts";
import { listKeys } from "./list-keys.table.ts";
import { removeKey } from "./remove-key.table.ts";

/** Storage of OTP keys. */
export function otpKeyTable(tables: AuthTables) {
  const { otpkeys, now, random } = tables;

  /** Inserts an OTP key with its attributes. Returns undefined if the prefix is taken. */
  const create = async (given: NewOtpKey): Promise<Stored<OtpKey> | undefined> => {
    const value: OtpKey = { ...given, id: newKeyId(random), createdAt: now() };
    const partition = keyPartition(given.prefix);
    return confirmWrite(
      async () => {
        const etags = await otpkeys.transact(partition, [
          { insert: { rowKey: keyRow, ...otpKeyColumns.toColumns(value) } },
          { insert: { rowKey: attributesRow, ...attributeColumns({}) } },
        ]);
        return etags?.[0] === undefined ? undefined : { value, version: etags[0] };
      },
      async () => {
        const row = await otpkeys.get(partition, keyRow);
        return row?.id === value.id ? { value, version: row.etag } : undefined;
      },
    );
  };

  return {
    create,

    /**
     * Creates OTP keys of different prefixes in parallel. The results have the order of the keys: undefined if the
     * prefix is taken, or the reason why the key could not be written.
     */
    createMany: (given: readonly NewOtpKey[]): Promise<readonly PromiseSettledResult<Stored<OtpKey> | undefined>[]> =>
      mapConcurrently(given, async key => {
        const [result] = await Promise.allSettled([create(key)]);
        return result;
      }),

    async find(prefix: string): Promise<Stored<OtpKey> | undefined> {
      const row = await otpkeys.get(keyPartition(prefix), keyRow);
      return row && keyIn(row);
    },

    /** Reads an OTP key that cannot exist. Each text has a partition of its own, so that many such reads heat none. */
    findNone: async (text: string): Promise<void> => void (await otpkeys.get(nonePartition(text), keyRow)),

    /** Returns an OTP key and the users to whom it may be assigned. Their rows decide. */
    async findHolders(prefix: string): Promise<KeyHolders | undefined> {
      const rows = await Array.fromAsync(otpkeys.query({ partitionKey: keyPartition(prefix), from: keyRow }));
      const key = rows.find(({ rowKey }) => rowKey === keyRow);
      const holders = rows.filter(({ rowKey }) => rowKey.startsWith(holderPrefix));
      return key && { key: keyIn(key), userIds: holders.map(({ rowKey }) => idAtEnd(rowKey)) };
    },

    /** Returns undefined if there is no such OTP key, or if it is not assigned to the user `of`. */
    async view(
      prefix: string,
      of?: UserRef,
    ): Promise<{ readonly key: Stored<OtpKey>; readonly attributes: Attributes } | undefined> {
      const [user, rows] = await Promise.all([of && readUser(tables, of), readKeyRows(tables, prefix)]);
      const key = rows.key && keyIn(rows.key);
      if (key === undefined) return undefined;
      const isAssigned = user?.value.otpkeys.some(each => each.prefix === prefix && each.id === key.value.id);
      return of === undefined || isAssigned ? { key, attributes: attributesIn(rows.attributes) } : undefined;
    },

    /**
     * Writes all columns but prefix, id and creation time, by version: the use or failure of an OTP counts exactly once.
     * Returns undefined after a conflict.
     */
    async save(
      { value: { id, prefix, createdAt, temporaryCode }, version }: Stored<OtpKey>,
      given: NewOtpKey,
    ): Promise<Stored<OtpKey> | undefined> {
      const value: OtpKey = { ...given, id, prefix, createdAt };
      const writeId = newWriteId(tables);
      const partitionKey = keyPartition(prefix);
      const row = { partitionKey, rowKey: keyRow, ...otpKeyColumns.toColumns(value), writeId };
      const code = value.temporaryCode;
      const isIssued = code?.hash !== undefined && code.hash !== temporaryCode?.hash;
      // Without the index row the code still expires; only its hash stays until the OTP key is enabled or gets another
      // code.
      const indexed = isIssued ? indexExpiry(tables, "temporarycode", { ...row, ends: code.validUntil }) : undefined;
      // If the OTP key is not written, the index row is never awaited: its rejection must not end the process.
      indexed?.catch(() => {});
      const saved = await confirmWrite(
        async () => toStored(value, await otpkeys.replace(row, version)),
        async () => {
          const found = await otpkeys.get(partitionKey, keyRow);
          // If this call's own write succeeded and its response was lost, a repeated check would report the OTP as
          // replayed.
          return found?.writeId === writeId ? { value, version: found.etag } : undefined;
        },
      );
      if (saved !== undefined) await finishOrLog(tables.log, async () => indexed);
      return saved;
    },

    remove: (prefix: string) => removeKey(tables, prefix),
    list: (range: Range<string>, filter: OtpKeyFilter = {}) => listKeys(tables, range, filter),
    assign: (userRef: UserRef, prefix: string, options?: Parameters<typeof addAssignment>[3]) =>
      addAssignment(tables, userRef, prefix, options),
    unassign: (userRef: UserRef, prefix: string) => removeAssignment(tables, userRef, prefix),
    spendOtp: (prefix: string, otpHash: string, ends: Instant) => spendOtp(tables, prefix, otpHash, ends),
  };
}

const toStored = <T>(value: T, version: string | undefined): Stored<T> | undefined =>
  version === undefined ? undefined : { value, version };

/** Deletes the hash of a temporary code, if it has expired. The OTP key stays. */
export async function removeExpiredCode(tables: AuthTables, indexRow: Row): ReturnType<typeof removeExpired> {
  const row = await readPointed(tables, "temporarycode", indexRow);
  if (row === undefined) return "passed";
  const { value: key, version } = keyIn(row);
  const code = key.temporaryCode;
  if (code?.hash === undefined) return "passed";
  const { partitionKey, rowKey } = row;
  if (code.validUntil > tables.now()) {
    await indexExpiry(tables, "temporarycode", { partitionKey, rowKey, ends: code.validUntil });
    return "passed";
  }
  const columns = otpKeyColumns.toColumns({ ...key, temporaryCode: withoutHash(code) });
  return (await tables.otpkeys.replace({ partitionKey, rowKey, ...columns }, version)) ? "removed" : "changed";
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
  if ((await saveExpiring(tables, "spentotp", row, undefined)) !== undefined) return true;
  // The row is this call's own if the response to an earlier try was lost.
  return (await tables.spentOtps.get(prefix, otpHash))?.writeId === writeId;
}
