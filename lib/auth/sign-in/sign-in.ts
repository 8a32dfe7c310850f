import { omitUndefined } from "../../platform/collections.ts";
import type { Fields } from "../../platform/log.ts";
import type { Stored } from "../../platform/stored.ts";
import { measure } from "../../platform/telemetry.ts";
import type { AuthDeps } from "../deps.ts";
import { endSession, sessionRequired } from "../sessions/manage-sessions.ts";
import type { User, UserSummary } from "../store.ts";
import { newWriteId } from "../tables.table.ts";
import { hashUsernameForLog } from "../users/username.ts";
import {
  type Attempt,
  concludeAttempt,
  countAddress,
  type Outcome,
  padTiming,
  reserveSlot,
  withdraw,
} from "./attempt.ts";
import { checkFactors } from "./check-factors.ts";
import { wrongOtp } from "./check-otp.ts";
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

/** The result of a sign-in. Callers do not learn why it is refused (A2). */
interface SignInResult {
  /** Absent: the sign-in is refused. */
  readonly user?: Stored<User>;
  readonly session?: string | undefined;
  /** Present if all credentials were right, and the user must change the password first. */
  readonly mustChange?: User;
}

/**
 * Checks credentials against throttle, password, OTP and policy, and writes one audit event (A4 to A8, A12). Does the
 * same work for every username, and for credentials that can name no user, so that timing does not reveal whether a
 * user exists.
 * Throws Fault `throttled`; `unavailable` if no validation server responds, whether or not the password was right;
 * `unauthenticated` if the caller's session has ended meanwhile; `OverloadFault` before any storage call.
 */
export async function signIn(
  given: Credentials,
  deps: AuthDeps,
  { address, deviceToken, sessionUser, newSession }: SignInOptions = {},
): Promise<SignInResult> {
  const attempt: Attempt = { id: newWriteId(deps) };
  /** From the name row; replaced by the user's own row once it is read. */
  let who: UserSummary | undefined;
  /** Of the OTP key by which the user is identified. */
  let prefix: string | undefined;
  const audit = (event: Outcome & Fields) =>
    auditSignIn(given, who, { ...event, ...(attempt.nameThrottle && { isOnDevice: true }) }, deps);
  try {
    const device = await deps.deviceTokens.open(deviceToken, deps.now(), deps.rules.deviceMs);
    // Also for an attempt without a password, so that it makes the same storage calls. The slot goes by who calls, not
    // by whether the named user exists.
    using hashSlot = deps.hasher.acquireHashSlot({ isKnown: sessionUser !== undefined, deviceUserId: device?.userId });
    await hashSlot.waitTurn();
    await countAddress(attempt, address, deps);

    const identified = await identify(given, attempt, device, deps);
    who = identified.user;
    prefix = identified.holders?.key.value.prefix;

    const evidence = await reserveSlot(attempt, () => readEvidence(identified, given.otp, deps), deps);
    who = evidence.user?.value;
    // A reset or another change ended the session since it was read: nothing is checked, and nothing counts.
    if (sessionUser !== undefined && sessionUser.epoch !== evidence.user?.value.epoch) throw sessionRequired();

    const { reason, user, result } = await checkFactors(
      given,
      evidence,
      { attempt, named: identified.named, hashSlot },
      deps,
    );
    const found = { otpOutcome: result?.outcome, temporaryCode: result?.isTemporary, prefix: result?.prefix };

    if (reason !== undefined) {
      // A counted wrong OTP costs one write. If none was made, makes a dummy write, so that timing does not reveal
      // whether the OTP counted.
      if (result?.written === false) await padTiming(attempt, deps);
      // After a wrong password, administrators do not read about the OTP: they must not learn whether it was right.
      const refusal = reason === "wrong_otp" && result !== undefined ? wrongOtp(result) : { reason };
      const mustChange = reason === "must_change";
      await concludeAttempt(attempt, { counts: mustChange ? "success" : "failure", refusal }, deps);
      await audit({ outcome: "refused", reason, ...found });
      return user && mustChange ? { mustChange: user.value } : {};
    }
    const [session] = await Promise.all([
      newSession && deps.sessions.create(user.value, result?.prefix, deps.now(), deps.rules.session),
      newSession?.replaces !== undefined && endSession(newSession.replaces, deps),
      concludeAttempt(attempt, { counts: "success" }, deps),
      deps.users.recordLogin(user.value.id, deps.now()),
    ]);
    await audit({ outcome: "granted", ...found });
    if (given.password !== undefined) await renewHash(user, given.password, deps);
    return { user, session };
  } catch (error) {
    // `using` has released the hash slot, so slow storage does not keep other sign-ins out.
    const outcome = await withdraw(error, attempt, deps);
    await audit({ ...outcome, prefix });
    throw error;
  }
}

/**
 * Replaces an outdated password hash. Writes by the version of the row that was checked, so that a reset in between
 * wins (A4). A failure is only logged: the sign-in is granted, and the next one tries again.
 */
async function renewHash(user: Stored<User>, password: string, { hasher, users, log }: AuthDeps): Promise<void> {
  const { password: stored, id } = user.value;
  try {
    if (stored === undefined || !(await hasher.isOutdated(stored))) return;
    const saved = await users.save(user, { password: await hasher.hash(password, id) });
    const scheme = stored.imported?.scheme;
    if (saved === undefined || scheme === undefined) return;
    log.info("imported_password_renewed", { userId: id, scheme });
    measure("password.imported", 1, { change: "renewed", scheme });
  } catch (error) {
    log.warn("password_not_rehashed", { userId: id, error });
  }
}

/**
 * Writes the audit event of an authentication, granted or not: user, factors, outcome and reason (A12). The log adds
 * the caller's address and the request id. Logs an unknown username only as a keyed hash, because people type passwords
 * and OTPs into the wrong field (G10).
 */
async function auditSignIn(
  { username, password, passwordCode: code, otp }: Credentials,
  user: UserSummary | undefined,
  event: Outcome & Fields,
  deps: AuthDeps,
): Promise<void> {
  const factors = Object.keys(omitUndefined({ password, code, otp }));
  const who =
    user === undefined
      ? { usernameHash: username === undefined ? undefined : await hashUsernameForLog(username, deps) }
      : { userId: user.id, username: user.name };
  deps.log.info("authentication", { ...event, ...who, factors });
}
