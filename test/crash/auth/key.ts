import { randomBytes } from "node:crypto";
import { hotpCode, yubicoCode } from "../../lib/auth/otpkeys/kinds/codes.ts";

/** A key to import, with a token in hand. */
export interface Key {
  readonly prefix: string;
  /** As `POST /core/otpkeys` takes it. */
  readonly fields: Readonly<Record<string, string>>;
  /** A new genuine OTP; of kind `totp` that of now. */
  next(): string;
  /** Of the right look, and not genuine. */
  wrong(): string;
}

export type Kind = "hotp" | "totp" | "yubico";

export function newKey(kind: Kind, prefix: string): Key {
  const secret = randomBytes(kind === "yubico" ? 16 : 20);
  const privateId = randomBytes(6);
  let used = 0;
  let wrong = 2 ** 40;
  const codes: Record<Kind, () => string> = {
    hotp: () => hotpCode(secret, used++),
    totp: () => hotpCode(secret, Math.floor(Date.now() / 30_000)),
    yubico: () => yubicoCode(secret, { privateId, useCounter: 1, sessionCounter: used++ }),
  };
  const fields = { prefix, kind, secret: secret.toString("hex") };
  return {
    prefix,
    fields: kind === "yubico" ? { ...fields, private_id: privateId.toString("hex") } : fields,
    next: () => prefix + codes[kind](),
    // A code of a factor that no window reaches; of 16 random bytes none passes the checksum and the private id.
    wrong: () => prefix + (kind === "yubico" ? "c".repeat(32) : hotpCode(secret, wrong++)),
  };
}
