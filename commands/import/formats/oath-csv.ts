import { modhexPattern } from "../../../lib/auth/otpkeys/kinds/encodings.ts";
import { RefusedLine } from "../lines.ts";
import { checkKey, hashByLength, type ImportKey, numberOf } from "./check-key.ts";

/** Returns whether a line describes an OTP key without a keyboard: its third column is a kind, or its second a secret. */
export function isOathLine([, second = "", third = ""]: readonly string[]): boolean {
  // A secret is too long for a public id. What is wrong with it is said later, so that its column is named.
  return /^(hotp|totp|ocra)$/i.test(third) || (/^[0-9a-z]{28,}$/i.test(second) && !modhexPattern.test(second));
}

/**
 * Reads a line of the OATH layout: serial number (typed by the user before each code), secret in hex, `hotp` or `totp`, digits, counter
 * (`hotp`) or time step (`totp`), hash function. The length of the secret of a `totp` key stands for its hash function.
 * Throws `RefusedLine`.
 */
export function readOathLine(fields: readonly string[], defaultDigits = 6): ImportKey {
  const [serial = "", secret = "", kindText = "", digitsText = "", fifth = "", hash = "", ...others] = fields;
  const kind = kindText.toLowerCase() || "hotp";
  if (kind !== "hotp" && kind !== "totp") throw new RefusedLine("it is of no known kind of key");
  if (others.some(field => field !== ""))
    throw new RefusedLine("it has a column after the hash function, which is not read");
  const digits = numberOf(digitsText) ?? defaultDigits;
  const number = numberOf(fifth);
  if (kind === "hotp") return checkKey(serial, kind, { secret, digits, counter: number ?? 0, hash });
  const named = hash || (hashByLength.get(secret.length / 2) ?? "");
  return checkKey(serial, kind, { secret, digits, period: number ?? 30, hash: named });
}
