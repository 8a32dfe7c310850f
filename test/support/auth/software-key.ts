import { randomBytes } from "node:crypto";
import { hotpCode, modhexOf, yubicoCode } from "../../lib/auth/otpkeys/kinds/codes.ts";

/** A key in software: what it types, and what an import of it says. */
export interface SoftwareKey {
  readonly prefix: string;
  readonly secret: Uint8Array;
  /** Of the import. */
  readonly fields: Readonly<Record<string, string>>;
  /** The OTP of a moving factor: counter, step of 30 s, or use counter. */
  otp(factor: number): string;
}

/**
 * A prefix that no other key has: letters only, so that an OTP of digits is cut in one way. It begins with a letter
 * that neither Dvorak nor Colemak types for a key, so that an OTP is read in one way.
 */
export const newPrefix = (): string => `r${modhexOf(randomBytes(6)).slice(1)}`;

export function hotpKey({
  prefix = newPrefix(),
  digits = 6,
}: {
  prefix?: string;
  digits?: 6 | 7 | 8;
} = {}): SoftwareKey {
  return oathKey("hotp", prefix, digits);
}

export function totpKey({
  prefix = newPrefix(),
  digits = 6,
}: {
  prefix?: string;
  digits?: 6 | 7 | 8;
} = {}): SoftwareKey {
  return oathKey("totp", prefix, digits);
}

function oathKey(kind: string, prefix: string, digits: 6 | 7 | 8): SoftwareKey {
  const secret = randomBytes(20);
  return {
    prefix,
    secret,
    fields: { prefix, kind, secret: secret.toString("hex"), digits: String(digits) },
    otp: factor => prefix + hotpCode(secret, factor, digits),
  };
}

export function yubicoKey({ prefix = newPrefix() }: { prefix?: string } = {}): SoftwareKey {
  const secret = randomBytes(16);
  const privateId = randomBytes(6);
  return {
    prefix,
    secret,
    fields: { prefix, kind: "yubico", secret: secret.toString("hex"), private_id: privateId.toString("hex") },
    otp: factor =>
      prefix +
      yubicoCode(secret, { privateId, useCounter: factor, sessionCounter: 0, random: randomBytes(2).readUInt16LE() }),
  };
}

/** A code of the right form that is none of the key's next ones, by chance neither. */
export function wrongOtp({ prefix, otp }: SoftwareKey): string {
  const genuine = new Set(Array.from({ length: 150 }, (_, factor) => otp(factor)));
  for (let code = 0; ; code++) {
    const wrong = prefix + String(code).padStart(6, "0");
    if (!genuine.has(wrong)) return wrong;
  }
}

/** The step of `totp` at a moment. */
export const stepAt = (time: string): number => Math.floor(Date.parse(time) / 30_000);
