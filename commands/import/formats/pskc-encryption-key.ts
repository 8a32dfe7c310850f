import { pbkdf2Sync } from "node:crypto";
import { RefusedLine } from "../lines.ts";
import { base64At, element, textAt, type XmlElement } from "./xml.ts";

/** What the administrator knows of encrypted containers. */
export interface PskcSecrets {
  /** Pre-shared key, with the length that the container's encryption requires. */
  readonly preSharedKey?: Uint8Array | undefined;
  /** Passphrase from which a container's key is derived. */
  readonly passphrase?: string | undefined;
}

/** The key under which a container's values are encrypted. */
export interface EncryptionKey {
  readonly bytes: Uint8Array;
  readonly name: "pre-shared key" | "passphrase";
}

/** Hash functions of HMAC by their identifiers in XML (RFC 6931). */
export const hmacHashes: ReadonlyMap<string, string> = new Map([
  ["http://www.w3.org/2000/09/xmldsig#hmac-sha1", "sha1"],
  ...[224, 256, 384, 512].map(
    bits => [`http://www.w3.org/2001/04/xmldsig-more#hmac-sha${bits}`, `sha${bits}`] as const,
  ),
]);

/** A few seconds of work. A file could name any number, and the command would not end. */
const maxIterations = 10_000_000;
const keyLengths = [16, 24, 32];

/**
 * Returns the key of a container: derived from a passphrase (RFC 6030 section 6.2) or pre-shared.
 * Throws `RefusedLine`. @param what name of the encrypted value, for the error
 */
export function encryptionKeyOf(container: XmlElement, secrets: PskcSecrets, what: string): EncryptionKey {
  const derivedKey = element(container, "EncryptionKey", "DerivedKey");
  if (derivedKey !== undefined) {
    const { passphrase } = secrets;
    if (passphrase === undefined) {
      throw new RefusedLine(`its ${what} is encrypted under a passphrase, and none was given`);
    }
    return { bytes: derive(passphrase, element(derivedKey, "KeyDerivationMethod")), name: "passphrase" };
  }
  const { preSharedKey } = secrets;
  if (preSharedKey === undefined) throw new RefusedLine(`its ${what} is encrypted, and no pre-shared key was given`);
  return { bytes: preSharedKey, name: "pre-shared key" };
}

/** Derives a key by PBKDF2 (RFC 8018 section 5.2). Throws `RefusedLine`. */
function derive(passphrase: string, method: XmlElement | undefined): Uint8Array {
  const parameters = element(method, "PBKDF2-params");
  const prf = textAt(parameters, "PRF", "@Algorithm");
  const hash = prf === "" ? "sha1" : hmacHashes.get(prf);
  if (!/#pbkdf2$/i.test(textAt(method, "@Algorithm")) || hash === undefined) {
    throw new RefusedLine("its key is derived from the passphrase by an algorithm that is not supported");
  }
  const salt = base64At(parameters, "salt", "Salt", "Specified");
  const iterations = Number(textAt(parameters, "IterationCount"));
  if (!Number.isInteger(iterations) || iterations < 1 || iterations > maxIterations) {
    throw new RefusedLine(`its iteration count must be a whole number from 1 to ${maxIterations}`);
  }
  const length = Number(textAt(parameters, "KeyLength"));
  if (!keyLengths.includes(length)) throw new RefusedLine("its key length must be 16, 24 or 32");
  return new Uint8Array(pbkdf2Sync(passphrase, salt, iterations, length, hash));
}
