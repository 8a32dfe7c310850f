import { conflict, retryOnConflict, type Stored } from "../../platform/stored.ts";
import type { AuthDeps } from "../deps.ts";
import type { HashSlot } from "../passwords/hash-queue.ts";
import { isPasswordCode, usableCode } from "../passwords/password-code.ts";
import type { AssignedKey, OtpKey, User } from "../store.ts";
import { checkOtp, type OtpResult } from "./check-otp.ts";
import type { Credentials, Evidence, Identified } from "./identify.ts";
import { type Attempt, padTiming } from "./limit-attempts.ts";
import { isPasswordSatisfied, type SignInFacts } from "./policy.ts";

/** The results of both factors, as the policy needs them. */
export interface FactorResults {
  readonly facts: SignInFacts;
  readonly otp?: OtpResult;
}

/**
 * Checks both factors: the password first, because a wrong OTP counts only together with a right password. Without an
 * OTP reads the user's OTP keys while the password is hashed.
 * @param given `hashSlot` is released before the OTP is checked, which can take long at a validation server
 * @param identified `named` is a text for a read of what cannot exist, `attempt` for a dummy write
 */
export async function checkFactors(
  { password, passwordCode, otp, hashSlot }: Credentials & { readonly hashSlot: HashSlot },
  { user, candidates }: Evidence,
  { named, attempt }: Pick<Identified, "named" | "attempt">,
  deps: AuthDeps,
): Promise<FactorResults> {
  const { password: stored, passwordCode: storedCode, otpkeys: assigned = [] } = user?.value ?? {};
  if (password === undefined) hashSlot.release();
  const [isRight, userHasSecondFactor] = await Promise.all([
    passwordCode !== undefined
      ? checkPasswordCode(passwordCode, user, attempt, deps)
      : password !== undefined && deps.hasher.verify(password, user?.value, hashSlot),
    otp === undefined && readSecondFactor(assigned, named, deps),
  ]);
  const passwordFact = (passwordCode ?? password) === undefined ? "absent" : isRight ? "right" : "wrong";
  const userHasPassword = user === undefined || stored !== undefined || storedCode !== undefined;
  // A disabled user is refused as for a wrong password, with the same work: no wrong OTP counts.
  const isDisabled = user?.value.enabled === false;
  const isSatisfied =
    user !== undefined && !isDisabled && isPasswordSatisfied(deps.rules, { password: passwordFact, userHasPassword });
  const isAssigned = (key: OtpKey | AssignedKey) => assigned.some(({ id }) => id === key.id);
  const countsAgainstKey = (key: OtpKey) => isSatisfied && isAssigned(key);
  const result = otp === undefined ? undefined : await checkOtp(otp, candidates, { assigned, countsAgainstKey }, deps);
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

/**
 * Returns whether a typed code is the one of the user's reset. Uses up a try by a write before the comparison, so that
 * parallel guesses cannot pass together. Without a usable code does a dummy write, so that timing does not reveal
 * whether the user has one.
 */
async function checkPasswordCode(
  code: string,
  user: Stored<User> | undefined,
  attempt: Attempt,
  deps: AuthDeps,
): Promise<boolean> {
  let current = user;
  return retryOnConflict(async () => {
    const usable = usableCode(current?.value.passwordCode, deps.now());
    if (current === undefined || usable === undefined) {
      await padTiming(attempt, deps);
      return false;
    }
    const { value } = current;
    const passwordCode = { ...usable, triesLeft: usable.triesLeft - 1 };
    if ((await deps.users.save(current, { passwordCode })) !== undefined)
      return isPasswordCode(code, usable.hash, value.id, deps);
    current = await deps.users.find({ by: "id", id: value.id });
    return conflict;
  });
}

/**
 * Returns whether the user has an OTP key that is enabled, also if it is stopped, or that has a temporary code. Without
 * an OTP key reads one that cannot exist, so that timing does not reveal whether the user has one.
 */
async function readSecondFactor(
  assigned: readonly AssignedKey[],
  named: string,
  { otpkeys, rules }: AuthDeps,
): Promise<boolean> {
  if (rules.otpPolicy !== "when-assigned") return false;
  if (assigned.length === 0) {
    await otpkeys.findNone(named);
    return false;
  }
  const own = await Promise.all(assigned.map(({ prefix }) => otpkeys.find(prefix)));
  // A user with a temporary code, also one that is used up, needs a second factor: otherwise the password alone would
  // be sufficient.
  const isSecondFactor = ({ enabled, temporaryCode }: OtpKey) => enabled || temporaryCode !== undefined;
  return own.some(
    key => key !== undefined && isSecondFactor(key.value) && assigned.some(({ id }) => id === key.value.id),
  );
}
