import { createDecipheriv, createHmac, timingSafeEqual } from "node:crypto";
import { element, textAt, type XmlElement } from "./xml.ts";

/** The reason why a secret cannot be read: the rest of a sentence about the key. Never quotes a secret. */
export class PskcSecretError extends Error {
  override readonly name = "PskcSecretError";
}

/** Reads the `Secret` of a key: plain, or encrypted under the pre-shared key (RFC 6030 sections 4.2 and 6). Throws PskcSecretError. */
export type ReadSecret = (secret: XmlElement | undefined) => Uint8Array;

const ciphers: ReadonlyMap<string, Cipher> = new Map(
  [128, 192, 256].map(bits => [
    `http://www.w3.org/2001/04/xmlenc#aes${bits}-cbc`,
    { name: `aes-${bits}-cbc`, keyBytes: bits / 8 },
  ]),
);
const macs: ReadonlyMap<string, string> = new Map([
  ["http://www.w3.org/2000/09/xmldsig#hmac-sha1", "sha1"],
  ...[224, 256, 384, 512].map(
    bits => [`http://www.w3.org/2001/04/xmldsig-more#hmac-sha${bits}`, `sha${bits}`] as const,
  ),
]);

/** Creates the reader of a container's secrets. @param preSharedKey absent: only plain secrets can be read */
export function secretReader(container: XmlElement, preSharedKey: Uint8Array | undefined): ReadSecret {
  const macMethod = element(container, "MACMethod");
  let macKey: Uint8Array | undefined;

  return secret => {
    const plain = element(secret, "PlainValue");
    if (plain !== undefined) return bytesOfBase64(textAt(plain));
    const encrypted = element(secret, "EncryptedValue");
    if (encrypted === undefined) throw new PskcSecretError("it has no secret");
    if (element(container, "EncryptionKey", "DerivedKey") !== undefined) {
      throw new PskcSecretError("its secret is encrypted under a passphrase, not under a pre-shared key");
    }
    if (preSharedKey === undefined)
      throw new PskcSecretError("its secret is encrypted, and no pre-shared key was given");
    const cipher = cipherOf(encrypted, "secret");
    const mac = macs.get(textAt(macMethod, "@Algorithm"));
    // Without a MAC, a wrong pre-shared key or a changed file would give wrong secrets instead of an error.
    if (mac === undefined) throw new PskcSecretError("its secret is encrypted without a known check of integrity");
    macKey ??= macKeyOf(macMethod, preSharedKey);
    const expected = createHmac(mac, macKey).update(cipherTextOf(encrypted)).digest();
    const given = bytesOfBase64(textAt(secret, "ValueMAC"));
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
      throw new PskcSecretError("its secret was changed, or is encrypted under another pre-shared key");
    }
    return decrypted(encrypted, preSharedKey, cipher);
  };
}

/** Returns the MAC key; the pre-shared key if the container has none (RFC 6030 section 6.1.1). */
function macKeyOf(macMethod: XmlElement | undefined, preSharedKey: Uint8Array): Uint8Array {
  const encrypted = element(macMethod, "MACKey");
  return encrypted === undefined ? preSharedKey : decrypted(encrypted, preSharedKey, cipherOf(encrypted, "MAC key"));
}

const cipherTextOf = (encrypted: XmlElement): Uint8Array =>
  bytesOfBase64(textAt(encrypted, "CipherData", "CipherValue"));

interface Cipher {
  readonly name: string;
  readonly keyBytes: number;
}

/** Returns the cipher of an encrypted value. @param what name of the value, for the error */
function cipherOf(encrypted: XmlElement, what: string): Cipher {
  const cipher = ciphers.get(textAt(encrypted, "EncryptionMethod", "@Algorithm"));
  if (cipher === undefined) throw new PskcSecretError(`its ${what} is encrypted by an algorithm that is not supported`);
  return cipher;
}

/** Decrypts a value (XML Encryption 1.0, section 5.2): it begins with the IV; only the last byte of the padding is defined. */
function decrypted(encrypted: XmlElement, key: Uint8Array, cipher: Cipher): Uint8Array {
  if (key.length !== cipher.keyBytes)
    throw new PskcSecretError(`the pre-shared key must have ${cipher.keyBytes} bytes`);
  const bytes = cipherTextOf(encrypted);
  if (bytes.length < 32 || bytes.length % 16 !== 0) throw unreadable();
  const decipher = createDecipheriv(cipher.name, key, bytes.subarray(0, 16)).setAutoPadding(false);
  const padded = Buffer.concat([decipher.update(bytes.subarray(16)), decipher.final()]);
  const padding = padded.at(-1) ?? 0;
  if (padding < 1 || padding > 16) throw unreadable();
  return new Uint8Array(padded.subarray(0, -padding));
}

const unreadable = (): PskcSecretError => new PskcSecretError("its secret cannot be decrypted by this pre-shared key");

function bytesOfBase64(text: string): Uint8Array {
  const compact = text.replace(/\s+/g, "");
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(compact)) throw new PskcSecretError("its secret is no base64");
  return new Uint8Array(Buffer.from(compact, "base64"));
}
