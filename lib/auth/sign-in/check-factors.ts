import type { AuthDeps } from "../deps.ts";
import { passwordSatisfied, type SignInFacts } from "../model/policy.ts";
import type { AssignedKey, OtpKey, SignInState } from "../store.ts";
import { noUser } from "../user-hash.ts";
import type { Credentials } from "./audit.ts";
import { checkOtp, type OtpCandidates, type OtpResult, readCandidates } from "./check-otp.ts";
import { holderOf, type Named } from "./identify.ts";

/** What the decision on an attempt needs, beside what was given. */
export interface Evidence {
  /** Of the user who is named; without `user` where none is. */
  readonly standing: SignInState;
  /** Keys that the OTP may be of. */
  readonly candidates: OtpCandidates;
  /** Whether the user has an enabled one; a stopped one counts (decisions A5, A12). Of no interest where an OTP was given. */
  readonly anyEnabled: boolean;
}

/**
 * Reads what the decision will need, all at once.
 * @param standing of whom the attempt counts to
 */
export async function readEvidence(
  standing: SignInState,
  { otp }: Credentials,
  { byOtp }: Named,
  deps: AuthDeps,
): Promise<Evidence> {
  if (byOtp !== undefined) {
    const holder = await holderOf(byOtp.key, deps);
    return { standing: holder ?? standing, candidates: byOtp.found.map(({ key }) => key), anyEnabled: false };
  }
  if (otp !== undefined) return { standing, candidates: await readCandidates(otp, deps), anyEnabled: false };
  return { standing, candidates: [], anyEnabled: await hasEnabledKey(standing, deps) };
}

async function hasEnabledKey({ otpkeys: assigned }: SignInState, { otpkeys, rules }: AuthDeps): Promise<boolean> {
  if (rules.otpPolicy !== "when-assigned") return false;
  // Where there is no key, one that can not be is looked for: time must not tell who has one.
  const prefixes = assigned.length === 0 ? [noUser.handle] : assigned.map(({ prefix }) => prefix);
  const own = await Promise.all(prefixes.map(prefix => otpkeys.find(prefix)));
  return own.some(key => key?.value.enabled === true && assigned.some(({ id }) => id === key.value.id));
}

export interface Checked {
  readonly facts: SignInFacts;
  readonly otp?: OtpResult;
}

/** Both factors: the password's hash first, because a wrong OTP counts only beside a right one (decision A12). */
export async function checkFactors(
  { password, otp }: Credentials,
  { standing: { user, otpkeys: assigned }, candidates, anyEnabled }: Evidence,
  deps: AuthDeps,
): Promise<Checked> {
  const stored = user?.value.password;
  const right = password !== undefined && (await deps.hasher.verify(password, stored));
  const passwordFact = password === undefined ? "absent" : right ? "right" : "wrong";
  const userHasPassword = user === undefined || stored !== undefined;
  const satisfied = user !== undefined && passwordSatisfied(deps.rules, { password: passwordFact, userHasPassword });
  const isAssigned = (key: OtpKey | AssignedKey) => assigned.some(({ id }) => id === key.id);
  const counts = (key: OtpKey) => satisfied && isAssigned(key);
  const result = otp === undefined ? undefined : await checkOtp(otp, candidates, { assigned, counts }, deps);
  const genuine = result?.outcome === "valid" && result.key !== undefined && isAssigned(result.key);
  return {
    facts: {
      password: passwordFact,
      userHasPassword,
      otp: result === undefined ? "absent" : genuine ? "valid" : "refused",
      userHasEnabledKey: anyEnabled,
    },
    ...(result && { otp: result }),
  };
}
