import type { Sessions } from "../../auth/store.ts";
import { checkedVersion, fromSessionRow, fromUserRow, ownerOf, toSessionColumns, userRow } from "./rows/rows.ts";
import type { AuthTables } from "./rows/tables.ts";

/** Stores sessions. A partition contains the sessions whose absolute expiry is in the same hour (A20). */
export function sessionStore({ sessions, users }: AuthTables): Sessions {
  return {
    async create({ hour, hash }, session) {
      // Values are unique, so a row that exists was written by an earlier try of this call.
      await sessions.insert({ partitionKey: hour, rowKey: hash, ...toSessionColumns(session) });
    },

    async find({ hour, hash, userHash }) {
      const [session, user] = await Promise.all([sessions.get(hour, hash), users.get(userHash, userRow)]);
      // A row of a rename is no user: it has no id.
      const owner = ownerOf(user) === undefined ? undefined : user;
      return { ...(session && { session: fromSessionRow(session) }), ...(owner && { user: fromUserRow(owner) }) };
    },

    async save({ hour, hash }, { value, version }, { epoch, accessedAt }) {
      const etag = await sessions.merge({ partitionKey: hour, rowKey: hash, epoch, accessedAt }, version);
      return etag === undefined ? undefined : { value: { ...value, epoch, accessedAt }, version: etag };
    },

    end: ({ hour, hash }) => sessions.remove(hour, hash),

    async endByPrefix(prefix) {
      let ended = 0;
      for await (const row of sessions.scan()) {
        // Without a version, so that a session whose access time was just written ends too.
        if (checkedVersion(row).prefix === prefix && (await sessions.remove(row.partitionKey, row.rowKey))) ended += 1;
      }
      return ended;
    },
  };
}
