import type { SessionKey } from "../../auth/model/session.ts";
import type { Sessions } from "../../auth/store.ts";
import { fromSessionRow, fromUserRow, ownerOf, toSessionColumns, userRow } from "./rows/rows.ts";
import { sessionPartition } from "./rows/session-partition.ts";
import type { AuthTables } from "./rows/tables.ts";

/** Stores sessions. Those whose absolute expiry is in the same hour share a few partitions (A20). */
export function sessionStore({ sessions, users }: AuthTables): Sessions {
  return {
    async create(key, session) {
      // Values are unique, so a row that exists was written by an earlier try of this call.
      await sessions.insert({ ...rowOf(key), ...toSessionColumns(session) });
    },

    async find(key) {
      const { partitionKey, rowKey } = rowOf(key);
      const [session, user] = await Promise.all([sessions.get(partitionKey, rowKey), users.get(key.userHash, userRow)]);
      // A row of a rename is no user: it has no id.
      const owner = ownerOf(user) === undefined ? undefined : user;
      return { ...(session && { session: fromSessionRow(session) }), ...(owner && { user: fromUserRow(owner) }) };
    },

    async save(key, { value, version }, { epoch, accessedAt }) {
      const etag = await sessions.merge({ ...rowOf(key), epoch, accessedAt }, version);
      return etag === undefined ? undefined : { value: { ...value, epoch, accessedAt }, version: etag };
    },

    end: key => sessions.remove(sessionPartition(key), key.hash),

    async endByPrefix(prefix) {
      let ended = 0;
      for await (const row of sessions.scan()) {
        // Without a check of the row: one that cannot be read must not keep the others alive. Without a version, so that a
        // session whose access time was just written ends too.
        if (row.prefix === prefix && (await sessions.remove(row.partitionKey, row.rowKey))) ended += 1;
      }
      return ended;
    },
  };
}

const rowOf = (key: SessionKey) => ({ partitionKey: sessionPartition(key), rowKey: key.hash });
