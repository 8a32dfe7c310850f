import { createDecipheriv, timingSafeEqual } from "node:crypto";
import type { Decision, LocalKind } from "./contract.ts";
import { draftProblems } from "./draft.ts";
import { modhexToBytes } from "./modhex.ts";

/** The use counter has 15 bits; the bit above tells of a caps lock. */
const mostUses = 0x7fff;
/** The key restarts the session counter, a byte, with every power-up, and the use counter grows. */
const sessions = 256;

/**
 * One AES-128 block in modhex (decision A7). The moving factor is use counter times 256 plus session counter. An import's
 * counter is the least use counter that passes.
 */
export const yubico: LocalKind = {
  checked: "here",
  isGuessable: false,
  forms: [{ length: 32, alphabet: "modhex" }],
  prepare(draft) {
    const problems = draftProblems(draft, {
      secret: { least: 16, most: 16 },
      privateId: { least: 6, most: 6 },
      digits: "absent",
      counter: { least: 0, most: mostUses },
    });
    const { secret, privateId, counter = 0 } = draft;
    if (problems.length > 0 || secret === undefined || privateId === undefined) return { ok: false, problems };
    return { ok: true, secret: { secret, privateId }, form: { state: { counter: counter * sessions } } };
  },
  decide({ secret: { secret, privateId }, form }, code): Decision {
    const block = decrypt(secret, modhexToBytes(code));
    const genuine =
      crc16(block) === crcResidue && privateId !== undefined && timingSafeEqual(block.subarray(0, 6), privateId);
    if (!genuine) return { outcome: "invalid" };
    const position = (block.readUInt16LE(6) & mostUses) * sessions + block.readUInt8(11);
    if (position < form.state.counter) return { outcome: "replayed" };
    return { outcome: "valid", nextState: { counter: position + 1 } };
  },
  /** Each use may have been the first after a power-up. */
  afterUses: ({ counter }, uses) => ({ counter: counter + uses * sessions }),
};

/** A lone block by the format's own design: nothing is chained, so there is no mode but ECB. */
function decrypt(key: Uint8Array, block: Uint8Array): Buffer {
  const cipher = createDecipheriv("aes-128-ecb", key, null).setAutoPadding(false);
  return Buffer.concat([cipher.update(block), cipher.final()]);
}

/** What the checksum of a block that ends in its own inverted checksum comes to. */
const crcResidue = 0xf0b8;

/** CRC-16 of ISO 13239 without the final inversion. */
export function crc16(bytes: Uint8Array): number {
  let crc = 0xffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >> 1) ^ 0x8408 : crc >> 1;
  }
  return crc;
}
