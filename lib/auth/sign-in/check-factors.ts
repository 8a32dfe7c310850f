import { conflict, retryOnConflict, type Stored } from "../../platform/stored.ts";
import type { AuthDeps } from "../deps.ts";
import type { HashSlot } from "../passwords/hash-queue.ts";
import { isPasswordCode, usableCode } from "../passwords/password-code.ts";
import type { AssignedKey, OtpKey, User } from "../store.ts";
import { type Attempt, padTiming } from "./attempt.ts";
import { checkOtp, type OtpResult } from "./check-otp.ts";
import type { Credentials, Evidence } from "./identify.ts";

type SignInRules = Pick<AuthDeps["rules"], "allowEmptyPassword">;

/** The results of the checks. For an unknown user: a wrong password, no OTP keys. */
export interface SignInFacts {
  readonly isDisabled: boolean;
  /** `absent`: no password or an empty one was given. */
  readonly password: "right" | "wrong" | "absent";
  /** Also true while a code is in its place. */
  readonly userHasPassword: boolean;
  readonly mustChange: boolean;
  /**
   * `valid`: of an enabled OTP key of this user that is not stopped, or its temporary code. `refused`: any other OTP.
   */
  readonly otp: "valid" | "refused" | "absent";
  /** Whether the policy demands an OTP of the user. Read only if none was given, else false. */
  readonly needsOtp: boolean;
}

/** The outcome of the checks: why the sign-in is refused, or whom it is granted; and the result of the OTP, if any. */
type CheckedFactors = { readonly result: OtpResult | undefined } & (
  | { readonly reason: SignInRefusal; readonly user?: Stored<User> | undefined }
  | { readonly reason: undefined; readonly user: Stored<User> }
);

/**
 * Checks both factors: the password first, because a wrong OTP counts only together with a right password. Without an
 * OTP reads the user's OTP keys while the password is hashed. `hashSlot` is released before the OTP is checked, which
 * can take long at a validation server. For the same timing of every attempt, `named` is a text for a read of what
 * cannot exist, and `attempt` is for a dummy write.
 */
export async function checkFactors(
  { password, passwordCode, otp }: Credentials,
  { user, keys }: Evidence,
  { attempt, named, hashSlot }: { readonly attempt: Attempt; readonly named: string; readonly hashSlot: HashSlot },
  deps: AuthDeps,
): Promise<CheckedFactors> {
  const { password: stored, passwordCode: storedCode, otpkeys: assigned = [], enabled = true } = user?.value ?? {};
  if (password === undefined) hashSlot.release();
  const [isRight, needsOtp] = await Promise.all([
    passwordCode !== undefined
      ? checkPasswordCode(passwordCode, user, attempt, deps)
      : password !== undefined && deps.hasher.verify(password, user?.value, hashSlot),
    otp === undefined && readNeedsOtp(assigned, named, deps),
  ]);
  const isGiven = (passwordCode ?? password) !== undefined;
  const facts = {
    isDisabled: !enabled,
    password: isGiven ? (isRight ? "right" : "wrong") : "absent",
    userHasPassword: user === undefined || stored !== undefined || storedCode !== undefined,
    mustChange: stored?.mustChange === true,
    needsOtp,
  } as const;
  // A disabled user is refused as for a wrong password, with the same work: no wrong OTP counts.
  const isCounted = user !== undefined && enabled && isPasswordSatisfied(deps.rules, facts);
  const result = otp === undefined ? undefined : await checkOtp(otp, keys, { accepted: assigned, isCounted }, deps);
  if (user === undefined) return { reason: "unknown_user", result };
  const otpFact = result === undefined ? "absent" : result.isAccepted ? "valid" : "refused";
  const reason = refusalOf(deps.rules, { ...facts, otp: otpFact });
  if (reason !== "wrong_password") return { reason, user, result };
  if (passwordCode !== undefined) return { reason: "wrong_code", user, result };
  return { reason: deps.hasher.hasEnded(stored) ? "imported_password_ended" : reason, user, result };
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
 * Returns whether the policy demands an OTP. With `when-assigned` that is if the user has an OTP key that is enabled,
 * also if it is stopped, or that has a temporary code. Without an OTP key reads one that cannot exist, so that timing
 * does not reveal whether the user has one.
 */
async function readNeedsOtp(
  assigned: readonly AssignedKey[],
  named: string,
  { otpkeys, rules }: AuthDeps,
): Promise<boolean> {
  if (rules.otpPolicy !== "when-assigned") return rules.otpPolicy === "always";
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

/** Why a sign-in is refused. For the audit log and administrators only: callers learn "not granted" (A2). */
type SignInRefusal =
  | "unknown_user"
  | "disabled"
  | "wrong_password"
  | "wrong_code"
  | "imported_password_ended"
  | "no_password"
  | "wrong_otp"
  | "no_otp"
  | "must_change";

/** Decides whether the given factors are sufficient. Returns the reason if they are not. */
export function refusalOf(rules: SignInRules, facts: SignInFacts): SignInRefusal | undefined {
  if (facts.isDisabled) return "disabled";
  if (!isPasswordSatisfied(rules, facts)) return facts.password === "wrong" ? "wrong_password" : "no_password";
  if (facts.otp === "refused") return "wrong_otp";
  if (facts.otp === "absent" && (facts.needsOtp || !facts.userHasPassword)) return "no_otp";
  return facts.mustChange ? "must_change" : undefined;
}

/** Returns whether the password factor is satisfied. Only then does a wrong OTP count against its OTP key. */
export const isPasswordSatisfied = (
  rules: SignInRules,
  { password, userHasPassword }: Pick<SignInFacts, "password" | "userHasPassword">,
): boolean => (userHasPassword ? password === "right" : password === "absent" && rules.allowEmptyPassword);
