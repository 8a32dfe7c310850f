import type { AuthDeps } from "../deps.ts";
import { decideSignIn, type SignInRefusal } from "../model/policy.ts";
import type { SignInState, Stored, User } from "../store.ts";
import { noUser } from "../user-hash.ts";
import { audit, type Credentials, outcomeOf } from "./audit.ts";
import { type Checked, checkFactors, type Evidence, readEvidence } from "./check-factors.ts";
import { checkOtp, readCandidates } from "./check-otp.ts";
import { type CountedAddress, countAddress } from "./count-address.ts";
import { identify, type Named } from "./identify.ts";
import { type Attempt, beginAttempt, endAttempt, padTiming } from "./throttle-attempt.ts";

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
 * same work is done for every name, so that time tells nothing. Throws Fault `throttled`; `unavailable` where no validation
 * server answers, whether or not the password was right.
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
  const seen: Seen = {};
  try {
    seen.counted = await countAddress(address, deps);
    const named = await identify(given, deps);
    const result =
      named === undefined ? await refuseUnnamed(given, deps) : await attemptAs(named, given, { seen, beside }, deps);
    if (result.granted && given.password !== undefined) await renewHash(result.user, given.password, deps);
    return result;
  } catch (error) {
    const told = outcomeOf(error);
    if (told.outcome === "undecided") await orWarn("address_not_taken_back", seen.counted?.takeBack(), deps);
    await audit(deps, given, { ...told, user: seen.user, prefix: seen.prefix });
    throw error;
  }
}

/** What is known so far of an attempt, for what has to be done where it ends by an error. */
interface Seen {
  counted?: CountedAddress | undefined;
  user?: User | undefined;
  /** Of the key that stands for a name. */
  prefix?: string | undefined;
}

/** What is done on the way out of a failure does not hide it. */
async function orWarn(event: string, work: Promise<unknown> | undefined, { log }: AuthDeps): Promise<void> {
  await work?.catch((error: unknown) => log.warn(event, { error }));
}

/**
 * No user can be meant, so no name has failures to count. A password takes its time, and reads stand for the writes of an attempt
 * that has a name: the storage calls are as many (decision A5).
 */
async function refuseUnnamed(given: Credentials, deps: AuthDeps): Promise<SignInResult> {
  const { password, otp } = given;
  const pad = () => deps.users.standing(noUser);
  await pad();
  const [candidates] = await Promise.all([otp === undefined ? [] : readCandidates(otp, deps), pad()]);
  if (password !== undefined) await deps.hasher.verify(password, undefined);
  const noKeys = { assigned: [], counts: () => false };
  const result = otp === undefined ? undefined : await checkOtp(otp, candidates, noKeys, deps);
  if (result?.written === false) await pad();
  await pad();
  const found = { otpOutcome: result?.outcome, prefix: result?.key?.prefix };
  await audit(deps, given, { outcome: "refused", reason: "nobody", ...found });
  return { granted: false, reason: "nobody" };
}

interface Begun {
  readonly seen: Seen;
  readonly beside: (granted: SignedIn) => Promise<void>;
}

/** Reserves the attempt's place, and decides. */
async function attemptAs(
  named: Named,
  given: Credentials,
  { seen, beside }: Begun,
  deps: AuthDeps,
): Promise<SignInResult> {
  const { throttled: whom, byOtp } = named;
  const standing = await deps.users.standing(whom);
  seen.user = standing?.user?.value;
  seen.prefix = byOtp?.key?.key.value.prefix;
  const read = (current: SignInState) => readEvidence(current, given, named, deps);
  const begun = await beginAttempt({ whom, standing }, deps, read);
  if (begun === undefined) return refuseUnnamed(given, deps);
  const { attempt, alongside } = begun;
  try {
    const evidence = await alongside;
    const { user } = evidence.standing;
    seen.user = user?.value;
    return await decide(given, { attempt, evidence, counted: seen.counted }, deps, beside);
  } catch (error) {
    // Nothing was found wrong, so the attempt does not count.
    await orWarn("attempt_not_withdrawn", endAttempt(attempt, "withdrawn", deps), deps);
    throw error;
  }
}

interface Decidable {
  readonly attempt: Attempt;
  readonly evidence: Evidence;
  readonly counted: CountedAddress | undefined;
}

async function decide(
  given: Credentials,
  { attempt, evidence, counted }: Decidable,
  deps: AuthDeps,
  beside: (granted: SignedIn) => Promise<void>,
): Promise<SignInResult> {
  const { user } = evidence.standing;
  const checked = await checkFactors(given, evidence, deps);
  const result = resultOf(checked, user, deps);
  const { otp } = checked;
  // A wrong OTP is one write where it counts against its key. Where it does not, this stands for it: time must not tell.
  const held = result.granted || otp === undefined || otp.written ? attempt : await padTiming(attempt, deps);
  await Promise.all([
    endAttempt(held, result.granted ? "succeeded" : "failed", deps),
    ...(result.granted ? [beside(result), counted?.takeBack()] : []),
  ]);
  await audit(deps, given, {
    outcome: result.granted ? "granted" : "refused",
    user: user?.value,
    ...(!result.granted && { reason: result.reason }),
    otpOutcome: otp?.outcome,
    prefix: otp?.key?.prefix,
  });
  return result;
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
