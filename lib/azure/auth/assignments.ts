import type { OtpKeys } from "../../auth/store.ts";
import { conflict, retryOnConflict } from "../../retry-on-conflict.ts";
import type { Row } from "../tables/tables.ts";
import { assignmentEntry, changeEntry, type IndexEntry, indexRowOf, matchesEntry } from "./index/index-entries.ts";
import { removeStaleIndexRow } from "./index/stale-index-rows.ts";
import { changeUser, isCurrent, pointerTo, readSnapshot, type Snapshot } from "./index/user-snapshot.ts";
import {
  assignedKeyIn,
  assignedPrefix,
  headIn,
  holderPrefix,
  idKey,
  keyRow,
  ownerOf,
  schemaVersion,
} from "./rows/rows.ts";
import type { AuthTables } from "./rows/tables.ts";

/** Stores assignments: a row in the user's partition, and an index row in the OTP key's partition that points to the user. */
export function assignments(tables: AuthTables): Pick<OtpKeys, "assign" | "unassign"> {
  const { otpkeys } = tables;
  const withHolders = (prefix: string) => Array.fromAsync(otpkeys.query({ partitionKey: prefix, from: keyRow }));

  /**
   * Removes index rows that crashes left, which make a free key look taken. Reads a few, because many users can share a
   * key.
   */
  const removeSomeStale = async (entry: IndexEntry, rows: readonly Row[]) =>
    (await Promise.all(rows.slice(0, 8).map(row => removeStaleIndexRow(tables, entry, row)))).includes(true);

  /** Writes the index row and rewrites the key in one transaction: a deletion of the key that saw no holder gets a conflict. */
  const announce = async (key: Row, snapshot: Snapshot) => {
    const entry = assignmentEntry(tables, key.partitionKey, Number(ownerOf(key)));
    const written = await otpkeys.transact(key.partitionKey, [
      { merge: { rowKey: keyRow, schema: schemaVersion }, etag: key.etag },
      { upsert: indexRowOf(tables, snapshot, entry) },
    ]);
    return written !== undefined;
  };

  return {
    async assign(userRef, prefix, { onlyIfFree = false, epoch } = {}) {
      let at = userRef;
      return retryOnConflict(async () => {
        const [snapshot, rows] = await Promise.all([
          readSnapshot(tables, at, assignedPrefix + prefix),
          onlyIfFree ? withHolders(prefix) : otpkeys.get(prefix, keyRow).then(row => (row === undefined ? [] : [row])),
        ]);
        const key = rows.find(({ rowKey }) => rowKey === keyRow);
        if (snapshot === undefined) return "no_user";
        // The entry is written by the version of the row `user`, so the epoch is the same then.
        if (epoch !== undefined && epoch !== snapshot.user.epoch) return "no_user";
        at = pointerTo(snapshot);
        const keyId = ownerOf(key);
        if (key === undefined || keyId === undefined) return "no_key";
        const is = assignmentEntry(tables, prefix, keyId);
        if (matchesEntry(snapshot.row, snapshot.id, is)) return "assigned";
        // An index row is written by the version of `key`. So if two users find the key unassigned at the same time,
        // one of them gets a conflict, and then finds the key assigned.
        const own = holderPrefix + idKey(snapshot.id);
        const others = rows.filter(({ rowKey }) => rowKey !== keyRow && rowKey !== own);
        if (others.length > 0) return (await removeSomeStale(is, others)) ? conflict : "taken";
        const change = {
          was: undefined,
          is,
          head: headIn(snapshot.head, snapshot.id),
          announce: () => announce(key, snapshot),
        };
        return (await changeEntry(tables, snapshot, change)) ? "assigned" : conflict;
      });
    },

    async unassign(userRef, prefix) {
      let hasTried = false;
      return changeUser(tables, userRef, assignedPrefix + prefix, async snapshot => {
        // Absent after a try: that try may have succeeded, and its response was lost.
        if (snapshot === undefined) return hasTried;
        if (ownerOf(snapshot.row) !== snapshot.id) return (await isCurrent(tables, snapshot)) ? hasTried : conflict;
        hasTried = true;
        const was = assignmentEntry(tables, prefix, snapshot.row && assignedKeyIn(snapshot.row).id);
        const change = { was, is: undefined, head: headIn(snapshot.head, snapshot.id) };
        return (await changeEntry(tables, snapshot, change)) ? true : conflict;
      });
    },
  };
}
