import { parsePrefix } from "../../../lib/auth/model/prefix.ts";
import type { KeyDraft, TotpAlgorithm } from "../../../lib/auth/otp/contract.ts";
import { type Instant, instant, parseUtc } from "../../../lib/time.ts";
import {
  algorithmOf,
  checkKey,
  collectLines,
  type ImportKey,
  type ParsedFile,
  type RefusedLine,
} from "./parsed-lines.ts";
import { PskcSecretError, type ReadSecret, secretReader } from "./pskc-secret.ts";
import { element, elements, readXml, textAt, type XmlElement, XmlError } from "./xml.ts";

export interface PskcOptions {
  /** Pre-shared key, with the length that the file's encryption requires. */
  readonly preSharedKey?: Uint8Array;
  readonly now: Instant;
}

/** Reads a Portable Symmetric Key Container (RFC 6030), plain or encrypted with a pre-shared key (A18). */
export function readPskc(text: string, options: PskcOptions): ParsedFile {
  try {
    const { root, lineOf } = readXml(text);
    const container = element(root, "KeyContainer");
    if (container === undefined) throw new XmlError(1, "it is no PSKC key container");
    const readSecret = secretReader(container, options.preSharedKey);
    const packages = elements(container, "KeyPackage");
    return collectLines(
      packages.map(keyPackage => readPackage(keyPackage, lineOf(keyPackage), readSecret, options.now)),
    );
  } catch (error) {
    if (error instanceof XmlError) return { keys: [], refused: [{ line: error.line, reason: error.message }] };
    throw error;
  }
}

function readPackage(
  keyPackage: XmlElement,
  line: number,
  readSecret: ReadSecret,
  now: Instant,
): ImportKey | RefusedLine {
  const key = element(keyPackage, "Key");
  const reason = key === undefined ? "it contains no key" : (notUsable(key, now) ?? notSupported(key));
  if (key === undefined || reason !== undefined) return { line, reason: reason ?? "" };
  try {
    const secret = readSecret(element(key, "Data", "Secret"));
    const found = kindOf(key) === "yubico" ? yubicoKey(key, line, secret) : oathKey(keyPackage, key, line, secret);
    return "prefix" in found ? { ...found, ...validityOf(key) } : found;
  } catch (error) {
    if (error instanceof PskcSecretError) return { line, reason: error.message };
    throw error;
  }
}

/** Returns a time of the key's policy. */
function policyTime(key: XmlElement, name: "StartDate" | "ExpiryDate"): number | undefined {
  const text = textAt(element(key, "Policy"), name);
  return text === "" ? undefined : parseUtc(text);
}

function validityOf(key: XmlElement): Pick<ImportKey, "validFrom" | "validUntil"> {
  const [start, end] = [policyTime(key, "StartDate"), policyTime(key, "ExpiryDate")];
  return {
    ...(start !== undefined && { validFrom: instant(start) }),
    ...(end !== undefined && { validUntil: instant(end) }),
  };
}

