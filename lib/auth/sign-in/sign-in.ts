import type { AuthDeps } from "../deps.ts";
import type { HashPlace } from "../passwords/hash-places.ts";
import { presentedDevice } from "../sessions/remember-device.ts";
import type { UserSummary } from "../store.ts";
import { parseUsername } from "../users/username.ts";
import { audit, type Credentials, outcomeOf } from "./audit.ts";
import { checkFactors, readEvidence } from "./check-factors.ts";
import { checkOtp, readCandidates } from "./check-otp.ts";
import { concludeSignIn, type OnGranted, type SignInResult } from "./conclude-sign-in.ts";
import { type CountedAddress, countAddress } from "./count-address.ts";
import { type Identified, identify } from "./identify.ts";
import { takeHashPlace } from "./take-hash-place.ts";
import { concludeAttempt, reserveSlot } from "./throttle-attempt.ts";
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
  identified?: Identified | undefined;
  /** As the name row says, and as read later. */
  user?: UserSummary | undefined;
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

    const identified = await identify(given, device, deps);
    if (identified === undefined) return await refuseUnidentified(given, place, deps);
    const { attempt, named, isOnDevice } = identified;
    progress.identified = identified;
    progress.user = probableUser(identified, given);
    const evidence = await reserveSlot(attempt, () => readEvidence(identified, given, deps), deps);
    progress.user = evidence.user?.value;
    const checked = await checkFactors({ ...given, place }, evidence, named, deps);
    const { counted } = progress;
    return await concludeSignIn(checked, { given, attempt, evidence, counted, device: isOnDevice, onGranted }, deps);
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
 * Returns the user to whom the name leads, for the audit event of an attempt that ends before the user is read. The name
 * may be logged, because a row of it exists: it is no password in the wrong field (G10).
 */
function probableUser({ attempt }: Identified, { username = "" }: Credentials): UserSummary | undefined {
  const { key, ownerId } = attempt.throttle;
  const parsed = parseUsername(username);
  return key.kind === "name" && ownerId !== undefined && parsed.ok
    ? { id: ownerId, name: parsed.value.name }
    : undefined;
}

/**
 * Refuses an attempt that cannot name a user, so there is no throttle to write. Hashes the password and does reads in place
 * of the calls of other attempts, so that the time and the number of storage calls are the same (A5).
 */
async function refuseUnidentified(given: Credentials, place: HashPlace, deps: AuthDeps): Promise<SignInResult> {
  const { password, otp } = given;
  const pad = () => deps.users.findNobody("");
  await Promise.all([pad(), pad()]);
  const [candidates] = await Promise.all([otp === undefined ? [] : readCandidates(otp, deps), pad(), pad()]);
  await Promise.all([
    password !== undefined && deps.hasher.verify(password, undefined, place),
    otp === undefined && deps.rules.otpPolicy === "when-assigned" && pad(),
  ]);
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
  const { counted, identified, user, place } = progress;
  const { attempt, byOtp, isOnDevice } = identified ?? {};
  // Nothing is hashed any more, and storage may be slow or away.
  place?.release();
  const outcome = outcomeOf(error);
  await Promise.all([
    attempt?.hasSlot && warnOnError("attempt_not_withdrawn", concludeAttempt(attempt, "withdrawn", deps), deps),
    outcome.outcome === "undecided" && warnOnError("address_not_uncounted", counted?.uncount(), deps),
  ]);
  const prefix = byOtp?.key?.key.value.prefix;
  await audit(deps, given, { ...outcome, user, prefix, device: isOnDevice || undefined });
}
