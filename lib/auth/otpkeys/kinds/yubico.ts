import { createDecipheriv, timingSafeEqual } from "node:crypto";
import type { Decision, LocalKind } from "./contract.ts";
import { modhexCode, modhexToBytes } from "./encodings.ts";

/** The use counter has 15 bits; the 16th bit is the state of caps lock. */
const maxUses = 0x7fff;
/** The session counter has one byte. Each power-up resets it and increments the use counter. */
const sessionsPerUse = 256;

/**
 * Yubico OTPs: one AES-128 block in modhex (A7). The moving factor is use counter times 256 plus session counter. The
 * counter of an import is the smallest use counter that is accepted.
 */
export const yubico: LocalKind = {
  checkedBy: "authentication-server",
  isGuessable: false,
  codeFormats: [modhexCode],
  rules: { secret: { min: 16, max: 16 }, privateId: { min: 6, max: 6 }, counter: { min: 0, max: maxUses } },
  prepare: ({ secret, privateId, counter = 0 }) => ({
    parameters: { state: { counter: counter * sessionsPerUse } },
    ...(secret && privateId && { secret: { secret, privateId } }),
  }),
  decide({ secret: { secret, privateId }, parameters }, code): Decision {
    const block = decrypt(secret, modhexToBytes(code));
    const isGenuine =
      crc16(block) === crcResidue && privateId !== undefined && timingSafeEqual(block.subarray(0, 6), privateId);
    if (!isGenuine) return { outcome: "invalid" };
    const position = (block.readUInt16LE(6) & maxUses) * sessionsPerUse + block.readUInt8(11);
    if (position < parameters.state.counter) return { outcome: "replayed" };
    return { outcome: "valid", nextState: { counter: position + 1 } };
  },
  /** Each unrecorded use may have been the first after a power-up. */
  advancePastUses: ({ state: { counter } }, uses) => ({ counter: counter + uses * sessionsPerUse }),
};

/** Decrypts one block. The format is a single block, so ECB is the right mode. */
function decrypt(key: Uint8Array, block: Uint8Array): Buffer {
  const cipher = createDecipheriv("aes-128-ecb", key, null).setAutoPadding(false);
  return Buffer.concat([cipher.update(block), cipher.final()]);
}

/** The CRC of a block that ends in its own inverted CRC. */
const crcResidue = 0xf0b8;

/** Returns the CRC-16 of ISO 13239 without the final inversion. */
export function crc16(bytes: Uint8Array): number {
  let crc = 0xffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >> 1) ^ 0x8408 : crc >> 1;
  }
  return crc;
}
