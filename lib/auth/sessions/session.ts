import * as z from "zod";
import { type Immutable, storedInstant } from "../../platform/stored.ts";
import { between, hours, type Instant, instant, plus } from "../../platform/time.ts";
import { hashOf } from "../storage/hash.ts";

/** Returns the schema of a session. */
export const sessionSchema = () =>
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
