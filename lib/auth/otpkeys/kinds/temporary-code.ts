import * as z from "zod";
import { hashOf, isSameText } from "../../../platform/crypto.ts";
import { type Immutable, storedInstant } from "../../../platform/stored.ts";
import type { Instant } from "../../../platform/time.ts";
import { readTypedCode } from "../../passwords/typed-code.ts";

/**
 * The stored temporary code of a lost OTP key. Without `hash` no code is accepted; the user still needs an OTP to sign
 * in.
 */
export const temporaryCodeSchema = z.lazy(() =>
  z.object({
    /** SHA-256 of the code in base64url. The code has 80 random bits, so a fast hash cannot be searched. */
    hash: z.string().exactOptional(),
    usesLeft: z.int().nonnegative(),
    validUntil: storedInstant,
  }),
);
export type TemporaryCode = Immutable<z.output<typeof temporaryCodeSchema>>;

/**
 * Splits `<prefix>-<code>`, in any case. No OTP of an OTP key has this form: their codes contain no hyphen between
 * letters.
 */
export function splitTemporaryOtp(otp: string): { readonly prefix: string; readonly code: string } | undefined {
  if (otp.length > 64) return undefined;
  const [, prefix = "", code] = /^([a-z0-9]{1,32})-([a-z0-9]{4}(?:-[a-z0-9]{4}){3})$/i.exec(otp) ?? [];
  return code === undefined ? undefined : { prefix: prefix.toLowerCase(), code };
}

/** Returns the stored form of a code. */
export const hashTemporaryCode = (code: string): string => hashOf(readTypedCode(code));

/** Returns a stored code without its hash: it is revoked, used up or from a backup. Its user still needs an OTP. */
export const withoutHash = ({ usesLeft, validUntil }: TemporaryCode): TemporaryCode => ({ usesLeft, validUntil });

/**
 * Checks a code of an OTP key that may have none. Returns the outcome and, if the code is valid, the code to store
 * after its use.
 */
export function decideTemporaryCode(
  stored: TemporaryCode | undefined,
  code: string,
  now: Instant,
): {
  readonly outcome: "valid" | "invalid" | "code_used_up" | "code_expired";
  readonly temporaryCode?: TemporaryCode;
} {
  if (stored === undefined) return { outcome: "invalid" };
  if (stored.usesLeft === 0) return { outcome: "code_used_up" };
  if (stored.hash === undefined || now >= stored.validUntil) return { outcome: "code_expired" };
  if (!isSameText(stored.hash, hashTemporaryCode(code))) return { outcome: "invalid" };
  const next = { ...stored, usesLeft: stored.usesLeft - 1 };
  return { outcome: "valid", temporaryCode: next.usesLeft === 0 ? withoutHash(next) : next };
}
