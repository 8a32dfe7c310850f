import type { AuthDeps } from "../deps.ts";
import type { Device } from "../model/device-token.ts";
import { lockAt } from "../model/throttle.ts";
import type { HashPlace } from "../passwords/hash-places.ts";
import { isDeviceOf, presentedDevice } from "../sessions/remember-device.ts";
import type { SignInState, User } from "../store.ts";
import { devicePointer, noUser } from "../user-hash.ts";
import { audit, type Credentials, outcomeOf } from "./audit.ts";
import { checkFactors, type Evidence, readEvidence } from "./check-factors.ts";
import { checkOtp, readCandidates } from "./check-otp.ts";
import { concludeSignIn, type OnGranted, type SignInResult } from "./conclude-sign-in.ts";
import { type CountedAddress, countAddress } from "./count-address.ts";
import { type Identified, identify } from "./identify.ts";
import { takeHashPlace } from "./take-hash-place.ts";
import { concludeAttempt, type ReservedAttempt, reserveAttempt } from "./throttle-attempt.ts";
import { warnOnError } from "./warn-on-error.ts";

export interface SignInOptions {
  /** The caller's address, if it is known. */
  readonly address?: string | undefined;
  /** The device token that the caller presents, if any. */
  readonly deviceToken?: string | undefined;
  /** Id of the user whose session the caller has, if any. */
  readonly sessionOf?: number | undefined;
  /**
   * Takes the place of a hash that follows a granted attempt, which is released if the attempt fails. Called before the check, because a
   * full queue after it would refuse a caller whose OTP is used up.
   */
  readonly takeNextPlace?: () => HashPlace;
  /** Runs in parallel with the last write of a granted attempt; creates the session. */
  readonly onGranted?: OnGranted;
}

/** What has happened so far in an attempt that may still end with an error. */
interface Progress {
  /** Place in the queue of password hashes. */
  place?: HashPlace | undefined;
  /** Place of a hash that follows a granted attempt. */
  nextPlace?: HashPlace | undefined;
  counted?: CountedAddress | undefined;
  /** Also an attempt of which it is not known whether it has a slot. */
  reserved?: ReservedAttempt | undefined;
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
  { address, deviceToken, sessionOf, takeNextPlace, onGranted = async () => {} }: SignInOptions = {},
): Promise<SignInResult> {
  const given = omitEmpty(credentials);
  const progress: Progress = {};
  try {
    const device = await presentedDevice(deviceToken, deps);
    const place = takeHashPlace(given, { address, device, sessionOf }, deps);
    progress.place = place;
    progress.nextPlace = takeNextPlace?.();
    await place.turn();
    progress.counted = await countAddress(address, deps);
    const identified = await identify(given, deps);
    const reserved = identified && (await reserve(identified, { given, progress, device }, deps));
    if (reserved === undefined) return await refuseUnidentified(given, place, deps);
    const checked = await checkFactors({ ...given, place }, reserved.evidence, deps);
    return await concludeSignIn(
      checked,
      { ...reserved, given, counted: progress.counted, device: progress.device, onGranted },
      deps,
    );
  } catch (error) {
    progress.nextPlace?.release();
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
  const onReservation = (attempt: ReservedAttempt | undefined) => {
    progress.reserved = attempt;
  };
  const reservation = await reserveAttempt({ ...throttled, read, onReservation }, deps);
  if (reservation === undefined) return undefined;
  const evidence = await reservation.evidence;
  progress.user = evidence.state.user?.value;
  return { attempt: reservation.attempt, evidence };
}

/**
 * Returns whether the throttle of a device is locked. The throttle of the username counts the attempt then: a browser cannot omit the
 * cookie of its device, and an administrator unlocks a person by the username alone.
 */
const isLocked = ({ throttle }: SignInState, { rules, now }: AuthDeps): boolean =>
  lockAt(throttle.value, now(), rules.throttle).lockedUntil !== undefined;

/**
 * Refuses an attempt that cannot name a user, so there is no throttle to write. Hashes the password and does reads in place
 * of the writes of other attempts, so that the time and the number of storage calls are the same (A5).
 */
async function refuseUnidentified(given: Credentials, place: HashPlace, deps: AuthDeps): Promise<SignInResult> {
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
  const { counted, reserved, user, prefix, device, place } = progress;
  // Nothing is hashed any more, and storage may be slow or away.
  place?.release();
  const outcome = outcomeOf(error);
  await Promise.all([
    warnOnError("attempt_not_withdrawn", reserved && concludeAttempt(reserved, "withdrawn", deps), deps),
    outcome.outcome === "undecided" && warnOnError("address_not_uncounted", counted?.uncount(), deps),
  ]);
  await audit(deps, given, { ...outcome, user, prefix, device: device || undefined });
}
