import * as z from "zod";
import { hashOf } from "../../platform/crypto.ts";
import { type Immutable, storedInstant } from "../../platform/stored.ts";
import { between, type Instant, plus } from "../../platform/time.ts";

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

/** Hour, user id, and 32 random bytes in base64url. The value is opaque to clients. */
const valuePattern = /^(\d{4}-\d\d-\d\dT\d\d)\.([1-9]\d{0,15})\.[\w-]{43}$/;

/**
 * Creates a session and its value.
 * @param prefix that of the OTP key whose OTP was used
 */
export function createSession(
  { id: userId, epoch }: { readonly id: number; readonly epoch: number },
  prefix: string | undefined,
  now: Instant,
  { absoluteMs, random }: { readonly absoluteMs: number; readonly random: (bytes: number) => Uint8Array },
): { readonly value: string; readonly key: SessionKey; readonly session: Session } {
  const expiresAt = plus(now, absoluteMs);
  const hour = sessionHour(expiresAt);
  const value = `${hour}.${userId}.${Buffer.from(random(32)).toString("base64url")}`;
  const session = {
    userId,
    epoch,
    ...(prefix !== undefined && { prefix }),
    createdAt: now,
    accessedAt: now,
    expiresAt,
  };
  return { value, key: { userId, hour, hash: hashOf(value) }, session };
}

/** Parses a presented value. Returns the key of its session, or undefined for a text that is not a session value. */
export function sessionKey(value: string): SessionKey | undefined {
  const [, hour, id] = valuePattern.exec(value) ?? [];
  const userId = Number(id);
  return hour !== undefined && Number.isSafeInteger(userId) ? { userId, hour, hash: hashOf(value) } : undefined;
}

/** Returns the hour of a time. Sessions whose hour sorts before it have expired (A20). */
export const sessionHour = (time: Instant): string => time.slice(0, 13);

/** Returns whether a session is valid: within both time limits, and of the same user and epoch. */
export const isLive = (
  session: Session,
  user: { readonly id: number; readonly epoch: number },
  now: Instant,
  { idleMs }: { readonly idleMs: number },
): boolean =>
  user.id === session.userId &&
  user.epoch === session.epoch &&
  now < session.expiresAt &&
  between(session.accessedAt, now) < idleMs;
