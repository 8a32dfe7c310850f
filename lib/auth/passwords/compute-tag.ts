import { pbkdf2 } from "node:crypto";
import { promisify } from "node:util";
import { omitUndefined } from "../../platform/collections.ts";
import { argon2id, type ImportedParameters, unpadded } from "./imported-hash.ts";

/** Bytes of the longest password that a crypt scheme hashes: their cost grows with the length. */
const maxCryptBytes = 128;

/**
 * Whether the scheme of an imported hash accepts the password. Otherwise the password is wrong and must not be hashed.
 */
export const isPossible = (password: string, { scheme }: ImportedParameters): boolean =>
  !scheme.endsWith("-crypt") || Buffer.byteLength(password) <= maxCryptBytes;

/**
 * Hashes a password as the server did from which it was imported. The text is hashed as given: the other server did not
 * normalise it. No scheme computes on the event loop.
 */
export async function computeTag(password: string, parameters: ImportedParameters): Promise<string> {
  const { scheme, cost, salt, memoryCost, parallelism, tagBytes } = parameters;
  switch (scheme) {
    case "pbkdf2-sha256":
      return unpadded(await promisify(pbkdf2)(password, Buffer.from(salt, "base64"), cost, 32, "sha256"));
    case "pbkdf2-sha512":
      return unpadded(await promisify(pbkdf2)(password, Buffer.from(salt, "base64"), cost, 64, "sha512"));
    case "argon2id": {
      const { hashRaw } = await import("@node-rs/argon2");
      const given = omitUndefined({ timeCost: cost, memoryCost, parallelism, outputLen: tagBytes });
      return unpadded(await hashRaw(password, { ...given, salt: Buffer.from(salt, "base64"), algorithm: argon2id }));
    }
    default: {
      const { cryptInThread } = await import("./crypt-thread.ts");
      return cryptInThread({ password, scheme, cost, salt });
    }
  }
}
