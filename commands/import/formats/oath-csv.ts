import { modhexPattern } from "../../../lib/auth/otpkeys/kinds/encodings.ts";
import { checkKey, hashByLength, numberOf, type ParsedLine } from "./parsed-lines.ts";

/** Returns whether a line describes an OTP key without a keyboard: its third column is a kind, or its second a secret. */
export function isOathLine([, second = "", third = ""]: readonly string[]): boolean {
  // A secret is too long for a public id. What is wrong with it is said later, so that its column is named.
  return /^(hotp|totp|ocra)$/i.test(third) || (/^[0-9a-z]{28,}$/i.test(second) && !modhexPattern.test(second));
}

/**
 * Reads a line of the OATH layout: serial number (typed by the user before each code), secret in hex, `hotp` or `totp`, digits, counter
 * (`hotp`) or time step (`totp`), hash function. The length of the secret of a `totp` key stands for its hash function.
 */
export function readOathLine(fields: readonly string[], line: number, defaultDigits = 6): ParsedLine {
  const [serial = "", secret = "", kindText = "", digitsText = "", fifth = "", hash = "", ...others] = fields;
  const kind = kindText.toLowerCase() || "hotp";
  if (kind !== "hotp" && kind !== "totp") return { line, reason: "it is of no known kind of key" };
  if (others.some(field => field !== "")) {
    return { line, reason: "it has a column after the hash function, which is not read" };
  }
  const digits = numberOf(digitsText) ?? defaultDigits;
  const number = numberOf(fifth);
  if (kind === "hotp") return checkKey(line, serial, kind, { secret, digits, counter: number ?? 0, hash });
  const named = hash || (hashByLength.get(secret.length / 2) ?? "");
  return checkKey(line, serial, kind, { secret, digits, period: number ?? 30, hash: named });
}
