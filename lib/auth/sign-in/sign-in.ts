import type { AuthDeps } from "../deps.ts";
import type { HashSlot } from "../passwords/hash-queue.ts";
import { sessionRequired } from "../sessions/manage-sessions.ts";
import type { User } from "../store.ts";
import { countAddress, reserveSlot } from "./attempt.ts";
import { checkFactors } from "./check-factors.ts";
import { checkOtp, readCandidates } from "./check-otp.ts";
import { audit, conclude, type SignInProgress, type SignInResult, unknownUser, withdraw } from "./conclude.ts";
import { type Credentials, identify, readEvidence } from "./identify.ts";

export interface SignInOptions {
  /** The caller's address, if it is known. */
  readonly address?: string | undefined;
  /** The device token that the caller presents, if any. */
  readonly deviceToken?: string | undefined;
  /** The user of the caller's session, as read with it. */
  readonly sessionUser?: User | undefined;
  /** Present: a granted attempt creates a session, and ends the one that the caller presents. */
  readonly newSession?: { readonly replaces?: string | undefined };
}

/**
 * Checks credentials against throttle, password, OTP and policy, and writes one audit event (A4 to A8, A12). Does the
 * same work for every username, so that timing does not reveal whether a user exists.
 * Throws Fault `throttled`; `unavailable` if no validation server responds, whether or not the password was right;
 * `unauthenticated` if the caller's session has ended meanwhile; `OverloadFault` before any storage call.
 */
export async function signIn(
  credentials: Credentials,
  deps: AuthDeps,
  { address, deviceToken, sessionUser, newSession }: SignInOptions = {},
): Promise<SignInResult> {
  const given = omitEmpty(credentials);
  const progress: SignInProgress = { given };
  try {
    const device = await deps.deviceTokens.open(deviceToken, deps.now(), deps.rules.deviceMs);
    // Also for an attempt without a password, so that it makes the same storage calls. The slot goes by who calls, not
    // by whether the named user exists.
    using hashSlot = deps.hasher.acquireHashSlot({ isKnown: sessionUser !== undefined, deviceUserId: device?.userId });
    await hashSlot.waitTurn();
    progress.counted = await countAddress(address, deps);

    const identified = await identify(given, device, deps);
    if (identified === undefined) return await refuseUnidentified(progress, hashSlot, deps);
    const { attempt, user } = identified;
    progress.identified = identified;
    progress.attempt = attempt;
    progress.user = user;
    const evidence = await reserveSlot(attempt, () => readEvidence(identified, given, deps), deps);
    progress.user = evidence.user?.value;
    // A reset or another change ended the session since it was read: nothing is checked, and nothing counts.
    if (sessionUser !== undefined && sessionUser.epoch !== evidence.user?.value.epoch) throw sessionRequired();
    const checked = await checkFactors({ ...given, hashSlot }, evidence, identified, deps);
    return await conclude(checked, progress, identified, { user: evidence.user, newSession }, deps);
  } catch (error) {
    // `using` has released the hash slot, so slow storage does not keep other sign-ins out.
    const outcome = await withdraw(error, progress, deps);
    await audit(progress, { ...outcome, prefix: progress.identified?.byOtp?.key?.key.value.prefix }, deps);
    throw error;
  }
}

const omitEmpty = ({ username, password, passwordCode, otp }: Credentials): Credentials => ({
  username: username || undefined,
  password: password || undefined,
  passwordCode: passwordCode || undefined,
  otp: otp || undefined,
});

/**
 * Refuses an attempt that cannot name a user, so there is no throttle to write. Hashes the password and does reads in
 * place of the calls of other attempts, so that the time and the number of storage calls are the same (A5).
 */
async function refuseUnidentified(progress: SignInProgress, hashSlot: HashSlot, deps: AuthDeps): Promise<SignInResult> {
  const { password, passwordCode, otp } = progress.given;
  const pad = () => deps.users.findNone(Buffer.from(deps.random(8)).toString("hex"));
  await Promise.all([pad(), pad()]);
  const [candidates] = await Promise.all([otp === undefined ? [] : readCandidates(otp, deps), pad(), pad()]);
  await Promise.all([
    passwordCode !== undefined ? pad() : password !== undefined && deps.hasher.verify(password, undefined, hashSlot),
    otp === undefined && deps.rules.otpPolicy === "when-assigned" && pad(),
  ]);
  const noKeys = { accepted: [], isCounted: false };
  const result = otp === undefined ? undefined : await checkOtp(otp, candidates, noKeys, deps);
  if (result?.written === false) await pad();
  await pad();
  const found = { otpOutcome: result?.outcome, prefix: result?.key?.prefix };
  await audit(progress, { outcome: "refused", reason: unknownUser.reason, ...found }, deps);
  return unknownUser;
}
