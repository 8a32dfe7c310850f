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

const format = 1;
const bodyBytes = 1 + 4 + 8 + 8 + 1;
const tagBytes = 32;
const tokenLength = Math.ceil(((bodyBytes + tagBytes) * 4) / 3);

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
      const body = Buffer.alloc(bodyBytes);
      body.writeUInt8(format);
      body.writeUInt32BE(Math.floor(Date.parse(issuedAt) / 1000), 1);
      body.writeBigUInt64BE(BigInt(userId), 5);
      body.writeBigUInt64BE(BigInt(epoch), 13);
      body.writeUInt8(number, 21);
      return Buffer.concat([body, await tagOf(body)]).toString("base64url");
    },
    /**
     * Returns the device of a presented token; undefined without one, for a text that is none, or for one that is older
     * than `maxAgeMs`.
     */
    async open(token: string | undefined, now: Instant, maxAgeMs: number): Promise<Device | undefined> {
      if (maxAgeMs === 0 || token === undefined) return undefined;
      if (token.length !== tokenLength || !/^[\w-]+$/.test(token)) return undefined;
      const bytes = Buffer.from(token, "base64url");
      const body = bytes.subarray(0, bodyBytes);
      if (!timingSafeEqual(bytes.subarray(bodyBytes), await tagOf(body)) || body.readUInt8() !== format)
        return undefined;
      const issuedAt = instant(body.readUInt32BE(1) * 1000);
      if (between(issuedAt, now) >= maxAgeMs) return undefined;
      return {
        userId: Number(body.readBigUInt64BE(5)),
        epoch: Number(body.readBigUInt64BE(13)),
        number: body.readUInt8(21),
        issuedAt,
      };
    },
  };
}
