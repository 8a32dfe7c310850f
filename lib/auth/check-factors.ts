import type { Credentials } from "./audit.ts";
import { checkOtp, type OtpCandidates, type OtpResult, readCandidates } from "./check-otp.ts";
import type { AuthDeps } from "./deps.ts";
import { passwordSatisfied, type SignInFacts } from "./policy.ts";
import type { AssignedKey, OtpKey, OtpKeys, Standing } from "./ports.ts";

/** The keys that an attempt is about. */
export interface Keys {
  /** That the OTP may be of. */
  readonly candidates: OtpCandidates;
  /** Whether the user has an enabled one; a stopped one counts (decisions A5, A12). */
  readonly anyEnabled: boolean;
}

/**
 * Reads what the decision will need of keys, all at once and each once.
 * @param known candidates that were read already
 */
export async function readKeys(
  { otpkeys: assigned }: Standing,
  otp: string | undefined,
  known: OtpCandidates | undefined,
  { otpkeys, rules }: Pick<AuthDeps, "otpkeys" | "rules">,
): Promise<Keys> {
  const reads = new Map<string, ReturnType<OtpKeys["find"]>>();
  for (const key of known ?? []) reads.set(key.value.prefix, Promise.resolve(key));
  const find: OtpKeys["find"] = prefix => {
    const read = reads.get(prefix) ?? otpkeys.find(prefix);
    reads.set(prefix, read);
    return read;
  };
  const asked = rules.otpPolicy === "when-assigned" ? assigned : [];
  const [candidates, own] = await Promise.all([
    otp === undefined ? [] : (known ?? readCandidates(otp, { otpkeys: { find } })),
    Promise.all(asked.map(({ prefix }) => find(prefix))),
  ]);
  const anyEnabled = own.some((key, index) => key?.value.id === asked[index]?.id && key?.value.enabled === true);
  return { candidates, anyEnabled };
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
