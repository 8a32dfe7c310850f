import type { Sessions } from "../../auth/store.ts";
import { checkedVersion, fromSessionRow, fromUserRow, toSessionColumns, userRow } from "./rows/rows.ts";
import type { AuthTables } from "./rows/tables.ts";

/** A partition is an hour of absolute expiry (decision A20). */
export function sessionStore({ sessions, users }: AuthTables): Sessions {
  return {
    async begin({ hour, hash }, session) {
      // A value is never given twice: a row that is there was written by an earlier try of this very call.
      await sessions.insert({ partitionKey: hour, rowKey: hash, ...toSessionColumns(session) });
    },

    async find({ hour, hash, handle }) {
      const [session, user] = await Promise.all([sessions.get(hour, hash), users.get(handle, userRow)]);
      return { ...(session && { session: fromSessionRow(session) }), ...(user && { user: fromUserRow(user) }) };
    },

    async save({ hour, hash }, { value, version }, { epoch, accessedAt }) {
      const etag = await sessions.merge({ partitionKey: hour, rowKey: hash, epoch, accessedAt }, version);
      return etag === undefined ? undefined : { value: { ...value, epoch, accessedAt }, version: etag };
    },

    end: ({ hour, hash }) => sessions.remove(hour, hash),

    async endOfPrefix(prefix) {
      let ended = 0;
      for await (const row of sessions.scan()) {
        // Whatever its version: a session that was used meanwhile ends too.
        if (checkedVersion(row).prefix === prefix && (await sessions.remove(row.partitionKey, row.rowKey))) ended += 1;
      }
      return ended;
    },
  };
}
