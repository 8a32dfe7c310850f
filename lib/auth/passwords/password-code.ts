import * as z from "zod";
import { isSameText } from "../../platform/crypto.ts";
import { type Immutable, storedInstant } from "../../platform/stored.ts";
import { hours, type Instant, type Now, plus } from "../../platform/time.ts";
import type { KeyedHash } from "../keyed-hash.ts";
import { createTypedCode, readTypedCode } from "./typed-code.ts";

/**
 * The stored one-time code of a reset, in place of a password. Without `hash` no code is accepted; the user then needs
 * another reset. While it is there, an OTP alone is not sufficient to sign in.
 */
export const passwordCodeSchema = z.lazy(() =>
  z.object({
    /** Keyed hash of the user's id and the code. */
    hash: z.string().exactOptional(),
    triesLeft: z.int().nonnegative(),
    validUntil: storedInstant,
  }),
);
type PasswordCode = Immutable<z.output<typeof passwordCodeSchema>>;

/** The time to hand the code over and to use it. */
const validMs = hours(1);
/** People mistype a code of 16 characters. It has 80 random bits, so that five tries guess nothing. */
const maxTries = 5;

type Hashing = { readonly keyedHash: KeyedHash };

/** Returns what is stored of a code. The id is part of it: moved to another user, the hash is wrong. */
const hashPasswordCode = (code: string, userId: number, { keyedHash }: Hashing): Promise<string> =>
  keyedHash("password code", `${userId}/${readTypedCode(code).replace(/[^0-9A-Z]/g, "")}`);

/** Creates a code, and what is stored of it. */
export async function createPasswordCode(
  userId: number,
  deps: Hashing & { readonly now: Now; readonly random: (bytes: number) => Uint8Array },
): Promise<{ readonly code: string; readonly stored: PasswordCode }> {
  const code = createTypedCode(deps.random);
  const stored = {
    hash: await hashPasswordCode(code, userId, deps),
    triesLeft: maxTries,
    validUntil: plus(deps.now(), validMs),
  };
  return { code, stored };
}

/** Returns the code if it can still be used, with its hash. */
export function usableCode(
  code: PasswordCode | undefined,
  now: Instant,
): (PasswordCode & { readonly hash: string }) | undefined {
  const { hash, triesLeft = 0, validUntil = now } = code ?? {};
  return hash !== undefined && triesLeft > 0 && now < validUntil ? { hash, triesLeft, validUntil } : undefined;
}

/** Returns a code that has ended. Its user still needs a reset. */
export const endedCode = ({ validUntil }: PasswordCode): PasswordCode => ({ triesLeft: 0, validUntil });

/** Returns whether a typed code is the one with the hash. */
export const isPasswordCode = async (code: string, hash: string, userId: number, deps: Hashing): Promise<boolean> =>
  isSameText(await hashPasswordCode(code, userId, deps), hash);
