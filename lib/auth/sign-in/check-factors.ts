import type { AuthDeps } from "../deps.ts";
import type { HashSlot } from "../passwords/hash-queue.ts";
import type { AssignedKey, OtpKey } from "../store.ts";
import { checkOtp, type OtpResult } from "./check-otp.ts";
import { checkPasswordCode } from "./check-password-code.ts";
import type { Credentials, Identified } from "./identify.ts";
import { isPasswordSatisfied, type SignInFacts } from "./policy.ts";
import { type Evidence, readSecondFactor } from "./read-evidence.ts";

export interface Checked {
  readonly facts: SignInFacts;
  readonly otp?: OtpResult;
}

/**
 * Checks both factors: the password first, because a wrong OTP counts only together with a right password. Without an OTP
 * reads the user's OTP keys while the password is hashed.
 * @param given `hashSlot` is released before the OTP is checked, which can take long at a validation server
 * @param identified `named` is a text for a read of what cannot exist, `attempt` for a dummy write
 */
export async function checkFactors(
  { password, code, otp, hashSlot }: Credentials & { readonly hashSlot: HashSlot },
  { user, candidates }: Evidence,
  { named, attempt }: Pick<Identified, "named" | "attempt">,
  deps: AuthDeps,
): Promise<Checked> {
  const { password: stored, passwordCode, otpkeys: assigned = [] } = user?.value ?? {};
  if (password === undefined) hashSlot.release();
  const [isRight, userHasSecondFactor] = await Promise.all([
    code !== undefined
      ? checkPasswordCode(code, user, attempt, deps)
      : password !== undefined && deps.hasher.verify(password, user?.value, hashSlot),
    otp === undefined && readSecondFactor(assigned, named, deps),
  ]);
  const passwordFact = (code ?? password) === undefined ? "absent" : isRight ? "right" : "wrong";
  const userHasPassword = user === undefined || stored !== undefined || passwordCode !== undefined;
  // A disabled user is refused as for a wrong password, with the same work: no wrong OTP counts.
  const isDisabled = user?.value.enabled === false;
  const isSatisfied =
    user !== undefined && !isDisabled && isPasswordSatisfied(deps.rules, { password: passwordFact, userHasPassword });
  const isAssigned = (key: OtpKey | AssignedKey) => assigned.some(({ id }) => id === key.id);
  const counts = (key: OtpKey) => isSatisfied && isAssigned(key);
  const result = otp === undefined ? undefined : await checkOtp(otp, candidates, { assigned, counts }, deps);
  const isGenuine = result?.outcome === "valid" && result.key !== undefined && isAssigned(result.key);
  return {
    facts: {
      isDisabled,
      password: passwordFact,
      userHasPassword,
      isPasswordEnded: deps.hasher.hasEnded(stored),
      mustChange: stored?.mustChange === true,
      otp: result === undefined ? "absent" : isGenuine ? "valid" : "refused",
      userHasSecondFactor,
    },
    ...(result && { otp: result }),
  };
}
