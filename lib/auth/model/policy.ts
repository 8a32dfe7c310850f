export const otpPolicies = ["never", "when-assigned", "always"] as const;

/** When a sign-in needs an OTP (decision A5). */
export type OtpPolicy = (typeof otpPolicies)[number];

export interface SignInRules {
  readonly otpPolicy: OtpPolicy;
  /** Whether a user without a password may sign in by OTP alone (decision A4). */
  readonly allowEmptyPassword: boolean;
}

/** What the checks found. Of an unknown user: a wrong password, no keys. */
export interface SignInFacts {
  /** `absent`: none was given, or an empty one. */
  readonly password: "right" | "wrong" | "absent";
  readonly userHasPassword: boolean;
  /** `valid`: of an enabled key of this user that is not stopped. `refused`: given, and anything else. */
  readonly otp: "valid" | "refused" | "absent";
  /** Stopped ones count, so that stopping a key opens no account to the password alone (decision A12). */
  readonly userHasEnabledKey: boolean;
}

/** For the audit; callers learn nothing of the reason. */
export type SignIn = { readonly granted: true } | { readonly granted: false; readonly reason: SignInRefusal };
export type SignInRefusal = "wrong_password" | "no_password" | "wrong_otp" | "no_otp";

/** Whether what was given is sufficient (decisions A4 and A5). */
export function decideSignIn(rules: SignInRules, facts: SignInFacts): SignIn {
  if (!passwordSatisfied(rules, facts)) {
    return { granted: false, reason: facts.password === "wrong" ? "wrong_password" : "no_password" };
  }
  if (facts.otp === "refused") return { granted: false, reason: "wrong_otp" };
  if (facts.otp === "absent" && (needsOtp(rules, facts) || !facts.userHasPassword)) {
    return { granted: false, reason: "no_otp" };
  }
  return { granted: true };
}

/** Whether the password factor is: only then does a wrong OTP count against the key (decision A12). */
export const passwordSatisfied = (
  rules: SignInRules,
  { password, userHasPassword }: Pick<SignInFacts, "password" | "userHasPassword">,
): boolean => (userHasPassword ? password === "right" : password === "absent" && rules.allowEmptyPassword);

function needsOtp({ otpPolicy }: SignInRules, { userHasEnabledKey }: SignInFacts): boolean {
  return otpPolicy === "always" || (otpPolicy === "when-assigned" && userHasEnabledKey);
}

/** The user whom a key names by its prefix: it is enabled and assigned to that one alone (decision A6). */
export function identifiedBy(key: {
  readonly enabled: boolean;
  readonly users: readonly number[];
}): number | undefined {
  return key.enabled && key.users.length === 1 ? key.users[0] : undefined;
}
