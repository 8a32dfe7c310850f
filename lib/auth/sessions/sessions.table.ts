import { rowColumns } from "../../platform/azure/row-columns.ts";
import type { Stored } from "../../platform/stored.ts";
import type { User } from "../store.ts";
import { type AuthTables, confirmRemoval, schemaVersion } from "../tables.table.ts";
import { readUser } from "../users/names.table.ts";
import { type Session, type SessionKey, sessionSchema } from "./session.ts";

/**
 * Number of partitions of an hour. One would be too few for 100,000 people who sign in within an hour (docs/scale.md).
 */
export const partitionsOfHour = 8;

/**
 * Returns the partition of a session, such as `2031-01-31T07_5`. The hour comes first, so that clean-up reads past
 * hours as one range of partitions.
 */
export function sessionPartition({ hour, hash }: Pick<SessionKey, "hour" | "hash">): string {
  const [byte = 0] = Buffer.from(hash, "base64url");
  return `${hour}_${byte % partitionsOfHour}`;
}

export const sessionColumns = rowColumns<Session>({ kind: "session", version: schemaVersion }, sessionSchema);

/** Storage of sessions. Those whose absolute expiry is in the same hour share a few partitions (A20). */
export function sessionTable(tables: AuthTables) {
  const { sessions } = tables;
  return {
    async create(key: SessionKey, session: Session): Promise<void> {
      // Values are unique, so a row that exists was written by an earlier try of this call.
      await sessions.insert({ ...rowOf(key), ...sessionColumns.toColumns(session) });
    },

    /** Reads the session, and in parallel the user of its value. The caller checks whether they belong together. */
    async find(
      key: SessionKey,
    ): Promise<{ readonly session: Stored<Session> | undefined; readonly user: Stored<User> | undefined }> {
      const { partitionKey, rowKey } = rowOf(key);
      const [row, user] = await Promise.all([
        sessions.get(partitionKey, rowKey),
        readUser(tables, { by: "id", id: key.userId }),
      ]);
      return { session: row && { value: sessionColumns.fromRow(row), version: row.etag }, user };
    },

    /** Writes a session by version. Returns undefined if it has ended or changed; never recreates an ended one. */
    async save(
      key: SessionKey,
      { value, version }: Stored<Session>,
      { epoch, accessedAt }: Pick<Session, "epoch" | "accessedAt">,
    ): Promise<Stored<Session> | undefined> {
      const etag = await sessions.merge({ ...rowOf(key), epoch, accessedAt }, version);
      return etag === undefined ? undefined : { value: { ...value, epoch, accessedAt }, version: etag };
    },

    /** Deletes a session. Returns false if there is no such session. */
    end: (key: SessionKey): Promise<boolean> => sessions.remove(sessionPartition(key), key.hash),

    /**
     * Deletes every session that was opened with an OTP of that prefix, and returns their number. Reads all sessions.
     */
    async endByPrefix(prefix: string): Promise<number> {
      let ended = 0;
      for await (const row of sessions.scan()) {
        // Without a check of the row: one that cannot be read must not keep the others alive. Without a version, so
        // that a session whose access time was just written ends too.
        if (row.prefix === prefix && (await confirmRemoval(sessions, row.partitionKey, row.rowKey))) ended += 1;
      }
      return ended;
    },
  };
}

const rowOf = (key: SessionKey) => ({ partitionKey: sessionPartition(key), rowKey: key.hash });
