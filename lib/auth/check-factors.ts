import type { Credentials } from "./audit.ts";
import { checkOtp, type OtpCandidates, type OtpResult, readCandidates } from "./check-otp.ts";
import type { AuthDeps } from "./deps.ts";
import { passwordSatisfied, type SignInFacts } from "./policy.ts";
import type { AssignedKey, OtpKey, Standing } from "./ports.ts";

/** The keys that an attempt is about. */
export interface Keys {
  /** That the OTP may be of. */
  readonly candidates: OtpCandidates;
  /** Whether the user has an enabled one; a stopped one counts (decisions A5, A12). Of no interest where an OTP was given. */
  readonly anyEnabled: boolean;
}

/**
 * Reads what the decision will need of keys, all at once.
 * @param known candidates that were read already
 */
export async function readKeys(
  { otpkeys: assigned, throttle }: Standing,
  otp: string | undefined,
  known: OtpCandidates | undefined,
  deps: AuthDeps,
): Promise<Keys> {
  if (otp !== undefined) return { candidates: known ?? (await readCandidates(otp, deps)), anyEnabled: false };
  if (deps.rules.otpPolicy !== "when-assigned") return { candidates: [], anyEnabled: false };
  // Where there is no key, one that can not be is looked for: time must not tell who has one.
  const prefixes = assigned.length === 0 ? [throttle.handle] : assigned.map(({ prefix }) => prefix);
  const own = await Promise.all(prefixes.map(prefix => deps.otpkeys.find(prefix)));
  const isOwn = (key: OtpKey) => assigned.some(({ id }) => id === key.id);
  return { candidates: [], anyEnabled: own.some(key => key?.value.enabled === true && isOwn(key.value)) };
}

export interface Checked {
  readonly facts: SignInFacts;
  readonly otp?: OtpResult;
}

/** Both factors: the password's hash first, because a wrong OTP counts only beside a right one (decision A12). */
export async function checkFactors(
  { password, otp }: Credentials,
  { user, otpkeys: assigned }: Standing,
  { candidates, anyEnabled }: Keys,
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
