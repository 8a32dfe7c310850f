import { omitUndefined } from "../../platform/collections.ts";
import { Fault } from "../../platform/fault.ts";
import { warnOnError } from "../../platform/log.ts";
import type { Stored } from "../../platform/stored.ts";
import { measure } from "../../platform/telemetry.ts";
import type { AuthDeps } from "../deps.ts";
import { OverloadFault } from "../passwords/hash-queue.ts";
import { createUserSession, endSession } from "../sessions/manage-sessions.ts";
import type { User, UserSummary } from "../store.ts";
import { hashUsernameForLog } from "../users/username.ts";
import {
  type AttemptReservations,
  BusyFault,
  concludeAttempt,
  padTiming,
  recordRefusalOnName,
  uncountAddress,
} from "./attempt.ts";
import { decideSignIn, type FactorResults, type SignInRefusal } from "./check-factors.ts";
import { wrongOtp } from "./check-otp.ts";
import type { Credentials, Identified } from "./identify.ts";

/**
 * The result of a sign-in. The reason is for the audit log only: callers learn "granted" or "not granted" (A2). The
 * prefix is that of the OTP key whose OTP was used.
 */
export type SignInResult =
  | { readonly granted: true; readonly user: Stored<User>; readonly prefix?: string; readonly session?: string }
  | {
      readonly granted: false;
      readonly reason: SignInRefusal | "unknown_user";
      /** Present if all credentials were right, and the user must change the password first. */
      readonly mustChange?: User;
    };

/** An attempt to sign in, as far as it has come. */
export interface SignInProgress extends AttemptReservations {
  readonly given: Credentials;
  identified?: Identified | undefined;
  /** From the name row; replaced by the user's own row once it is read. */
  user?: UserSummary | undefined;
}

/**
 * Decides about a sign-in, releases the slot of its throttle, creates the session if it is granted, and writes the
 * audit event. Then replaces an outdated password hash.
 * @param newSession present: a granted attempt creates a session, and ends `replaces`, the one that the caller presents
 */
export async function conclude(
  { facts, otp }: FactorResults,
  progress: SignInProgress,
  { attempt, nameThrottle }: Identified,
  {
    user,
    newSession,
  }: {
    readonly user: Stored<User> | undefined;
    readonly newSession: { readonly replaces?: string | undefined } | undefined;
  },
  deps: AuthDeps,
): Promise<SignInResult> {
  const decision = user === undefined ? unknownUser : decideSignIn(deps.rules, facts);
  const found = {
    otpOutcome: otp?.outcome,
    temporaryCode: otp?.isTemporary,
    prefix: otp?.key?.prefix,
  };
  if (user === undefined || !decision.granted) {
    // A counted wrong OTP costs one write. If none was made, makes a dummy write, so that timing does not reveal
    // whether the OTP counted.
    if (otp?.written === false) await padTiming(attempt, deps);
    // Only for the type checker: a granted decision has a user.
    const refused = decision.granted ? unknownUser : decision;
    const isWrongCode = refused.reason === "wrong_password" && progress.given.passwordCode !== undefined;
    const reason = isWrongCode ? "wrong_code" : refused.reason;
    // After a wrong password, the `lastRefusal` in the throttle, which administrators read, does not mention the OTP,
    // so that they do not learn whether the OTP was right.
    const shown = reason === "wrong_otp" && otp !== undefined ? wrongOtp(otp) : { reason };
    const isRight = refused.reason === "must_change";
    await Promise.all([
      concludeAttempt(attempt, { refused: shown, isRight }, deps),
      nameThrottle && recordRefusalOnName(nameThrottle, shown, deps),
      isRight && uncountAddress(progress, deps),
    ]);
    await audit(progress, { outcome: "refused", reason, ...found }, deps);
    return { ...refused, ...(isRight && user && { mustChange: user.value }) };
  }
  const prefix = facts.otp === "valid" ? otp?.key?.prefix : undefined;
  const [session] = await Promise.all([
    newSession && createUserSession(user, prefix, deps),
    newSession && endSession(newSession.replaces, deps),
    concludeAttempt(attempt, "succeeded", deps),
    deps.users.recordLogin(user.value.id, deps.now()),
    uncountAddress(progress, deps),
  ]);
  await audit(progress, { outcome: "granted", ...found }, deps);
  if (progress.given.password !== undefined) await renewHash(user, progress.given.password, deps);
  return { granted: true, user, ...(prefix !== undefined && { prefix }), ...(session !== undefined && { session }) };
}

export const unknownUser = { granted: false, reason: "unknown_user" } as const;

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

/** The outcome of an authentication, for its audit event. */
interface Outcome {
  readonly outcome: "granted" | "refused" | "undecided";
  /** Present unless the outcome is `granted`. */
  readonly reason?: string | undefined;
  readonly otpOutcome?: string | undefined;
  /** Whether the OTP was a temporary code. */
  readonly temporaryCode?: boolean | undefined;
  /** Prefix of the OTP key that the OTP belongs to. */
  readonly prefix?: string | undefined;
}

/**
 * Ends an attempt that failed with an error: no credential was found wrong, so it does not count. Returns its outcome:
 * refused if it was throttled, else undecided.
 */
export async function withdraw(error: unknown, reservations: AttemptReservations, deps: AuthDeps): Promise<Outcome> {
  const { attempt } = reservations;
  const outcome = outcomeOfError(error);
  const isUndecided = outcome.outcome === "undecided";
  await Promise.all([
    attempt?.hasSlot && warnOnError("attempt_not_withdrawn", concludeAttempt(attempt, "withdrawn", deps), deps),
    isUndecided && warnOnError("address_not_uncounted", uncountAddress(reservations, deps), deps),
  ]);
  return outcome;
}

/** Returns the outcome of an authentication that failed with an error: refused if it was throttled, else undecided. */
export function outcomeOfError(error: unknown): Outcome {
  if (error instanceof BusyFault) return { outcome: "undecided", reason: "busy" };
  if (error instanceof OverloadFault) return { outcome: "undecided", reason: "overloaded" };
  const reason = error instanceof Fault ? error.kind : "internal";
  return { outcome: reason === "throttled" ? "refused" : "undecided", reason };
}

/**
 * Writes the audit event of an authentication, granted or not: user, factors, outcome and reason (A12). The log adds
 * the caller's address and the request id. Logs an unknown username only as a keyed hash, because people type passwords
 * and OTPs into the wrong field (G10).
 */
export async function audit(
  { given, identified, user }: SignInProgress,
  outcome: Outcome,
  deps: AuthDeps,
): Promise<void> {
  const { username, password, passwordCode: code, otp } = given;
  const factors = Object.keys(omitUndefined({ password, code, otp }));
  const who =
    user === undefined
      ? { usernameHash: username === undefined ? undefined : await hashUsernameForLog(username, deps) }
      : { userId: user.id, username: user.name };
  deps.log.info("authentication", { ...outcome, isOnDevice: identified?.isOnDevice || undefined, ...who, factors });
}
