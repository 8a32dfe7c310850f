import type { AuthDeps } from "../deps.ts";
import type { Device } from "../model/device-token.ts";
import { decideSignIn, type SignInRefusal } from "../model/policy.ts";
import { lockAt } from "../model/throttle.ts";
import type { HashPlace } from "../passwords/hash-places.ts";
import { isDeviceOf, presentedDevice } from "../sessions/remember-device.ts";
import type { SignInState, Stored, User } from "../store.ts";
import { devicePointer, noUser } from "../user-hash.ts";
import { audit, type Credentials, outcomeOf } from "./audit.ts";
import { type Checked, checkFactors, type Evidence, readEvidence } from "./check-factors.ts";
import { checkOtp, readCandidates } from "./check-otp.ts";
import { type CountedAddress, countAddress } from "./count-address.ts";
import { type Identified, identify } from "./identify.ts";
import { takeHashPlace } from "./take-hash-place.ts";
import { concludeAttempt, padTiming, type ReservedAttempt, reserveAttempt } from "./throttle-attempt.ts";

/** The user who signed in, and the prefix of the OTP key whose OTP was used. */
export interface SignedIn {
  readonly user: Stored<User>;
  readonly prefix?: string;
}

/** The result of a sign-in. The reason is for the audit log only: callers learn "granted" or "not granted" (A2). */
export type SignInResult =
  | ({ readonly granted: true } & SignedIn)
  | { readonly granted: false; readonly reason: SignInRefusal | "unknown_user" };

type OnGranted = (granted: SignedIn) => Promise<void>;

export interface SignInOptions {
  /** The caller's address, if it is known. */
  readonly address?: string | undefined;
  /** The device token that the caller presents, if any. */
  readonly deviceToken?: string | undefined;
  /** Id of the user whose session the caller has, if any. */
  readonly sessionOf?: number | undefined;
  /** Runs in parallel with the last write of a granted attempt; creates the session. */
  readonly onGranted?: OnGranted;
}

/** What has happened so far in an attempt that may still end with an error. */
interface Progress {
  /** Place in the queue of password hashes. */
  place?: HashPlace | undefined;
  counted?: CountedAddress | undefined;
  reserved?: ReservedAttempt;
  user?: User | undefined;
  /** Prefix of the OTP key that identifies the user. */
  prefix?: string | undefined;
  /** Whether the attempt counts against a device instead of the username. */
  device?: boolean;
}

/**
 * Checks credentials against throttle, password, OTP and policy, and writes one audit event (A4 to A8, A12). Does the same
 * work for every username, so that timing does not reveal whether a user exists.
 * Throws Fault `throttled`; `unavailable` if no validation server responds, whether or not the password was right; `OverloadFault`
 * before any storage call.
 */
export async function signIn(
  credentials: Credentials,
  deps: AuthDeps,
  { address, deviceToken, sessionOf, onGranted = async () => {} }: SignInOptions = {},
): Promise<SignInResult> {
  const given = omitEmpty(credentials);
  const progress: Progress = {};
  try {
    const device = await presentedDevice(deviceToken, deps);
    const place = takeHashPlace(given, { address, device, sessionOf }, deps);
    progress.place = place;
    progress.counted = await countAddress(address, deps);
    const identified = await identify(given, deps);
    const reserved = identified && (await reserve(identified, { given, progress, device }, deps));
    if (reserved === undefined) return await refuseUnidentified(given, place, deps);
    const checked = await checkFactors({ ...given, place }, reserved.evidence, deps);
    return await conclude(
      checked,
      { ...reserved, given, counted: progress.counted, device: progress.device, onGranted },
      deps,
    );
  } catch (error) {
    await withdraw(error, { given, progress }, deps);
    throw error;
  } finally {
    progress.place?.release();
  }
}

const omitEmpty = ({ username, password, otp }: Credentials): Credentials => ({
  username: username || undefined,
  password: password || undefined,
  otp: otp || undefined,
});

/**
 * Reserves a slot in the throttle and reads the evidence in parallel. The throttle is that of the username, or that of
 * the device on which the user has signed in before, while it is not locked (A23). Returns undefined for an id that was
 * never issued.
 */
async function reserve(
  identified: Identified,
  {
    given,
    progress,
    device,
  }: { readonly given: Credentials; readonly progress: Progress; readonly device?: Device | undefined },
  deps: AuthDeps,
): Promise<{ readonly attempt: ReservedAttempt; readonly evidence: Evidence } | undefined> {
  const { throttled: userRef, byOtp } = identified;
  const pointer = device && devicePointer(device);
  const [state, deviceState] = await Promise.all([
    deps.users.signInState(userRef),
    pointer && deps.users.signInState(pointer),
  ]);
  progress.user = state?.user?.value;
  progress.prefix = byOtp?.key?.key.value.prefix;
  const isOwn = device !== undefined && isDeviceOf(device, state?.user?.value);
  const isTrusted = isOwn && deviceState !== undefined && !isLocked(deviceState, deps);
  progress.device = isTrusted;
  const throttled = isTrusted && pointer !== undefined ? { userRef: pointer, state: deviceState } : { userRef, state };
  const read = (current: SignInState) =>
    readEvidence(isTrusted && state !== undefined ? state : current, given, identified, deps);
  const reservation = await reserveAttempt(throttled, deps, read);
  if (reservation === undefined) return undefined;
  progress.reserved = reservation.attempt;
  const evidence = await reservation.evidence;
  progress.user = evidence.state.user?.value;
  return { attempt: reservation.attempt, evidence };
}

