import { type CountedAddress, countAddress, uncountAddress } from "./address-attempt.ts";
import { type Attempt, beginAttempt, endAttempt, holdAttempt } from "./attempt.ts";
import { audit, auditEnded, type Credentials } from "./audit.ts";
import { type Checked, checkFactors, type Keys, readKeys } from "./check-factors.ts";
import type { AuthDeps } from "./deps.ts";
import { identify } from "./identify.ts";
import { decideSignIn, type SignInRefusal } from "./policy.ts";
import type { Stored, User } from "./ports.ts";

/** Who signed in, and the prefix of the key whose OTP was used. */
export interface SignedIn {
  readonly user: Stored<User>;
  readonly prefix?: string;
}

/** The evidence stays inside; callers learn "granted" or not (decision A2). */
export type SignInResult =
  | ({ readonly granted: true } & SignedIn)
  | { readonly granted: false; readonly reason: SignInRefusal | "nobody" };

export interface SignInOptions {
  /** The caller's, where it is known. */
  readonly address?: string | undefined;
  /** Runs beside the last write of a granted attempt; it makes the session. */
  readonly beside?: (granted: SignedIn) => Promise<void>;
}

/**
 * Checks credentials by all rules: throttle, password, OTP, policy (decisions A4 to A8, A12), and writes one audit event. The
 * same work is done for whoever is named, so that time tells nothing. Throws Fault `throttled`.
 */
export async function signIn(
  credentials: Credentials,
  deps: AuthDeps,
  { address, beside = async () => {} }: SignInOptions = {},
): Promise<SignInResult> {
  const given: Credentials = {
    username: credentials.username || undefined,
    password: credentials.password || undefined,
    otp: credentials.otp || undefined,
  };
  try {
    const counted = await countAddress(address, deps);
    const named = await identify(given, deps);
    const read = (standing: Attempt["standing"]) => readKeys(standing, given.otp, named?.candidates, deps);
    const begun = named && (await beginAttempt(named, deps, read));
    if (begun === undefined) return await refuseNobody(given, deps);
    const { attempt, alongside } = begun;
    const result = await decide(given, { attempt, keys: alongside, counted }, deps, beside);
    if (result.granted && given.password !== undefined) await renewHash(result.user, given.password, deps);
    return result;
  } catch (error) {
    auditEnded(deps, given, error);
    throw error;
  }
}

/** No user can be meant, so no name has failures to count; a password takes its time all the same. */
async function refuseNobody(given: Credentials, deps: AuthDeps): Promise<SignInResult> {
  if (given.password !== undefined) await deps.hasher.verify(given.password, undefined);
  audit(deps, given, { outcome: "refused", reason: "nobody" });
  return { granted: false, reason: "nobody" };
}

interface Begun {
  readonly attempt: Attempt;
  readonly keys: Promise<Keys>;
  readonly counted: CountedAddress | undefined;
}

/** An attempt that ends undecided gives its place back: nothing was found wrong. */
async function decide(
  given: Credentials,
  { attempt, keys, counted }: Begun,
  deps: AuthDeps,
  beside: (granted: SignedIn) => Promise<void>,
): Promise<SignInResult> {
  const { user } = attempt.standing;
  try {
    const checked = await checkFactors(given, attempt.standing, await keys, deps);
    const result = resultOf(checked, user, deps);
    const { otp } = checked;
    // A wrong OTP is one write where it counts against its key. Where it does not, this stands for it: time must not tell.
    const held = result.granted || otp === undefined || otp.written ? attempt : await holdAttempt(attempt, deps);
    await Promise.all([
      endAttempt(held, result.granted ? "succeeded" : "failed", deps),
      ...(result.granted ? [beside(result), uncountAddress(counted, deps)] : []),
    ]);
    audit(deps, given, {
      outcome: result.granted ? "granted" : "refused",
      userId: user?.value.id,
      username: user?.value.name,
      ...(!result.granted && { reason: result.reason }),
      otpOutcome: otp?.outcome,
      prefix: otp?.key?.prefix,
    });
    return result;
  } catch (error) {
    const withdrawn = Promise.all([endAttempt(attempt, "withdrawn", deps), uncountAddress(counted, deps)]);
    await withdrawn.catch((failure: unknown) => deps.log.warn("attempt_not_withdrawn", { error: failure }));
    throw error;
  }
}

function resultOf({ facts, otp }: Checked, user: Stored<User> | undefined, { rules }: AuthDeps): SignInResult {
  if (user === undefined) return { granted: false, reason: "nobody" };
  const decision = decideSignIn(rules, facts);
  if (!decision.granted) return decision;
  const prefix = facts.otp === "valid" ? otp?.key?.prefix : undefined;
  return { granted: true, user, ...(prefix !== undefined && { prefix }) };
}

/**
 * Replaces an outdated hash by the version of the row that was checked: a reset in between wins (decision A4). What goes wrong
 * here is for the next sign-in: this one is granted.
 */
async function renewHash(user: Stored<User>, password: string, { hasher, users, log }: AuthDeps): Promise<void> {
  const { password: stored, epoch } = user.value;
  try {
    if (stored === undefined || !(await hasher.isOutdated(stored))) return;
    await users.save(user, { password: await hasher.hash(password), epoch });
  } catch (error) {
    log.warn("password_not_rehashed", { userId: user.value.id, error });
  }
}
