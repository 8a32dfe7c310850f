import type { OtpKeys } from "../../auth/store.ts";
import { conflict, retryOnConflict } from "../tables/retry-on-conflict.ts";
import type { Row } from "../tables/tables.ts";
import { agrees, assignmentEntry, changeEntry, indexRowOf, type Snapshot, snapshotOf } from "./index/index-entries.ts";
import { locate } from "./index/locate.ts";
import { assignedKeyIn, assignedPrefix, headIn, keyRow, ownerOf, schemaVersion } from "./rows/rows.ts";
import type { AuthTables } from "./rows/tables.ts";

/** Who has which key: a row of the user's, and in the key's partition the index row that points to the user. */
export function assignments(shelves: AuthTables): Pick<OtpKeys, "assign" | "unassign"> {
  const { otpkeys } = shelves;

  /** Rewrites the key with it, so that whoever is about to remove the key because nobody has it begins again. */
  const announce = async (key: Row, ground: Snapshot) => {
    const fact = assignmentEntry(shelves, key.partitionKey, Number(ownerOf(key)));
    const written = await otpkeys.transact(key.partitionKey, [
      { merge: { rowKey: keyRow, schema: schemaVersion }, etag: key.etag },
      { upsert: indexRowOf(shelves, ground, fact) },
    ]);
    return written !== undefined;
  };

  return {
    async assign(whom, prefix) {
      const at = await locate(shelves, whom);
      if (at === undefined) return "no_user";
      return retryOnConflict(async () => {
        const [ground, key] = await Promise.all([
          snapshotOf(shelves, at, assignedPrefix + prefix),
          otpkeys.get(prefix, keyRow),
        ]);
        if (ground === undefined) return "no_user";
        const keyId = ownerOf(key);
        if (key === undefined || keyId === undefined) return "no_key";
        const is = assignmentEntry(shelves, prefix, keyId);
        if (agrees(ground.row, ground.id, is)) return "assigned";
        const change = {
          was: undefined,
          is,
          head: headIn(ground.head, ground.id),
          announce: () => announce(key, ground),
        };
        return (await changeEntry(shelves, ground, change)) ? "assigned" : conflict;
      });
    },

    async unassign(whom, prefix) {
      const at = await locate(shelves, whom);
      if (at === undefined) return false;
      let tried = false;
      return retryOnConflict(async () => {
        const ground = await snapshotOf(shelves, at, assignedPrefix + prefix);
        // Gone after a try of ours: it may have been this one, its answer lost.
        if (ground === undefined || ownerOf(ground.row) !== ground.id) return tried;
        tried = true;
        const was = assignmentEntry(shelves, prefix, ground.row && assignedKeyIn(ground.row).id);
        const change = { was, is: undefined, head: headIn(ground.head, ground.id) };
        return (await changeEntry(shelves, ground, change)) ? true : conflict;
      });
    },
  };
}
