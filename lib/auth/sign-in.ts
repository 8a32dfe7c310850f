import { beginAttempt, endAttempt } from "./attempt.ts";
import { checkOtp, type OtpCandidates, type OtpResult, readCandidates } from "./check-otp.ts";
import type { AuthDeps } from "./deps.ts";
import { cuts } from "./otp/split.ts";
import { decideSignIn, identifiedBy, passwordSatisfied, type SignInFacts, type SignInRefusal } from "./policy.ts";
import type { AssignedKey, OtpKey, Standing, Stored, User, Whom } from "./ports.ts";
import { parseUsername } from "./username.ts";

/** What a caller presents. An empty text is as if absent. */
export interface Credentials {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly otp?: string | undefined;
}

/** The evidence stays inside; callers learn "granted" or not (decision A2). */
export type SignInResult =
  | { readonly granted: true; readonly user: Stored<User>; readonly prefix?: string }
  | { readonly granted: false; readonly reason: SignInRefusal | "nobody" };

/**
 * Checks credentials by all rules: throttle, password, OTP, policy (decisions A4 to A8, A12), and writes one audit event. The
 * same work is done for whoever is named, so that time tells nothing.
 * @param beside runs beside the last write of a granted attempt; it makes the session
 * @throws Fault `throttled`
 */
export async function signIn(
  credentials: Credentials,
  deps: AuthDeps,
  beside: (granted: { user: Stored<User>; prefix?: string }) => Promise<void> = async () => {},
): Promise<SignInResult> {
  const password = credentials.password || undefined;
  const otp = credentials.otp || undefined;
  const named = await nameOf(credentials.username || undefined, otp, deps);
  if (named === undefined) {
    await deps.hasher.verify(password ?? "-", undefined);
    audit(deps, { username: credentials.username, outcome: "refused", reason: "nobody", password, otp });
    return { granted: false, reason: "nobody" };
  }
  const begun = await beginAttempt(named.whom, deps, standing => readKeys(standing, otp, named.candidates, deps));
  if (begun === undefined) return { granted: false, reason: "nobody" };
  const { attempt, result: keys } = begun;
  try {
    const { standing } = attempt;
    const checked = await checkFactors({ password, otp, keys }, standing, deps);
    const decision = decideSignIn(deps.rules, checked.facts);
    const { user } = standing;
    const granted = decision.granted && user !== undefined;
    const prefix = checked.otp?.outcome === "valid" ? checked.otp.key?.prefix : undefined;
    const passed = granted ? { user, ...(prefix !== undefined && { prefix }) } : undefined;
    await Promise.all([endAttempt(attempt, granted ? "succeeded" : "failed", deps), passed && beside(passed)]);
    const reason = decision.granted ? undefined : decision.reason;
    audit(deps, {
      userId: user?.value.id,
      username: user?.value.name ?? credentials.username,
      outcome: granted ? "granted" : "refused",
      reason: user === undefined ? "nobody" : reason,
      password,
      otp,
      otpOutcome: checked.otp?.outcome,
      prefix: checked.otp?.key?.prefix,
    });
    if (passed === undefined) return { granted: false, reason: user === undefined ? "nobody" : (reason ?? "nobody") };
    if (checked.facts.password === "right") await rehash(passed.user, password ?? "", deps);
    return { granted: true, ...passed };
  } catch (error) {
    await endAttempt(attempt, "withdrawn", deps).catch((failure: unknown) =>
      deps.log.warn("attempt_not_withdrawn", { error: failure }),
    );
    throw error;
  }
}

interface Named {
  readonly whom: Whom;
  /** Read already to find out who is meant. */
  readonly candidates?: OtpCandidates;
}

