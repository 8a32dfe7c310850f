export const otpPolicies = ["never", "when-assigned", "always"] as const;

/** When a sign-in needs an OTP (A5). */
type OtpPolicy = (typeof otpPolicies)[number];

export interface SignInRules {
  readonly otpPolicy: OtpPolicy;
  /** Whether a user without a password may sign in with an OTP alone. */
  readonly allowEmptyPassword: boolean;
}

/** The results of the checks. For an unknown user: a wrong password, no OTP keys. */
export interface SignInFacts {
  /** Whether an administrator disabled the user. */
  readonly isDisabled: boolean;
  /** `absent`: no password or an empty one was given. */
  readonly password: "right" | "wrong" | "absent";
  /** Also true while a code is in its place. */
  readonly userHasPassword: boolean;
  /** Whether the password was imported and is not accepted any more, so that it is `wrong`. */
  readonly isPasswordEnded: boolean;
  /** Whether the user must change the password first. */
  readonly mustChange: boolean;
  /**
   * `valid`: of an enabled OTP key of this user that is not stopped, or its temporary code. `refused`: any other OTP.
   */
  readonly otp: "valid" | "refused" | "absent";
  /**
   * Of an OTP key that is enabled, or that has a temporary code. Also true if the key is stopped: otherwise the
   * password alone would be sufficient.
   */
  readonly userHasSecondFactor: boolean;
}

/** The decision on a sign-in. The reason is for the audit log only. */
type SignInDecision = { readonly granted: true } | { readonly granted: false; readonly reason: SignInRefusal };
export type SignInRefusal =
  | "disabled"
  | "wrong_password"
  | "imported_password_ended"
  | "no_password"
  | "wrong_otp"
  | "no_otp"
  | "must_change";

/** Decides whether the given factors are sufficient. */
export function decideSignIn(rules: SignInRules, facts: SignInFacts): SignInDecision {
  if (facts.isDisabled) return { granted: false, reason: "disabled" };
  if (!isPasswordSatisfied(rules, facts)) {
    if (facts.password !== "wrong") return { granted: false, reason: "no_password" };
    return { granted: false, reason: facts.isPasswordEnded ? "imported_password_ended" : "wrong_password" };
  }
  if (facts.otp === "refused") return { granted: false, reason: "wrong_otp" };
  if (facts.otp === "absent" && (needsOtp(rules, facts) || !facts.userHasPassword)) {
    return { granted: false, reason: "no_otp" };
  }
  if (facts.mustChange) return { granted: false, reason: "must_change" };
  return { granted: true };
}

/** Returns whether the password factor is satisfied. Only then does a wrong OTP count against its OTP key. */
export const isPasswordSatisfied = (
  rules: SignInRules,
  { password, userHasPassword }: Pick<SignInFacts, "password" | "userHasPassword">,
): boolean => (userHasPassword ? password === "right" : password === "absent" && rules.allowEmptyPassword);

function needsOtp({ otpPolicy }: SignInRules, { userHasSecondFactor }: SignInFacts): boolean {
  return otpPolicy === "always" || (otpPolicy === "when-assigned" && userHasSecondFactor);
}
