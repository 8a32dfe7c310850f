import { createDecipheriv, createHmac, timingSafeEqual } from "node:crypto";
import { RefusedLine } from "../lines.ts";
import { type EncryptionKey, encryptionKeyOf, hmacHashes, type PskcSecrets } from "./pskc-encryption-key.ts";
import { base64At, element, textAt, type XmlElement } from "./xml.ts";

/** Decrypts a value with an `EncryptedValue`, after its check of integrity. Throws `RefusedLine`. @param what name of the value */
export type Decrypt = (value: XmlElement, what: string) => Uint8Array;

const ciphers: ReadonlyMap<string, Cipher> = new Map(
  [128, 192, 256].map(bits => [
    `http://www.w3.org/2001/04/xmlenc#aes${bits}-cbc`,
    { name: `aes-${bits}-cbc`, keyBytes: bits / 8 },
  ]),
);

/** Creates the function that decrypts the values of a container (RFC 6030 section 6). */
export function createDecrypt(container: XmlElement, secrets: PskcSecrets): Decrypt {
  const macMethod = element(container, "MACMethod");
  let key: EncryptionKey | undefined;
  let macKey: Uint8Array | undefined;

  return (value, what) => {
    const encrypted = element(value, "EncryptedValue");
    // Kept, because the derivation from a passphrase is slow by intention.
    key ??= encryptionKeyOf(container, secrets, what);
    const cipher = cipherOf(encrypted, what);
    const hash = hmacHashes.get(textAt(macMethod, "@Algorithm"));
    // Without a MAC, a wrong key or a changed file would give wrong values instead of an error.
    if (hash === undefined) throw new RefusedLine(`its ${what} is encrypted without a known check of integrity`);
    if (textAt(value, "ValueMAC") === "") {
      throw new RefusedLine(`its ${what} is encrypted without a check of integrity: it has no ValueMAC`);
    }
    macKey ??= macKeyOf(macMethod, key);
    const expected = createHmac(hash, macKey).update(cipherTextOf(encrypted, what)).digest();
    const given = base64At(value, "ValueMAC", "ValueMAC");
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
      throw new RefusedLine(`its ${what} was changed, or is encrypted under another ${key.name}`);
    }
    return decrypted(encrypted, what, key, cipher);
  };
}

/** Returns the MAC key; the encryption key if the container has none (RFC 6030 section 6.1.1). */
function macKeyOf(macMethod: XmlElement | undefined, key: EncryptionKey): Uint8Array {
  const encrypted = element(macMethod, "MACKey");
  const what = "MAC key";
  return encrypted === undefined ? key.bytes : decrypted(encrypted, what, key, cipherOf(encrypted, what));
}

const cipherTextOf = (encrypted: XmlElement | undefined, what: string): Uint8Array =>
  base64At(encrypted, what, "CipherData", "CipherValue");

interface Cipher {
  readonly name: string;
  readonly keyBytes: number;
}

function cipherOf(encrypted: XmlElement | undefined, what: string): Cipher {
  const cipher = ciphers.get(textAt(encrypted, "EncryptionMethod", "@Algorithm"));
  if (cipher === undefined) throw new RefusedLine(`its ${what} is encrypted by an algorithm that is not supported`);
  return cipher;
}

/** Decrypts a value (XML Encryption 1.0, section 5.2): it begins with the IV; only the last byte of the padding is defined. */
function decrypted(encrypted: XmlElement | undefined, what: string, key: EncryptionKey, cipher: Cipher): Uint8Array {
  if (key.bytes.length !== cipher.keyBytes) {
    throw new RefusedLine(
      `its encryption needs a ${key.name === "passphrase" ? "derived" : "pre-shared"} key of ${cipher.keyBytes} bytes`,
    );
  }
  const bytes = cipherTextOf(encrypted, what);
  const unreadable = () => new RefusedLine(`its ${what} cannot be decrypted by this ${key.name}`);
  if (bytes.length < 32 || bytes.length % 16 !== 0) throw unreadable();
  const decipher = createDecipheriv(cipher.name, key.bytes, bytes.subarray(0, 16)).setAutoPadding(false);
  const padded = Buffer.concat([decipher.update(bytes.subarray(16)), decipher.final()]);
  const padding = padded.at(-1) ?? 0;
  if (padding < 1 || padding > 16) throw unreadable();
  return new Uint8Array(padded.subarray(0, -padding));
}
