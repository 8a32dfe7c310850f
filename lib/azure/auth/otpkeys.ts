import type { OtpKey, OtpKeySummary, OtpKeys } from "../../auth/store.ts";
import { conflict, retryOnConflict } from "../../retry-on-conflict.ts";
import { finishOrLog } from "../tables/finish-or-log.ts";
import { mapConcurrently, removeRows, touchRow } from "../tables/row-batches.ts";
import { parseRow, readOrLog } from "../tables/row-schema.ts";
import type { Entity, Row } from "../tables/tables.ts";
import { assignments } from "./assignments.ts";
import { indexTemporaryCode, insertSpentOtp } from "./clean-up/expiry-index.ts";
import { sweepKey } from "./clean-up/sweep.ts";
import { createKey, createKeys } from "./create-otpkeys.ts";
import { filteredListPage, type ListOwners, listPage } from "./index/id-lists.ts";
import { assignmentEntry, removeIndexRow, userReferencedBy } from "./index/index-entries.ts";
import { keyWithAttributes, readAssignment } from "./index/key-rows.ts";
import { listRowKeys, markClean, markDirty } from "./index/list-rows.ts";
import { listedKeySchema, prefixSchema } from "./rows/row-schemas.ts";
import { attributesIn, fromKeyRow, keyRow, newWriteId, ownerOf, toKeyColumns } from "./rows/rows.ts";
import type { AuthTables } from "./rows/tables.ts";

const list = "otpkeys";

