import { RefusedLine } from "../lines.ts";
import { createDecrypt } from "./pskc-encryption.ts";
import type { PskcSecrets } from "./pskc-encryption-key.ts";
import { base64At, element, textAt, type XmlElement } from "./xml.ts";

/** Reads the `Data` of keys, plain or encrypted (RFC 6030 section 4.2). The functions throw `RefusedLine`. */
export interface DataReader {
  readonly secretOf: (key: XmlElement) => Uint8Array;
  /** Returns the number in a member of the data; undefined if it is absent, NaN if it is no whole number. */
  readonly numberOf: (key: XmlElement, name: "Counter" | "Time" | "TimeInterval" | "TimeDrift") => number | undefined;
}

/** Creates the reader of a container. */
export function createDataReader(container: XmlElement, secrets: PskcSecrets): DataReader {
  const decrypt = createDecrypt(container, secrets);
  return {
    secretOf: key => {
      const value = element(key, "Data", "Secret");
      if (element(value, "PlainValue") !== undefined) return base64At(value, "secret", "PlainValue");
      if (value === undefined || element(value, "EncryptedValue") === undefined)
        throw new RefusedLine("it has no secret");
      return decrypt(value, "secret");
    },
    numberOf: (key, name) => {
      const value = element(key, "Data", name);
      if (value === undefined) return undefined;
      const isEncrypted = element(value, "EncryptedValue") !== undefined;
      return isEncrypted ? numberOfBytes(decrypt(value, name)) : numberOfText(textAt(value, "PlainValue"));
    },
  };
}

const numberOfText = (text: string): number => (/^[+-]?[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN);

/** Reads a decrypted number: its digits as text, or its bytes in network order. Programs write either. */
function numberOfBytes(bytes: Uint8Array): number {
  const buffer = Buffer.from(bytes);
  const text = buffer.toString("latin1").trim();
  if (/^[+-]?[0-9]+$/.test(text)) return numberOfText(text);
  return bytes.length > 8 ? Number.NaN : Number(`0x${buffer.toString("hex")}`);
}
