import type { AuthDeps } from "../deps.ts";
import { isPasswordSatisfied, type SignInFacts } from "../model/policy.ts";
import type { HashPlace } from "../passwords/hash-places.ts";
import type { AssignedKey, OtpKey, SignInState } from "../store.ts";
import { noUser } from "../user-hash.ts";
import type { Credentials } from "./audit.ts";
import { checkOtp, type OtpCandidates, type OtpResult, readCandidates } from "./check-otp.ts";
import { findHolder, type Identified } from "./identify.ts";

/** What is read from storage to decide an attempt. */
export interface Evidence {
  /** State of the identified user; without `user` if there is no such user. */
  readonly state: SignInState;
  /** OTP keys that the OTP may belong to. */
  readonly candidates: OtpCandidates;
  /**
   * Whether the user has an OTP key that is enabled, also if it is stopped, or that has a temporary code. Not read, and
   * false, if an OTP was given.
   */
  readonly hasSecondFactor: boolean;
}

/** Reads the evidence in parallel. @param state of the owner of the throttle that counts the attempt */
export async function readEvidence(
  state: SignInState,
  { otp }: Credentials,
  { byOtp }: Identified,
  deps: AuthDeps,
): Promise<Evidence> {
  if (byOtp !== undefined) {
    const holder = await findHolder(byOtp.key, deps);
    return { state: holder ?? state, candidates: byOtp.found.map(({ key }) => key), hasSecondFactor: false };
  }
  if (otp !== undefined) return { state, candidates: await readCandidates(otp, deps), hasSecondFactor: false };
  return { state, candidates: [], hasSecondFactor: await readSecondFactor(state, deps) };
}

async function readSecondFactor({ otpkeys: assigned }: SignInState, { otpkeys, rules }: AuthDeps): Promise<boolean> {
  if (rules.otpPolicy !== "when-assigned") return false;
  // Without a key reads one that cannot exist, so that timing does not reveal whether the user has a key.
  const prefixes = assigned.length === 0 ? [noUser.userHash] : assigned.map(({ prefix }) => prefix);
  const own = await Promise.all(prefixes.map(prefix => otpkeys.find(prefix)));
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
 * Checks both factors: the password first, because a wrong OTP counts only together with a right password.
 * @param given `place` is the attempt's place in the queue of password hashes
 */
export async function checkFactors(
  { password, otp, place }: Credentials & { readonly place: HashPlace },
  { state: { user, otpkeys: assigned }, candidates, hasSecondFactor }: Evidence,
  deps: AuthDeps,
): Promise<Checked> {
  const stored = user?.value.password;
  // An OTP can take long at a validation server.
  if (password === undefined) place.release();
  const isRight = password !== undefined && (await deps.hasher.verify(password, stored, place));
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
      userHasSecondFactor: hasSecondFactor,
    },
    ...(result && { otp: result }),
  };
}
