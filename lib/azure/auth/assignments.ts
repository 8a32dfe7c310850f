import type { OtpKeys } from "../../auth/store.ts";
import { lost, untilWon } from "../tables/retry-on-conflict.ts";
import type { Row } from "../tables/tables.ts";
import { assignmentFact, changeFact, type Ground, groundOf, indexRowOf, says } from "./index/index-entries.ts";
import { locate } from "./index/locate.ts";
import { assignedKeyIn, assignedPrefix, headIn, keyRow, ownerOf, schemaVersion } from "./rows/rows.ts";
import type { Shelves } from "./rows/tables.ts";

/** Who has which key: a row of the user's, and in the key's partition the index row that points to the user. */
export function assignments(shelves: Shelves): Pick<OtpKeys, "assign" | "unassign"> {
  const { otpkeys } = shelves;

  /** Rewrites the key with it, so that whoever is about to remove the key because nobody has it begins again. */
  const announce = async (key: Row, ground: Ground) => {
    const fact = assignmentFact(shelves, key.partitionKey, Number(ownerOf(key)));
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
      return untilWon(async () => {
        const [ground, key] = await Promise.all([
          groundOf(shelves, at, assignedPrefix + prefix),
          otpkeys.get(prefix, keyRow),
        ]);
        if (ground === undefined) return "no_user";
        const keyId = ownerOf(key);
        if (key === undefined || keyId === undefined) return "no_key";
        const is = assignmentFact(shelves, prefix, keyId);
        if (says(ground.row, ground.id, is)) return "assigned";
        const change = {
          was: undefined,
          is,
          head: headIn(ground.head, ground.id),
          announce: () => announce(key, ground),
        };
        return (await changeFact(shelves, ground, change)) ? "assigned" : lost;
      });
    },

    async unassign(whom, prefix) {
      const at = await locate(shelves, whom);
      if (at === undefined) return false;
      let tried = false;
      return untilWon(async () => {
        const ground = await groundOf(shelves, at, assignedPrefix + prefix);
        // Gone after a try of ours: it may have been this one, its answer lost.
        if (ground === undefined || ownerOf(ground.row) !== ground.id) return tried;
        tried = true;
        const was = assignmentFact(shelves, prefix, ground.row && assignedKeyIn(ground.row).id);
        const change = { was, is: undefined, head: headIn(ground.head, ground.id) };
        return (await changeFact(shelves, ground, change)) ? true : lost;
      });
    },
  };
}