/** A locked device counts for nothing: a browser cannot omit its cookie, and its owner can be unlocked by the username alone. */
const isLocked = ({ throttle }: SignInState, { rules, now }: AuthDeps): boolean =>
  lockAt(throttle.value, now(), rules.throttle).lockedUntil !== undefined;

interface Concluding {
  readonly given: Credentials;
  readonly attempt: ReservedAttempt;
  readonly evidence: Evidence;
  readonly counted: CountedAddress | undefined;
  readonly device: boolean | undefined;
  readonly onGranted: OnGranted;
}

/** Decides, releases the slot, creates the session of a granted attempt, and writes the audit event. */
async function conclude(
  checked: Checked,
  { given, attempt, evidence, counted, device, onGranted }: Concluding,
  deps: AuthDeps,
): Promise<SignInResult> {
  const { user } = evidence.state;
  const result = decide(checked, user, deps);
  const { otp } = checked;
  // A wrong OTP that counts against its key is one write. Otherwise does a dummy write, so that timing does not reveal whether
  // the OTP counted.
  const needsPadding = !result.granted && otp?.written === false;
  const current = needsPadding ? await padTiming(attempt, deps) : attempt;
  await (result.granted
    ? Promise.all([succeed(current, result.user.value, deps), onGranted(result), counted?.uncount()])
    : concludeAttempt(current, "failed", deps));
  await audit(deps, given, {
    outcome: result.granted ? "granted" : "refused",
    user: user?.value,
    ...(!result.granted && { reason: result.reason }),
    otpOutcome: otp?.outcome,
    temporaryCode: otp?.isTemporary,
    prefix: otp?.key?.prefix,
    device: device || undefined,
  });
  if (result.granted && given.password !== undefined) await renewHash(result.user, given.password, deps);
  return result;
}

/**
 * Ends a granted attempt and records the time of the sign-in. The row of the throttle and that of the time are one
 * write, unless the OTP identified the user or a device presented its token: then the throttle is that of the prefix or
 * of the device, and the time is written in parallel.
 */
async function succeed(attempt: ReservedAttempt, { userHash, id }: User, deps: AuthDeps): Promise<void> {
  const login = { userId: id, at: deps.now() };
  const isOwnThrottle = attempt.reserved.userHash === userHash;
  await Promise.all([
    concludeAttempt(attempt, "succeeded", deps, login),
    !isOwnThrottle && deps.users.recordLogin({ by: "userHash", userHash, id }, login.at),
  ]);
}

function decide({ facts, otp }: Checked, user: Stored<User> | undefined, { rules }: AuthDeps): SignInResult {
  if (user === undefined) return { granted: false, reason: "unknown_user" };
  const decision = decideSignIn(rules, facts);
  if (!decision.granted) return decision;
  const prefix = facts.otp === "valid" ? otp?.key?.prefix : undefined;
  return { granted: true, user, ...(prefix !== undefined && { prefix }) };
}

/**
 * Refuses an attempt that cannot name a user, so there is no throttle to write. Hashes the password and does reads in place
 * of the writes of other attempts, so that the time and the number of storage calls are the same (A5).
 */
async function refuseUnidentified(
  given: Credentials,
  place: HashPlace | undefined,
  deps: AuthDeps,
): Promise<SignInResult> {
  const { password, otp } = given;
  const pad = () => deps.users.signInState(noUser);
  await pad();
  const [candidates] = await Promise.all([otp === undefined ? [] : readCandidates(otp, deps), pad()]);
  if (password !== undefined) await deps.hasher.verify(password, undefined, place);
  const noKeys = { assigned: [], counts: () => false };
  const result = otp === undefined ? undefined : await checkOtp(otp, candidates, noKeys, deps);
  if (result?.written === false) await pad();
  await pad();
  const found = { otpOutcome: result?.outcome, prefix: result?.key?.prefix };
  await audit(deps, given, { outcome: "refused", reason: "unknown_user", ...found });
  return { granted: false, reason: "unknown_user" };
}

/** Ends an attempt that failed with an error: no credential was found wrong, so the attempt does not count. */
async function withdraw(
  error: unknown,
  { given, progress }: { readonly given: Credentials; readonly progress: Progress },
  deps: AuthDeps,
): Promise<void> {
  const { counted, reserved, user, prefix, device } = progress;
  await warnOnError("attempt_not_withdrawn", reserved && concludeAttempt(reserved, "withdrawn", deps), deps);
  const outcome = outcomeOf(error);
  if (outcome.outcome === "undecided") await warnOnError("address_not_uncounted", counted?.uncount(), deps);
  await audit(deps, given, { ...outcome, user, prefix, device: device || undefined });
}

/** Awaits the work and logs its failure as a warning, so that it does not hide the error that came first. */
async function warnOnError(event: string, work: Promise<unknown> | undefined, { log }: AuthDeps): Promise<void> {
  await work?.catch((error: unknown) => log.warn(event, { error }));
}

/**
 * Replaces an outdated password hash. Writes by the version of the row that was checked, so that a reset in between wins
 * (A4). A failure is only logged: the sign-in is granted, and the next one tries again.
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
