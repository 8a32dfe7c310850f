import type { AuthDeps } from "../deps.ts";
import type { HashPlace } from "../passwords/hash-places.ts";
import type { AssignedKey, OtpKey, Stored, User } from "../store.ts";
import type { Credentials } from "./audit.ts";
import { checkOtp, type OtpCandidates, type OtpResult, readCandidates } from "./check-otp.ts";
import type { Identified } from "./identify.ts";
import { isPasswordSatisfied, type SignInFacts } from "./policy.ts";

/** What is read from storage to decide an attempt. */
export interface Evidence {
  /** Absent: there is no such user. */
  readonly user?: Stored<User> | undefined;
  /** OTP keys that the OTP may belong to. */
  readonly candidates: OtpCandidates;
}

/** Reads the user and the OTP keys in parallel. */
export async function readEvidence(identified: Identified, { otp }: Credentials, deps: AuthDeps): Promise<Evidence> {
  const { byOtp } = identified;
  const [user, candidates] = await Promise.all([
    identified.readUser(),
    byOtp?.found.map(({ key }) => key) ?? (otp === undefined ? [] : readCandidates(otp, deps)),
  ]);
  return { user, candidates };
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

export interface Checked {
  readonly facts: SignInFacts;
  readonly otp?: OtpResult;
}

/**
 * Checks both factors: the password first, because a wrong OTP counts only together with a right password. Without an OTP
 * reads the user's OTP keys while the password is hashed.
 * @param given `place` is the attempt's place in the queue of password hashes
 * @param named a text for a read of what cannot exist
 */
export async function checkFactors(
  { password, otp, place }: Credentials & { readonly place: HashPlace },
  { user, candidates }: Evidence,
  named: string,
  deps: AuthDeps,
): Promise<Checked> {
  const { password: stored, otpkeys: assigned = [] } = user?.value ?? {};
  // An OTP can take long at a validation server.
  if (password === undefined) place.release();
  const [isRight, userHasSecondFactor] = await Promise.all([
    password !== undefined && deps.hasher.verify(password, user?.value, place),
    otp === undefined && readSecondFactor(assigned, named, deps),
  ]);
  const passwordFact = password === undefined ? "absent" : isRight ? "right" : "wrong";
  const userHasPassword = user === undefined || stored !== undefined;
  const isSatisfied =
    user !== undefined && isPasswordSatisfied(deps.rules, { password: passwordFact, userHasPassword });
  const isAssigned = (key: OtpKey | AssignedKey) => assigned.some(({ id }) => id === key.id);
  const counts = (key: OtpKey) => isSatisfied && isAssigned(key);
  const result = otp === undefined ? undefined : await checkOtp(otp, candidates, { assigned, counts }, deps);
  const isGenuine = result?.outcome === "valid" && result.key !== undefined && isAssigned(result.key);
  return {
    facts: {
      password: passwordFact,
      userHasPassword,
      otp: result === undefined ? "absent" : isGenuine ? "valid" : "refused",
      userHasSecondFactor,
    },
    ...(result && { otp: result }),
  };
}
