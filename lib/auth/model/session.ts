import { createHash } from "node:crypto";
import { between, hours, type Instant, instant, plus } from "../../time.ts";

export interface NewSession {
  readonly user: { readonly id: number; readonly epoch: number; readonly handle: string };
  /** Of the key whose OTP was used. */
  readonly prefix?: string | undefined;
  readonly now: Instant;
  readonly absoluteMs: number;
  readonly random: (bytes: number) => Uint8Array;
}

/**
 * A new session with its value, which is opaque to its holder: format, hour of absolute expiry, user's handle, 32 random bytes,
 * in 92 characters of base64url (decision A15).
 */
export function createSession({ user, prefix, now, absoluteMs, random }: NewSession): {
  readonly value: string;
  readonly key: SessionKey;
  readonly session: Session;
} {
  const expiresAt = plus(now, absoluteMs);
  const head = Buffer.alloc(5);
  head.writeUInt8(format);
  head.writeUInt32BE(hourOf(expiresAt), 1);
  const value = Buffer.concat([head, Buffer.from(user.handle, "base64url"), random(32)]).toString("base64url");
  const session = { userId: user.id, epoch: user.epoch, createdAt: now, accessedAt: now, expiresAt };
  return {
    value,
    key: { handle: user.handle, hour: textOfHour(hourOf(expiresAt)), hash: hashOf(value) },
    session: prefix === undefined ? session : { ...session, prefix },
  };
}

/** Where the session of a presented value would be. Undefined for a value that never was one. */
export function sessionKey(value: string): SessionKey | undefined {
  if (!/^[A-Za-z0-9_-]{92}$/.test(value)) return undefined;
  const bytes = Buffer.from(value, "base64url");
  const hour = bytes.readUInt32BE(1);
  if (bytes.readUInt8() !== format || hour > lastHour) return undefined;
  return { handle: bytes.subarray(5, 37).toString("base64url"), hour: textOfHour(hour), hash: hashOf(value) };
}

/** The hour of a moment; sessions of hours that sort before it have expired (decision A20). */
export const sessionHour = (now: Instant): string => textOfHour(hourOf(now));

/** Whether a session lives: within both limits, of a user who is still the same and of the same epoch (decision A15). */
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

/** The access time to merge into the row by its ETag, never to insert. Undefined while the stored one is new enough. */
export function accessToStore(
  { accessedAt }: Session,
  now: Instant,
  { touchMs }: { readonly touchMs: number },
): Instant | undefined {
  return between(accessedAt, now) >= touchMs ? now : undefined;
}

/** The epoch after every session of a user ends: at reset, password change and the end of all sessions. */
export const nextEpoch = (epoch: number): number => epoch + 1;

/** Unix seconds with a fraction, as the status answer has times. */
export const unixSeconds = (time: Instant): number => Date.parse(time) / 1000;

/** First byte of every value, so that another layout can be told from this one. */
const format = 1;

/** The last hour of the year 9999: later ones have no text that sorts. */
const lastHour = Math.floor(Date.UTC(9999, 11, 31, 23) / hours(1));

const hourOf = (time: Instant): number => Math.floor(Date.parse(time) / hours(1));

/** As in `2031-01-31T07`. */
const textOfHour = (hour: number): string => instant(hour * hours(1)).slice(0, 13);

const hashOf = (value: string): string => createHash("sha256").update(value, "utf8").digest("base64url");
export interface Session {
  readonly userId: number;
  /** The user's as read at the login. */
  readonly epoch: number;
  /** Of the key whose OTP was used. */
  readonly prefix?: string;
  readonly createdAt: Instant;
  readonly accessedAt: Instant;
  /** Absolute. */
  readonly expiresAt: Instant;
}

/** Where a session is found, and its user beside it: all of it stands in the session's value (decision A15). */
export interface SessionKey {
  /** The user's. */
  readonly handle: string;
  /** Hour of the absolute expiry, `2026-11-21T13`. */
  readonly hour: string;
  /** SHA-256 of the whole value in base64url. */
  readonly hash: string;
}
