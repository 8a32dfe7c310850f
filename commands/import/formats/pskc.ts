import { parsePrefix } from "../../../lib/auth/otpkeys/prefix.ts";
import type { Instant } from "../../../lib/platform/time.ts";
import { type ReadLine, RefusedLine, readEach } from "../lines.ts";
import { checkKey, type ImportKey } from "./check-key.ts";
import { createDataReader, type DataReader } from "./pskc-data.ts";
import type { PskcSecrets } from "./pskc-encryption-key.ts";
import { notUsable, validityOf } from "./pskc-policy.ts";
import { unreadState } from "./pskc-unread.ts";
import { element, elements, RefusedDocument, readXml, textAt, type XmlElement } from "./xml.ts";

export interface PskcOptions extends PskcSecrets {
  readonly now: Instant;
}

const isDraft = "it is of a draft before RFC 6030: ask its maker for a file of the RFC";

/** Reads a Portable Symmetric Key Container (RFC 6030), plain or encrypted under a pre-shared key or a passphrase (A18). */
export function readPskc(text: string, options: PskcOptions): readonly ReadLine<ImportKey>[] {
  try {
    const { root, lineOf } = readXml(text);
    const container = element(root, "KeyContainer");
    if (container === undefined) throw new RefusedDocument("it is no PSKC key container");
    const data = createDataReader(container, options);
    const numbered = (name: string) => elements(container, name).map(each => [lineOf(each), each] as const);
    return [
      ...numbered("Device").map(([line]) => ({ line, reason: isDraft })),
      ...readEach(numbered("KeyPackage"), keyPackage => readPackage(keyPackage, data, options.now)),
    ];
  } catch (error) {
    if (error instanceof RefusedDocument) return [{ line: error.line, reason: error.message }];
    throw error;
  }
}

function readPackage(keyPackage: XmlElement, data: DataReader, now: Instant): ImportKey {
  const key = element(keyPackage, "Key");
  if (key === undefined) throw new RefusedLine("it contains no key");
  const kind = kindOf(key);
  const reason = unreadState(keyPackage) ?? notUsable(keyPackage, now) ?? notSupported(key, kind);
  if (reason !== undefined) throw new RefusedLine(reason);
  const unread = unreadNumbers[kind].find(name => (data.numberOf(key, name) ?? 0) !== 0);
  if (unread !== undefined) throw new RefusedLine(`its ${unread} is not 0, and is not read`);
  const found = kind === "yubico" ? yubicoKey(key, data) : oathKey(keyPackage, key, kind, data);
  return { ...found, ...validityOf(keyPackage) };
}

type PskcKind = "hotp" | "totp" | "yubico";

/** State in the data that has no meaning for a kind, or none that is known. */
const unreadNumbers = {
  hotp: ["Time", "TimeDrift"],
  totp: ["Time"],
  yubico: ["Counter", "Time", "TimeDrift"],
} as const;

function kindOf(key: XmlElement): PskcKind {
  const algorithm = textAt(key, "@Algorithm");
  if (algorithm === "http://www.yubico.com/#yubikey-aes") return "yubico";
  const [, kind] = /^urn:ietf:params:xml:ns:keyprov:pskc[:#](hotp|totp)$/.exec(algorithm) ?? [];
  if (kind === "hotp" || kind === "totp") return kind;
  throw new RefusedLine(textAt(key, "@KeyAlgorithm") === "" ? "it is of no known kind of key" : isDraft);
}

function notSupported(key: XmlElement, kind: PskcKind): string | undefined {
  if (kind === "yubico") return undefined;
  const format = element(key, "AlgorithmParameters", "ResponseFormat");
  if (/^(true|1)$/.test(textAt(format, "@CheckDigits"))) return "its codes have a check digit";
  if (!/^(DECIMAL)?$/.test(textAt(format, "@Encoding"))) return "its codes are not of digits";
  return undefined;
}

function oathKey(keyPackage: XmlElement, key: XmlElement, kind: "hotp" | "totp", data: DataReader): ImportKey {
  const suite = element(key, "AlgorithmParameters", "Suite");
  const { prefix, digits } = prefixAndDigits(keyPackage, key);
  return checkKey(prefix, kind, {
    digits,
    secret: data.secretOf(key),
    hash: textAt(suite) || textAt(suite, "@hashalgo"),
    ...(kind === "totp" && {
      period: data.numberOf(key, "TimeInterval") ?? 30,
      // RFC 6030 counts as Core does: steps by which the clock of the device is ahead.
      drift: data.numberOf(key, "TimeDrift"),
    }),
    counter: data.numberOf(key, "Counter") ?? 0,
  });
}

const maxDigits = 8;

/**
 * Returns prefix and length of the codes. The prefix is the serial number on the device, which its user types, if it can be a prefix;
 * otherwise the key's id, which is often only its number in the file. If the length includes an id, the key itself types that id.
 */
function prefixAndDigits(keyPackage: XmlElement, key: XmlElement) {
  const [id, serial] = [textAt(key, "@Id"), textAt(keyPackage, "DeviceInfo", "SerialNo")];
  const text = textAt(key, "AlgorithmParameters", "ResponseFormat", "@Length");
  const length = text === "" ? undefined : Number(text);
  const prefix = parsePrefix(serial) ?? (id || serial);
  if (length === undefined || !(length > maxDigits)) return { prefix, digits: length };
  const ids = id.length > serial.length ? [id, prefix] : [prefix];
  const typed = ids.find(each => length - each.length >= 6 && length - each.length <= maxDigits);
  return typed === undefined ? { prefix, digits: length } : { prefix: typed, digits: length - typed.length };
}

/** Reads a Yubico key. The personalisation tool writes public and private id into the user id. */
function yubicoKey(key: XmlElement, data: DataReader): ImportKey {
  const [, prefix = "", privateId = ""] = /^CN=([^,\s]*),\s*UID=([0-9a-fA-F]*)$/.exec(textAt(key, "UserId")) ?? [];
  return checkKey(prefix, "yubico", { secret: data.secretOf(key), privateId });
}
