import type { Stored } from "../../../platform/stored.ts";
import { foldPrefix, isPrefix, prefixMaxLength } from "../prefix.ts";
import type { CodeFormat, KeyParameters } from "./contract.ts";
import { modhexPattern } from "./encodings.ts";
import { type OtpKindName, otpKindNames, otpKinds } from "./kinds.ts";
import { splitTemporaryOtp } from "./temporary-code.ts";

/** What decides which split is one of an OTP key. A key without a kind has no secret yet: every split matches (A9). */
interface SplitKey {
  readonly prefix: string;
  readonly kind?: OtpKindName;
  readonly parameters: Pick<KeyParameters, "digits">;
}

/** The code formats of all kinds, the shortest first. */
const codeFormats: readonly CodeFormat[] = [...new Set(otpKindNames.flatMap(name => otpKinds[name].codeFormats))].sort(
  (one, other) => one.length - other.length,
);

const maxOtpLength = prefixMaxLength + (codeFormats.at(-1)?.length ?? 0);

/**
 * Returns the prefixes that an OTP may have, without duplicates: the OTP keys to read. One for most OTPs, at most six.
 */
export function possiblePrefixes(otp: string): readonly string[] {
  const temporary = splitTemporaryOtp(otp);
  return temporary === undefined ? [...new Set(candidateSplits(otp).map(({ prefix }) => prefix))] : [temporary.prefix];
}

/**
 * Splits an OTP by the kind of the OTP key with that prefix. The pattern alone is not enough: 20 characters that end in
 * digits could be 14 and 6, 13 and 7, or 12 and 8. If two keys match, the longer prefix wins. The text as it was typed
 * comes before other keyboard layouts, and those count only if they lead to one OTP of one key.
 * @param keys those that have a prefix of `possiblePrefixes`
 */
export function splitOtp<K extends SplitKey>(
  otp: string,
  keys: readonly Stored<K>[],
): { readonly key: Stored<K>; readonly code: string } | undefined {
  const found = new Map<number, { readonly key: Stored<K>; readonly code: string }>();
  for (const { prefix, code, format, reading } of candidateSplits(otp)) {
    const key = keys.find(({ value }) => value.prefix === prefix);
    if (key === undefined || !matchesKey(key.value, format) || found.has(reading)) continue;
    if (reading === 0) return { key, code };
    found.set(reading, { key, code });
  }
  const [only, ...others] = found.values();
  return others.length === 0 ? only : undefined;
}

/**
 * Returns whether a text has the form of an OTP rather than of a prefix: 12 characters, which OATH token identifiers
 * and most public ids have, letters of modhex alone, or a serial number of at least 8 digits, and a code of digits; a
 * code of 6 digits alone; or more letters of modhex than a prefix has. Shorter texts that end in digits are prefixes
 * too, for example an OATH token identifier, or a serial number.
 */
export const looksLikeOtp = (text: string): boolean =>
  /^([a-z0-9]{12,})?[0-9]{6}$/.test(text) ||
  /^[cbdefghijklnrtuv]{6,}[0-9]{6,8}$/.test(text) ||
  /^[cbdefghijklnrtuv]{33,}$/.test(text) ||
  /^[0-9]{14,}$/.test(text);

interface CandidateSplit {
  readonly prefix: string;
  readonly code: string;
  readonly format: CodeFormat;
  /** 0: the text as it was typed. Others: one number for each keyboard layout. */
  readonly reading: number;
}

/**
 * Returns the possible splits of an OTP by the format of its end, the longest prefix first, with folded letters (A7).
 * Digits at the end allow three splits, modhex one. Splits of the text as it would be under another keyboard layout
 * follow.
 */
function candidateSplits(otp: string): readonly CandidateSplit[] {
  // Check the length first: folding a megabyte is slow, and an OTP is short.
  if (otp.length > maxOtpLength) return [];
  const asTyped = splitsOf(foldPrefix(otp), 0);
  // Letters before digits are read as typed: in most layouts any letter is a letter, so that each such OTP would cost
  // more reads.
  if (asTyped.some(({ format }) => format.alphabet === "digits")) return asTyped;
  return [...asTyped, ...readOtherLayouts(otp).flatMap((text, index) => splitsOf(text, index + 1))];
}

const alphabets = { digits: /^[0-9]*$/, modhex: modhexPattern };

function splitsOf(text: string, reading: number): readonly CandidateSplit[] {
  const splits: CandidateSplit[] = [];
  for (const format of codeFormats) {
    const [prefix, code] = [text.slice(0, -format.length), text.slice(-format.length)];
    if (isPrefix(prefix) && alphabets[format.alphabet].test(code)) splits.push({ prefix, code, format, reading });
  }
  return splits;
}

const matchesKey = ({ kind, parameters: { digits } }: SplitKey, format: CodeFormat): boolean =>
  kind === undefined ||
  (otpKinds[kind].codeFormats.includes(format) && (digits === undefined || digits === format.length));

/**
 * More than any OTP has with a space between all its characters. Longer texts are no OTP, and reading them would be
 * slow.
 */
const maxTypedLength = 256;

/** White space, line ends, and the invisible characters that a copied text may contain. */
const ignored = /[\s\p{Cf}]/gu;

/**
 * Returns an OTP without white space. People type codes in groups, and devices end them with Enter. No kind of OTP
 * contains white space, under any keyboard layout.
 */
export const readOtp = (text: string): string =>
  text.length > maxTypedLength || text.search(ignored) === -1 ? text : text.replaceAll(ignored, "");

/**
 * OTP keys send positions on a keyboard, as if its layout were the US one. Each layout has the characters that appear
 * instead of the letters of modhex and of the digits.
 */
interface Layout {
  readonly letters: string;
  readonly digits: string;
}

const us: Layout = { letters: "cbdefghijklnrtuv", digits: "0123456789" };

const layouts: readonly Layout[] = [
  { letters: "jxe.uidchtnbpygk", digits: us.digits }, // Dvorak
  { letters: "cbsftdhuneikpglv", digits: us.digits }, // Colemak
  { letters: us.letters, digits: "à&é\"'(-è_ç" }, // AZERTY, lower case and with caps lock
  { letters: us.letters, digits: "À&É\"'(-È_Ç" },
  { letters: us.letters, digits: '=!"§$%&/()' }, // QWERTZ with caps lock; without it as US
];

const readers = layouts.map(({ letters, digits }) => {
  const map = new Map([...(letters + digits)].map((typed, index) => [typed, (us.letters + us.digits).charAt(index)]));
  return (text: string): string | undefined => {
    let read = "";
    for (const character of text) {
      const meant = map.get(character);
      if (meant === undefined) return undefined;
      read += meant;
    }
    return read;
  };
});

/** Returns what an OTP key sent if a text was typed under another keyboard layout: at most one text for each layout. */
function readOtherLayouts(text: string): readonly string[] {
  const folded = foldPrefix(text);
  const read = readers.map(reader => reader(folded)).filter(meant => meant !== undefined);
  return [...new Set(read)].filter(meant => meant !== folded);
}
