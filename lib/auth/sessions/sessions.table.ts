import { createHash } from "node:crypto";
import * as z from "zod";
import { type Immutable, type Stored, storedInstant } from "../../platform/stored.ts";
import { confirmRemoval } from "../../platform/tables/confirm-write.ts";
import { rowColumns } from "../../platform/tables/row-columns.ts";
import { between, hours, type Instant, instant, plus } from "../../platform/time.ts";
import { type AuthTables, idKey, schemaVersion } from "../storage/tables.table.ts";
import type { User } from "../store.ts";
import { userIn, userRow } from "../users/user-rows.table.ts";

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

/**
 * Creates a session and its value. The value is opaque to clients: base64url, 60 characters, of format, hour of
 * absolute expiry, user id and 32 random bytes.
 */
export function createSession({
  user,
  prefix,
  now,
  absoluteMs,
  random,
}: {
  readonly user: { readonly id: number; readonly epoch: number };
  /** Prefix of the OTP key whose OTP was used. */
  readonly prefix?: string | undefined;
  readonly now: Instant;
  readonly absoluteMs: number;
  readonly random: (bytes: number) => Uint8Array;
}): { readonly value: string; readonly key: SessionKey; readonly session: Session } {
  const expiresAt = plus(now, absoluteMs);
  const head = Buffer.alloc(13);
  head.writeUInt8(format);
  head.writeUInt32BE(hourOf(expiresAt), 1);
  head.writeBigUInt64BE(BigInt(user.id), 5);
  const value = Buffer.concat([head, random(32)]).toString("base64url");
  const session = { userId: user.id, epoch: user.epoch, createdAt: now, accessedAt: now, expiresAt };
  return {
    value,
    key: { userId: user.id, hour: textOfHour(hourOf(expiresAt)), hash: hashOf(value) },
    session: prefix === undefined ? session : { ...session, prefix },
  };
}

/** Parses a presented value. Returns the key of its session, or undefined for a text that is not a session value. */
export function sessionKey(value: string): SessionKey | undefined {
  if (!/^[A-Za-z0-9_-]{60}$/.test(value)) return undefined;
  const bytes = Buffer.from(value, "base64url");
  const hour = bytes.readUInt32BE(1);
  const userId = Number(bytes.readBigUInt64BE(5));
  if (bytes.readUInt8() !== format || hour > lastHour || !Number.isSafeInteger(userId)) return undefined;
  return { userId, hour: textOfHour(hour), hash: hashOf(value) };
}

/** Returns the hour of a time. Sessions whose hour sorts before it have expired (A20). */
export const sessionHour = (now: Instant): string => textOfHour(hourOf(now));

/** Returns whether a session is valid: within both time limits, and of the same user and epoch. */
export function isLive(
  session: Session,
  user: { readonly id: number; readonly epoch: number } | undefined,
  now: Instant,
  { idleMs }: { readonly idleMs: number },
): boolean {
  return (
    user?.id === session.userId &&
    user.epoch === session.epoch &&
    between(now, session.expiresAt) > 0 &&
    between(session.accessedAt, now) < idleMs
  );
}

/** Whether the access time of a session is due to be written. Write it by a merge, never an insert. */
export const isTouchDue = ({ accessedAt }: Session, now: Instant, { touchMs }: { readonly touchMs: number }): boolean =>
  between(accessedAt, now) >= touchMs;

/** First byte of every value: distinguishes this layout from later ones. */
const format = 1;

/** The last hour of the year 9999: the text of later hours does not sort. */
const lastHour = Math.floor(Date.UTC(9999, 11, 31, 23) / hours(1));

const hourOf = (time: Instant): number => Math.floor(Date.parse(time) / hours(1));

/** Returns a text such as `2031-01-31T07`. */
const textOfHour = (hour: number): string => instant(hour * hours(1)).slice(0, 13);

const hashOf = (value: string): string => createHash("sha256").update(value, "utf8").digest("base64url");

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

export const sessionColumns = rowColumns<Session>({ kind: "session", version: schemaVersion }, sessionSchema);

/** Storage of sessions. Those whose absolute expiry is in the same hour share a few partitions (A20). */
export function sessionTable({ sessions, users }: AuthTables) {
  return {
    async create(key: SessionKey, session: Session): Promise<void> {
      // Values are unique, so a row that exists was written by an earlier try of this call.
      await sessions.insert({ ...rowOf(key), ...sessionColumns.toColumns(session) });
    },

    /** Reads the session, and in parallel the user of its value. The caller checks whether they belong together. */
    async find(
      key: SessionKey,
    ): Promise<{ readonly session?: Stored<Session>; readonly user?: Stored<User> | undefined }> {
      const { partitionKey, rowKey } = rowOf(key);
      const [row, userFound] = await Promise.all([
        sessions.get(partitionKey, rowKey),
        users.get(idKey(key.userId), userRow),
      ]);
      const user = userIn(userFound);
      return {
        ...(row && { session: { value: sessionColumns.fromRow(row), version: row.etag } }),
        ...(user && { user }),
      };
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
