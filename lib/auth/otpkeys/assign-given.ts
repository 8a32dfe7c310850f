import { invalidRequest } from "../../platform/fault.ts";
import type { AuthDeps } from "../deps.ts";
import type { UserRef } from "../users/username.ts";
import { looksLikeOtp, type PrefixOrOtp, possiblePrefixes, splitOtp } from "./kinds/split-otp.ts";
import { assignKey } from "./manage-otpkeys.ts";
import { parsePrefix } from "./prefix.ts";

/**
 * Assigns the OTP key that a caller names by its prefix or by an OTP of it (A9). Creates no OTP key that is named like an OTP:
 * that would be a second factor which its user does not have.
 * Throws Fault `invalid` for an OTP of no existing OTP key, and as `assignKey`.
 */
export async function assignGivenKey(userRef: UserRef, given: PrefixOrOtp, deps: AuthDeps): Promise<void> {
  if ("prefix" in given) return assignKey(userRef, given.prefix, deps);
  const prefix = await findPrefix(given.otp, deps);
  if (!looksLikeOtp(prefix)) return assignKey(userRef, prefix, deps);
  // The OTP key exists. It may be deleted meanwhile.
  const create = async () => {
    throw unknownOtp();
  };
  return assignKey(userRef, prefix, deps, { create });
}

/**
 * Returns the text if it is the prefix of an OTP key, else the prefix of the OTP key whose form the OTP fits, else the text if it
 * may be a new prefix.
 */
async function findPrefix(otp: string, { otpkeys }: AuthDeps): Promise<string> {
  const whole = parsePrefix(otp);
  const prefixes = [...(whole === undefined ? [] : [whole]), ...possiblePrefixes(otp)];
  const found = await Promise.all(prefixes.map(prefix => otpkeys.find(prefix)));
  const known = found.flatMap(key => (key === undefined ? [] : [key.value]));
  const shapes = new Map(known.map(({ prefix, kind, form: { digits } }) => [prefix, { kind, digits }]));
  if (whole !== undefined && shapes.has(whole)) return whole;
  const split = splitOtp(otp, prefix => shapes.get(prefix));
  if (split !== undefined) return split.prefix;
  if (whole === undefined || looksLikeOtp(whole)) throw unknownOtp();
  return whole;
}

const unknownOtp = () =>
  invalidRequest([
    {
      path: "otpkey",
      reason: "looks like an OTP, but no otpkey matches it: send the prefix alone, or import the otpkey first",
    },
  ]);