export function otpKeyStore(tables: AuthTables): OtpKeys {
  const { otpkeys } = tables;

  /** Reads an OTP key and the index rows of its possible holders, in one read. */
  const withHolders = async (prefix: string) => {
    const rows = await Array.fromAsync(otpkeys.query({ partitionKey: prefix, from: keyRow }));
    return {
      key: rows.find(({ rowKey }) => rowKey === keyRow),
      holders: rows.filter(({ rowKey }) => rowKey !== keyRow),
    };
  };

  const replaceKey = async (row: Entity, version: string): Promise<string | undefined> => {
    const etag = await otpkeys.replace(row, version);
    if (etag !== undefined) return etag;
    const existing = await otpkeys.get(row.partitionKey, keyRow);
    // The row is this call's own if the response to an earlier try was lost. Used up again, its OTP would be a replayed one.
    return existing?.writeId === row.writeId ? existing?.etag : undefined;
  };

  return {
    ...assignments(tables),
    spendOtp: (prefix, otpHash, until) => insertSpentOtp(tables, prefix, otpHash, until),

    async find(prefix) {
      const row = await otpkeys.get(prefix, keyRow);
      return row && fromKeyRow(row);
    },

    async findHolders(prefix) {
      const { key, holders } = await withHolders(prefix);
      if (key === undefined) return undefined;
      const entry = assignmentEntry(tables, prefix, Number(ownerOf(key)));
      return {
        key: fromKeyRow(key),
        candidates: holders.map(row => ({ by: "userHash", ...userReferencedBy(entry, row) })),
      };
    },

    async view(prefix, of) {
      const [assigned, rows] = await Promise.all([
        of && readAssignment(tables, of, prefix),
        keyWithAttributes(tables, prefix),
      ]);
      const row = rows.find(({ rowKey }) => rowKey === keyRow);
      const id = ownerOf(row);
      if (row === undefined || id === undefined || assigned?.(id) === false) return undefined;
      return { key: fromKeyRow(row), attributes: attributesIn(rows, id) };
    },

    create: given => createKey(tables, given),
    createMany: given => createKeys(tables, given),

    async save({ value: { id, prefix, enabled, createdAt, temporaryCode }, version }, given) {
      const next: OtpKey = { ...given, id, prefix, createdAt };
      const shown = { prefix, enabled: next.enabled };
      const isUnchanged = next.enabled === enabled;
      const dirty = isUnchanged ? [] : await markDirty(tables, [listRowKeys(list, id)], shown);
      const row = { partitionKey: prefix, rowKey: keyRow, ...toKeyColumns(next), writeId: newWriteId(tables) };
      const isIssued = next.temporaryCode?.hash !== undefined && next.temporaryCode.hash !== temporaryCode?.hash;
      // Without the index row the code still expires; only its hash stays until the OTP key is enabled or gets another code.
      const ends = isIssued ? next.temporaryCode.validUntil : undefined;
      const indexed = ends === undefined ? undefined : indexTemporaryCode(tables, { ...row, ends });
      // If the OTP key is not written, the index row is never awaited: its rejection must not end the process.
      indexed?.catch(() => {});
      const etag = await replaceKey(row, version);
      if (etag === undefined) return undefined;
      await finishOrLog(tables.log, () => Promise.all([indexed, markClean(tables, dirty, shown)]));
      return { value: next, version: etag };
    },

    async remove(prefix) {
      let removing: number | undefined;
      let unreadable: readonly Row[] = [];
      const id = await retryOnConflict(async () => {
        const { key, holders } = await withHolders(prefix);
        const keyId = ownerOf(key);
        if (key === undefined || keyId === undefined || (removing !== undefined && removing !== keyId)) return removing;
        const entry = assignmentEntry(tables, prefix, keyId);
        // While the key exists its assignments are true, so they are removed first. A new one since then changes the key's version.
        const removed = await mapConcurrently(holders, holder =>
          readOrLog(tables.log, () => removeIndexRow(tables, entry, holder, { keepEntry: false })),
        );
        if (removed.includes(conflict)) return conflict;
        // The assignment of a user whose row cannot be read stays. It has the id of this key, so it does not count for another one.
        unreadable = holders.filter((_, index) => removed[index] === undefined);
        removing = keyId;
        await markDirty(tables, [listRowKeys(list, keyId)], { prefix, enabled: key.enabled === true });
        return (await otpkeys.remove(prefix, keyRow, key.etag)) ? removing : conflict;
      });
      if (id === undefined) return false;
      await finishOrLog(tables.log, () =>
        Promise.all([sweepKey(tables, { prefix, id }), removeRows(otpkeys, unreadable)]),
      );
      return true;
    },

    list: (range, { enabled, stopped, unusedSince } = {}) => {
      const owners = listedKeys(tables);
      if (enabled === undefined && stopped === undefined && unusedSince === undefined)
        return listPage(tables, list, owners, range);
      const readsKey = stopped !== undefined || unusedSince !== undefined;
      const isMatch = async (entry: OtpKeySummary, listed: Row) => {
        if (enabled !== undefined && entry.enabled !== enabled) return false;
        if (!readsKey) return true;
        const row = await owners.find(listed);
        const key = row && fromKeyRow(row).value;
        return (
          key !== undefined &&
          (stopped === undefined || key.stopped === stopped) &&
          (unusedSince === undefined || (key.lastUsed ?? key.createdAt) < unusedSince)
        );
      };
      return filteredListPage(tables, list, owners, range, { isMatch, createdBefore: unusedSince });
    },
  };
}

const listedKeys = ({ otpkeys, ...rest }: AuthTables): ListOwners<OtpKeySummary> => ({
  fromListed: row =>
    parseRow("list", row, listedKeySchema, { id: Number(row.rowKey), prefix: row.prefix, enabled: row.enabled }),
  find: async listed => {
    const row = await otpkeys.get(prefixIn(listed), keyRow);
    return ownerOf(row) === Number(listed.rowKey) ? row : undefined;
  },
  fromRow: row => {
    const { id, prefix, enabled } = fromKeyRow(row).value;
    return { id, prefix, enabled };
  },
  touch: row => touchRow(otpkeys, row),
  shown: row => ({ prefix: row.partitionKey, enabled: fromKeyRow(row).value.enabled }),
  isRowOf: () => true,
  sweep: row => sweepKey({ otpkeys, ...rest }, { prefix: prefixIn(row), id: Number(row.rowKey) }),
});

const prefixIn = (row: Row): string => parseRow("list", row, prefixSchema, row).prefix;
