import { type KeyDraft, type TotpAlgorithm, totpAlgorithms } from "../../../lib/auth/otpkeys/kinds/contract.ts";
import { draftProblems } from "../../../lib/auth/otpkeys/kinds/draft-problems.ts";
import { type OtpKindName, otpKinds } from "../../../lib/auth/otpkeys/kinds/kinds.ts";
import { parsePrefix } from "../../../lib/auth/otpkeys/prefix.ts";
import type { Instant } from "../../../lib/platform/time.ts";
import { RefusedLine } from "../lines.ts";

/** An OTP key from a file, checked by the rules of Core (A18). */
export interface ImportKey extends KeyDraft {
  readonly prefix: string;
  readonly kind: OtpKindName;
  /** Name of the user to whom the OTP key is assigned. */
  readonly username?: string;
  readonly validFrom?: Instant;
  readonly validUntil?: Instant;
}

/** An OTP key as written in a file. A text is hexadecimal; empty means absent. */
interface WrittenKey extends Pick<KeyDraft, "digits" | "counter" | "period" | "drift"> {
  readonly secret: Uint8Array | string;
  readonly privateId?: string;
  /** Name of the hash function of an OATH key. Empty or absent: SHA-1, unless the secret has the length of another one. */
  readonly hash?: string;
}

/** Hash functions of `totp` keys by the length of their secrets in bytes (RFC 6238 appendix A). */
export const hashByLength: ReadonlyMap<number, TotpAlgorithm> = new Map([
  [32, "SHA256"],
  [64, "SHA512"],
]);

/** Checks an OTP key by the rules of its kind and of prefixes (A7, A9). Throws `RefusedLine`. */
export function checkKey(prefixText: string, kind: OtpKindName, written: WrittenKey): ImportKey {
  if (prefixText === "") throw new RefusedLine("it has no prefix, by which its OTPs would be recognised");
  const prefix = parsePrefix(prefixText);
  if (prefix === undefined) throw new RefusedLine("its prefix is not 1 to 32 letters and digits");
  const { secret: text, privateId, hash = "", ...rest } = written;
  const secret = typeof text === "string" ? bytesOfHex(text) : text;
  const algorithm = hash === "" ? "SHA1" : algorithmOf(hash);
  if (kind !== "yubico" && (algorithm === undefined || (kind === "hotp" && algorithm !== "SHA1")))
    throw new RefusedLine("its hash function is not for this kind of key");
  // By SHA-1 the OTP key might never work, and its user would be the first to notice.
  if (kind !== "yubico" && hash === "" && hashByLength.has(secret?.length ?? 0))
    throw new RefusedLine(`no hash function is named for its secret of ${secret?.length} bytes`);
  const draft: KeyDraft = {
    ...rest,
    ...(kind === "totp" && { algorithm }),
    secret,
    ...(privateId !== undefined && { privateId: bytesOfHex(privateId) }),
  };
  const isNotHex = (field: keyof KeyDraft) =>
    (field === "secret" || field === "privateId") && (written[field] ?? "") !== "" && draft[field] === undefined;
  const reasons = draftProblems(draft, otpKinds[kind].rules).map(
    ({ field, reason }) => `${fieldNames[field]} ${isNotHex(field) ? "must be in hex" : reason}`,
  );
  if (reasons.length > 0) throw new RefusedLine(reasons.join("; "));
  return { prefix, kind, ...draft };
}

const fieldNames: Record<keyof KeyDraft, string> = {
  secret: "its secret",
  privateId: "its private id",
  digits: "its digits",
  counter: "its counter",
  period: "its time step",
  algorithm: "its hash function",
  drift: "its clock drift",
};

/** Returns the hash function that a text such as `HMAC-SHA256`, `SHA-1` or `sha512` names; undefined for any other. */
function algorithmOf(text: string): TotpAlgorithm | undefined {
  const [, bits] = /^(?:HMAC-?)?SHA-?(1|256|512)$/i.exec(text) ?? [];
  return totpAlgorithms.find(name => name === `SHA${bits}`);
}

/** Returns the number of a column, undefined for an empty text. Any other text is NaN, which every rule refuses: a default would hide it. */
export function numberOf(text: string): number | undefined {
  if (text === "") return undefined;
  return /^[0-9]{1,10}$/.test(text) ? Number(text) : Number.NaN;
}

/** A character that decoding puts in place of bytes which are no text, or NUL, which is half a character of UTF-16. */
export const notText = /[\ufffd\0]/;
export const notTextReason = "it is not UTF-8 (nor UTF-16 with a byte order mark)";

/** Parses an even number of hexadecimal digits. Returns undefined for any other text. */
const bytesOfHex = (text: string): Uint8Array | undefined =>
  /^(?:[0-9a-fA-F]{2})+$/.test(text) ? new Uint8Array(Buffer.from(text, "hex")) : undefined;