/** What a policy may contain. RFC 6030 section 5 forbids the use of a key whose policy has more than its reader understands. */
const policyMember = /^(?:StartDate|ExpiryDate|KeyUsage|PINPolicy|#text|@.*)$/;

/** Returns why the key's policy forbids its import now or its use for OTPs (RFC 6030 section 5), or undefined. */
function notUsable(key: XmlElement, now: Instant): string | undefined {
  const policy = element(key, "Policy");
  const [start = 0, end = Number.POSITIVE_INFINITY] = [policyTime(key, "StartDate"), policyTime(key, "ExpiryDate")];
  if (Number.isNaN(start) || Number.isNaN(end)) return "a time of its policy is malformed";
  if (end <= Date.parse(now)) return "it has expired";
  if (end <= start) return "it expires before it may be used";
  if (!Object.keys(policy ?? {}).every(name => policyMember.test(name)))
    return "its policy has a limit that is not supported";
  // In the other modes the user types the PIN with the OTP, or it is part of the computation.
  if (!/^(Local)?$/.test(textAt(policy, "PINPolicy", "@PINUsageMode"))) return "its OTPs depend on a PIN";
  const usages = elements(policy, "KeyUsage").map(usage => textAt(usage));
  return usages.length === 0 || usages.includes("OTP") ? undefined : "it is not meant for OTPs";
}

function notSupported(key: XmlElement): string | undefined {
  const kind = kindOf(key);
  if (kind === undefined) return "it is of no known kind of key";
  if (kind === "yubico") return undefined;
  const parameters = element(key, "AlgorithmParameters");
  const suite = suiteOf(key);
  if (suite === undefined || (kind === "hotp" && suite !== "SHA1"))
    return "its hash function is not for this kind of key";
  if (/^(true|1)$/.test(textAt(parameters, "ResponseFormat", "@CheckDigits"))) return "its codes have a check digit";
  if (!/^(DECIMAL)?$/.test(textAt(parameters, "ResponseFormat", "@Encoding"))) return "its codes are not of digits";
  return undefined;
}

/** Returns the hash function of an OATH key, by default SHA-1; undefined for one that is not supported. */
function suiteOf(key: XmlElement): TotpAlgorithm | undefined {
  const parameters = element(key, "AlgorithmParameters");
  const suite = textAt(parameters, "Suite") || textAt(parameters, "Suite", "@hashalgo");
  return suite === "" ? "SHA1" : algorithmOf(suite);
}

/** Returns time step and hash function of a time-based key. */
function timingOf(key: XmlElement): Pick<KeyDraft, "period" | "algorithm"> {
  const step = element(key, "Data", "TimeInterval");
  return { period: step === undefined ? 30 : (numberOf(textAt(step, "PlainValue")) ?? 0), algorithm: suiteOf(key) };
}

function kindOf(key: XmlElement): "hotp" | "totp" | "yubico" | undefined {
  const algorithm = textAt(key, "@Algorithm");
  if (algorithm === "http://www.yubico.com/#yubikey-aes") return "yubico";
  const [, kind] = /^urn:ietf:params:xml:ns:keyprov:pskc[:#](hotp|totp)$/.exec(algorithm) ?? [];
  return kind === "hotp" || kind === "totp" ? kind : undefined;
}

/** Reads an OATH key. Its prefix is the key's id, if it can be a prefix, else the serial number, which the user types. */
function oathKey(keyPackage: XmlElement, key: XmlElement, line: number, secret: Uint8Array): ImportKey | RefusedLine {
  const id = textAt(key, "@Id");
  const prefix = parsePrefix(id) ?? (textAt(keyPackage, "DeviceInfo", "SerialNo") || id);
  const counter = element(key, "Data", "Counter");
  const isTimed = kindOf(key) === "totp";
  return checkKey(line, prefix, isTimed ? "totp" : "hotp", {
    secret,
    ...(isTimed && timingOf(key)),
    digits: digitsOf(textAt(key, "AlgorithmParameters", "ResponseFormat", "@Length"), prefix),
    counter: counter === undefined ? 0 : (numberOf(textAt(counter, "PlainValue")) ?? -1),
  });
}

/** Returns the number of digits. Some programs include the length of the typed prefix. */
function digitsOf(length: string, prefix: string): number | undefined {
  const digits = numberOf(length);
  return digits === undefined || digits <= 8 ? digits : digits - prefix.length;
}

/** Reads a Yubico key. The personalisation tool writes public and private id into the user id. */
function yubicoKey(key: XmlElement, line: number, secret: Uint8Array): ImportKey | RefusedLine {
  const [, publicId = "", privateId = ""] = /^CN=([^,\s]*),\s*UID=([0-9a-fA-F]*)$/.exec(textAt(key, "UserId")) ?? [];
  return checkKey(line, publicId, "yubico", { secret, privateId });
}

const numberOf = (text: string): number | undefined => (/^[0-9]{1,15}$/.test(text) ? Number(text) : undefined);
