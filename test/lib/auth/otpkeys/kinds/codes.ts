import { createCipheriv, createHmac } from "node:crypto";

/** RFC 4226 written once more, so that no code under test also makes what it is tested with. */
export function hotpCode(secret: Uint8Array, counter: number, digits = 6, hash = "sha1"): string {
  const message = Buffer.alloc(8);
  message.writeBigUInt64BE(BigInt(counter));
  const mac = createHmac(hash, secret).update(message).digest();
  const value = mac.readUInt32BE((mac.at(-1) ?? 0) & 15) & 0x7fffffff;
  return String(value % 10 ** digits).padStart(digits, "0");
}

export interface YubicoFields {
  readonly privateId: Uint8Array;
  readonly useCounter: number;
  readonly sessionCounter: number;
  readonly timestamp?: number;
  readonly random?: number;
}

/** What a key of this kind types after its prefix: fields, checksum, AES, modhex, each written once more. */
export function yubicoCode(secret: Uint8Array, fields: YubicoFields): string {
  const block = Buffer.alloc(16);
  block.set(fields.privateId, 0);
  block.writeUInt16LE(fields.useCounter, 6);
  block.writeUIntLE(fields.timestamp ?? 0x123456, 8, 3);
  block.writeUInt8(fields.sessionCounter, 11);
  block.writeUInt16LE(fields.random ?? 0xbeef, 12);
  block.writeUInt16LE(checksum(block.subarray(0, 14)) ^ 0xffff, 14);
  return modhexOf(encrypt(secret, block));
}

export const modhexOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes)
    .toString("hex")
    .replace(/./g, digit => "cbdefghijklnrtuv"[Number.parseInt(digit, 16)] ?? "");

/** One block, by a chaining mode whose first vector is zero: the same as no chaining. */
export function encrypt(secret: Uint8Array, block: Uint8Array): Buffer {
  const cipher = createCipheriv("aes-128-cbc", secret, Buffer.alloc(16)).setAutoPadding(false);
  return Buffer.concat([cipher.update(block), cipher.final()]);
}

/** CRC-16 of ISO 13239 by long division of the reversed bits, without the final inversion. */
function checksum(bytes: Uint8Array): number {
  let register = 0xffff;
  for (const byte of bytes) {
    for (let bit = 0; bit < 8; bit += 1) {
      const feedback = (register ^ (byte >> bit)) & 1;
      register = (register >> 1) ^ (feedback === 1 ? 0x8408 : 0);
    }
  }
  return register;
}
