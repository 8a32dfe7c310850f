import { timingSafeEqual } from "node:crypto";
import { type KeyRing, keyedHash } from "../../platform/crypto.ts";
import { between, type Instant, instant } from "../../platform/time.ts";

/**
 * The contents of a device token: a sign-in of this user, with the credentials of this epoch, was granted on this
 * device (A23).
 */
export interface Device {
  readonly userId: number;
  /** Credential epoch of the user at the sign-in. */
  readonly epoch: number;
  /** Random, below `deviceNumbers`. With user and epoch it names the throttle of the device. */
  readonly number: number;
  readonly issuedAt: Instant;
}

/**
 * Returns whether a sign-in of this user counts against the device: it belongs to the user, and no credential has
 * changed since.
 */
export const isDeviceOf = ({ userId, epoch }: Device, user: Pick<Device, "epoch"> & { readonly id: number }): boolean =>
  user.id === userId && user.epoch === epoch;

/**
 * Number of device throttles of a user. Devices of a user may share one, so that a caller who signs in often gets many
 * tokens but no more guesses.
 */
export const deviceNumbers = 8;

/** The contents, and their HMAC in base64url. */
const tokenPattern = /^(\d{1,16}(?:\.\d{1,16}){3})\.([\w-]{43})$/;

/**
 * Creates and checks device tokens, or password change tokens, which have the same contents. Their key is derived from
 * the current password pepper, so that every host has the same one, and no token is stored. Tokens become invalid when
 * the pepper is rotated.
 * @param purpose separates the keys, so that a token of one purpose is invalid for the other
 */
export function createDeviceTokens(
  pepper: Pick<KeyRing, "current">,
  purpose: "device tokens" | "password change tokens",
) {
  const tagOf = keyedHash(pepper, purpose);
  return {
    async issue({ userId, epoch, number, issuedAt }: Device): Promise<string> {
      const contents = [userId, epoch, number, Date.parse(issuedAt)].join(".");
      return `${contents}.${(await tagOf(contents)).toString("base64url")}`;
    },
    /**
     * Returns the device of a presented token; undefined without one, for a text that is none, or for one that is older
     * than `maxAgeMs`.
     */
    async open(token: string | undefined, now: Instant, maxAgeMs: number): Promise<Device | undefined> {
      const [, contents, tag] = (maxAgeMs > 0 && tokenPattern.exec(token ?? "")) || [];
      if (contents === undefined || tag === undefined) return undefined;
      if (!timingSafeEqual(Buffer.from(tag, "base64url"), await tagOf(contents))) return undefined;
      const [userId = 0, epoch = 0, number = 0, issuedMs = 0] = contents.split(".").map(Number);
      const issuedAt = instant(issuedMs);
      return between(issuedAt, now) < maxAgeMs ? { userId, epoch, number, issuedAt } : undefined;
    },
  };
}
