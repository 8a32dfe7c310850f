import { Fault } from "../fault.ts";
import { type CountedAddress, countAddress } from "./address-attempt.ts";
import { type Attempt, beginAttempt, endAttempt, holdAttempt } from "./attempt.ts";
import { audit, auditEnded, type Credentials } from "./audit.ts";
import { type Checked, checkFactors, type Keys, readKeys } from "./check-factors.ts";
import { checkOtp, readCandidates } from "./check-otp.ts";
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
  let counted: CountedAddress | undefined;
  try {
    counted = await countAddress(address, deps);
    const named = await identify(given, deps);
    const read = (standing: Attempt["standing"]) => readKeys(standing, given.otp, named?.candidates, deps);
    const begun = named && (await beginAttempt(named, deps, read));
    if (begun === undefined) return await refuseNobody(given, deps);
    const { attempt, alongside } = begun;
    const result = await decide(given, { attempt, keys: alongside, counted }, deps, beside);
    if (result.granted && given.password !== undefined) await renewHash(result.user, given.password, deps);
    return result;
  } catch (error) {
    if (!isThrottled(error)) await orWarn("address_not_taken_back", counted?.takeBack(), deps);
    auditEnded(deps, given, error);
    throw error;
  }
}

const isThrottled = (error: unknown): boolean => error instanceof Fault && error.kind === "throttled";

/** What is done on the way out of a failure does not hide it. */
async function orWarn(event: string, work: Promise<unknown> | undefined, { log }: AuthDeps): Promise<void> {
  await work?.catch((error: unknown) => log.warn(event, { error }));
}

/**
 * No user can be meant, so no name has failures to count. A password takes its time and an OTP is used up all the same (decision
 * A5).
 */
async function refuseNobody({ otp, ...given }: Credentials, deps: AuthDeps): Promise<SignInResult> {
  if (given.password !== undefined) await deps.hasher.verify(given.password, undefined);
  const nobodys = { assigned: [], counts: () => false };
  const result = otp === undefined ? undefined : await checkOtp(otp, await readCandidates(otp, deps), nobodys, deps);
  const found = { otpOutcome: result?.outcome, prefix: result?.key?.prefix };
  audit(deps, { ...given, otp }, { outcome: "refused", reason: "nobody", ...found });
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
      ...(result.granted ? [beside(result), counted?.takeBack()] : []),
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
    await orWarn("attempt_not_withdrawn", endAttempt(attempt, "withdrawn", deps), deps);
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
