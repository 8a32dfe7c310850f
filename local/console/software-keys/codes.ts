import { createCipheriv, randomBytes } from "node:crypto";
import { generateSync } from "otplib";
import type { TotpAlgorithm } from "../../../lib/auth/otpkeys/kinds/contract.ts";
import { crc16 } from "../../../lib/auth/otpkeys/kinds/yubico.ts";

export interface OathSecret {
  readonly secret: Uint8Array;
  readonly digits: 6 | 8;
  /** Default: SHA1. */
  readonly algorithm?: TotpAlgorithm | undefined;
}

const hashes = { SHA1: "sha1", SHA256: "sha256", SHA512: "sha512" } as const;

/** Returns the code of a moving factor (RFC 4226): a counter, or the number of a time step since 1970 (RFC 6238). */
export const oathCode = ({ secret, digits, algorithm = "SHA1" }: OathSecret, factor: number): string =>
  generateSync({ strategy: "hotp", secret, digits, counter: factor, algorithm: hashes[algorithm] });

/**
 * Returns the time step of RFC 6238, and the milliseconds until the next.
 * @param now in ms since 1970
 * @param period seconds of a step
 */
export function totpStep(now: number, period = 30): { readonly step: number; readonly leftMs: number } {
  const stepMs = period * 1000;
  return { step: Math.floor(now / stepMs), leftMs: stepMs - (now % stepMs) };
}

/**
 * Returns what a key of kind `yubico` types after its prefix (decision A7): private id, counters, an unused timestamp,
 * random bytes and a checksum, as one AES-128 block in modhex.
 * @param use number of earlier uses, 256 for each power-up
 */
export function yubicoCode(secret: Uint8Array, privateId: Uint8Array, use: number): string {
  const block = Buffer.alloc(16);
  block.set(privateId);
  block.writeUInt16LE(Math.floor(use / 256) + 1, 6);
  randomBytes(3).copy(block, 8);
  block.writeUInt8(use % 256, 11);
  randomBytes(2).copy(block, 12);
  block.writeUInt16LE(~crc16(block.subarray(0, 14)) & 0xffff, 14);
  // The format is a single block, so ECB is its mode.
  const cipher = createCipheriv("aes-128-ecb", secret, null).setAutoPadding(false);
  return toModhex(Buffer.concat([cipher.update(block), cipher.final()]));
}

/** Returns bytes in the modhex alphabet. */
export const toModhex = (bytes: Buffer): string =>
  bytes.toString("hex").replace(/[0-9a-f]/g, digit => "cbdefghijklnrtuv".charAt(Number.parseInt(digit, 16)));
