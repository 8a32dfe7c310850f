import * as z from "zod";
import { rowColumns } from "../../platform/azure/row-columns.ts";
import { hashOf } from "../../platform/crypto.ts";
import { type Immutable, type Stored, storedInstant } from "../../platform/stored.ts";
import { between, hourOf, type Instant, plus } from "../../platform/time.ts";
import type { User } from "../store.ts";
import { type AuthTables, confirmRemoval, schemaVersion } from "../tables.table.ts";
import { readUser } from "../users/names.table.ts";

const sessionSchema = () =>
  z.object({
    userId: z.int().positive(),
    /** The user's epoch as read at the login. */
    epoch: z.int().nonnegative(),
    /** Prefix of the OTP key whose OTP was used. */
    prefix: z.string().exactOptional(),
    createdAt: storedInstant,
    accessedAt: storedInstant,
    /** Absolute expiry. */
    expiresAt: storedInstant,
  });
export type Session = Immutable<z.output<ReturnType<typeof sessionSchema>>>;

/**
 * Location of a session and of its user. All of it is part of the session's value, so that both are read in parallel
 * (A15).
 */
export interface SessionKey {
  readonly userId: number;
  /** Hour of the absolute expiry, `2026-11-21T13`. */
  readonly hour: string;
  /** SHA-256 of the whole value in base64url. */
  readonly hash: string;
}

/** Hour, user id, and 32 random bytes in base64url. The value is opaque to clients. */
const valuePattern = /^(\d{4}-\d\d-\d\dT\d\d)\.([1-9]\d{0,15})\.[\w-]{43}$/;

/**
 * Creates a session and its value.
 * @param prefix that of the OTP key whose OTP was used
 */
export function createSession(
  { id: userId, epoch }: Pick<User, "id" | "epoch">,
  prefix: string | undefined,
  now: Instant,
  { absoluteMs, random }: { readonly absoluteMs: number; readonly random: (bytes: number) => Uint8Array },
) {
  const expiresAt = plus(now, absoluteMs);
  const hour = hourOf(expiresAt);
  const value = `${hour}.${userId}.${Buffer.from(random(32)).toString("base64url")}`;
  const used = prefix === undefined ? {} : { prefix };
  const session: Session = { userId, epoch, ...used, createdAt: now, accessedAt: now, expiresAt };
  return { value, key: { userId, hour, hash: hashOf(value) }, session };
}

/** Parses a presented value. Returns the key of its session, or undefined for a text that is not a session value. */
export function sessionKey(value: string): SessionKey | undefined {
  const [, hour, id] = valuePattern.exec(value) ?? [];
  const userId = Number(id);
  return hour !== undefined && Number.isSafeInteger(userId) ? { userId, hour, hash: hashOf(value) } : undefined;
}

/** Returns whether a session is valid: within both time limits, and of the same user and epoch. */
export const isLive = (
  session: Session,
  user: Pick<User, "id" | "epoch">,
  now: Instant,
  { idleMs }: { readonly idleMs: number },
): boolean =>
  user.id === session.userId &&
  user.epoch === session.epoch &&
  now < session.expiresAt &&
  between(session.accessedAt, now) < idleMs;

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
  const { sessions, random } = tables;
  return {
    /**
     * Creates a session for a user as read at the login, and returns its value. If the user's password was reset in
     * between, the session is of an old epoch and never valid.
     */
    async create(
      user: Pick<User, "id" | "epoch">,
      prefix: string | undefined,
      now: Instant,
      { absoluteMs }: { readonly absoluteMs: number },
    ): Promise<string> {
      const { value, key, session } = createSession(user, prefix, now, { absoluteMs, random });
      // Values are unique, so a row that exists was written by an earlier try of this call.
      const columns = sessionColumns.toColumns(session);
      await sessions.insert({ partitionKey: sessionPartition(key), rowKey: key.hash, ...columns });
      return value;
    },

    /** Reads the session, and in parallel the user of its value. The caller checks whether they belong together. */
    async find(key: SessionKey) {
      const [row, user] = await Promise.all([
        sessions.get(sessionPartition(key), key.hash),
        readUser(tables, { by: "id", id: key.userId }),
      ]);
      const session: Stored<Session> | undefined = row && { value: sessionColumns.fromRow(row), version: row.etag };
      return { session, user };
    },

    /** Writes a session by version. Returns undefined if it has ended or changed; never recreates an ended one. */
    async save(
      key: SessionKey,
      { value, version }: Stored<Session>,
      { epoch, accessedAt }: Pick<Session, "epoch" | "accessedAt">,
    ): Promise<Stored<Session> | undefined> {
      const changed = { partitionKey: sessionPartition(key), rowKey: key.hash, epoch, accessedAt };
      const etag = await sessions.merge(changed, version);
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