/** Who is meant: by name, or by the key of the OTP where that is allowed and the key is one user's alone (decision A6). */
async function nameOf(
  username: string | undefined,
  otp: string | undefined,
  deps: AuthDeps,
): Promise<Named | undefined> {
  if (username !== undefined) {
    const parsed = parseUsername(username);
    return parsed.ok ? { whom: { by: "name", folded: parsed.value.folded } } : undefined;
  }
  if (otp === undefined || !deps.rules.identifyByOtp) return undefined;
  const found = await Promise.all(cuts(otp).map(({ prefix }) => deps.otpkeys.findHolders(prefix)));
  for (const holders of found) {
    if (holders === undefined) continue;
    const standings = await Promise.all(holders.candidates.map(pointer => deps.users.standing(pointer)));
    const has = (keys: readonly AssignedKey[]) => keys.some(({ id }) => id === holders.key.value.id);
    const holding = holders.candidates.filter((_, index) => has(standings[index]?.otpkeys ?? []));
    const id = identifiedBy({ enabled: holders.key.value.enabled, users: holding.map(user => user.id) });
    const whom = holding.find(user => user.id === id);
    if (whom !== undefined) return { whom, candidates: found.flatMap(each => (each === undefined ? [] : [each.key])) };
  }
  return undefined;
}

/** The keys that the attempt is about. */
interface Keys {
  /** That the OTP may be of. */
  readonly candidates: OtpCandidates;
  /** Whether the user has an enabled one; a stopped one counts (decisions A5, A12). */
  readonly anyEnabled: boolean;
}

/** Reads beside the reservation what the decision will need, all at once. */
async function readKeys(
  { otpkeys: assigned }: Standing,
  otp: string | undefined,
  known: OtpCandidates | undefined,
  deps: AuthDeps,
): Promise<Keys> {
  const asked = deps.rules.otpPolicy === "when-assigned" ? assigned : [];
  const [candidates, own] = await Promise.all([
    otp === undefined ? [] : (known ?? readCandidates(otp, deps)),
    Promise.all(asked.map(({ prefix }) => deps.otpkeys.find(prefix))),
  ]);
  const anyEnabled = own.some((key, index) => key?.value.id === asked[index]?.id && key?.value.enabled === true);
  return { candidates, anyEnabled };
}

interface Checked {
  readonly facts: SignInFacts;
  readonly otp?: OtpResult;
}

/** Both factors: the password's hash first, because a wrong OTP counts only beside a right one (decision A12). */
async function checkFactors(
  { password, otp, keys }: { password: string | undefined; otp: string | undefined; keys: Keys },
  { user, otpkeys: assigned }: Standing,
  deps: AuthDeps,
): Promise<Checked> {
  const stored = user?.value.password;
  const right = password !== undefined && (await deps.hasher.verify(password, stored));
  const passwordFact = password === undefined ? "absent" : right ? "right" : "wrong";
  const userHasPassword = user === undefined || stored !== undefined;
  const satisfied = user !== undefined && passwordSatisfied(deps.rules, { password: passwordFact, userHasPassword });
  const isAssigned = (key: OtpKey | AssignedKey) => assigned.some(({ id }) => id === key.id);
  const counts = (key: OtpKey) => satisfied && isAssigned(key);
  const result = otp === undefined ? undefined : await checkOtp(otp, keys.candidates, { assigned, counts }, deps);
  const genuine = result?.outcome === "valid" && result.key !== undefined && isAssigned(result.key);
  return {
    facts: {
      password: passwordFact,
      userHasPassword,
      otp: result === undefined ? "absent" : genuine ? "valid" : "refused",
      userHasEnabledKey: keys.anyEnabled,
    },
    ...(result && { otp: result }),
  };
}

/** Replaces an outdated hash by the version of the row that was checked: a reset in between wins (decision A4). */
async function rehash(user: Stored<User>, password: string, deps: AuthDeps): Promise<void> {
  const { password: stored, epoch } = user.value;
  if (stored === undefined || !(await deps.hasher.isOutdated(stored))) return;
  await deps.users.save(user, { password: await deps.hasher.hash(password), epoch });
}

interface Audited {
  readonly userId?: number | undefined;
  readonly username?: string | undefined;
  readonly outcome: "granted" | "refused";
  readonly reason?: string | undefined;
  readonly password: string | undefined;
  readonly otp: string | undefined;
  readonly otpOutcome?: string | undefined;
  readonly prefix?: string | undefined;
}

/** Every authentication, good or bad (decision A12): who, which factors, what came of it; caller and request id are in every line. */
function audit({ log }: AuthDeps, { password, otp, username, ...told }: Audited): void {
  const factors = [...(password === undefined ? [] : ["password"]), ...(otp === undefined ? [] : ["otp"])];
  log.info("authentication", { ...told, username: username?.slice(0, 128), factors });
}
