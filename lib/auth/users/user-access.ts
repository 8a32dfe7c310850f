import { refuseProblems } from "../../platform/fault.ts";
import type { Stored } from "../../platform/stored.ts";
import type { Instant } from "../../platform/time.ts";
import type { AuthDeps } from "../deps.ts";
import { createPasswordCode } from "../passwords/password-code.ts";
import type { ThrottleKey, User } from "../store.ts";
import { hashNew, noSuchUser, passwordProblems, requireUser } from "./manage-users.ts";
import { foldUsername, hashUsernameForLog, type UserRef } from "./username.ts";

/**
 * Sets a password, ends all sessions and clears the throttle (A10, A15). Throws Fault `not_found`, `invalid`.
 * @param mustChange whether the user must change it before the next session (A24)
 */
export async function resetPassword(
  userRef: UserRef,
  { password, mustChange = false }: { readonly password: string; readonly mustChange?: boolean },
  deps: AuthDeps,
): Promise<void> {
  const user = await requireUser(userRef, deps);
  const { id, name } = user.value;
  refuseProblems(await passwordProblems({ password, mustChange, name }, deps.rules));
  const stored = await hashNew(password, id, mustChange, deps);
  await replaceCredentials(user, stored === undefined ? {} : { password: stored }, { event: "password_reset" }, deps);
}

/** Writes other credentials of a user, ends all sessions and clears the throttle. Throws Fault `not_found`. */
async function replaceCredentials(
  user: Stored<User>,
  credentials: Pick<User, "password" | "passwordCode">,
  { event, ...fields }: { readonly event: string; readonly validUntil?: Instant },
  deps: AuthDeps,
): Promise<void> {
  const changed = await renewEpoch(user, () => credentials, deps);
  // The old credentials have ended now: the change has its audit event also if the rest fails.
  deps.log.info(event, { userId: changed.id, ...fields });
  await deps.throttles.clear(nameThrottleKey(changed.name));
}

/** Ends all sessions of a user, with a change in the same write. Throws Fault `not_found`. */
async function renewEpoch(
  user: Stored<User>,
  change: Parameters<AuthDeps["users"]["renewEpoch"]>[1],
  { users }: AuthDeps,
): Promise<User> {
  const changed = await users.renewEpoch(user, change);
  if (changed === undefined) throw noSuchUser();
  return changed;
}

/** Ends all sessions of a user. Throws Fault `not_found`. */
export async function endSessions(userRef: UserRef, deps: AuthDeps): Promise<void> {
  const user = await requireUser(userRef, deps);
  await renewEpoch(user, current => current, deps);
  deps.log.info("sessions_ended", { userId: user.value.id });
}

/**
 * Disables or enables a user. A disabled user cannot sign in: all sessions and device tokens end in the same write;
 * password, attributes and OTP keys stay. Changes nothing if that is the user's state already. Throws Fault
 * `not_found`.
 */
export async function setUserEnabled(userRef: UserRef, enabled: boolean, deps: AuthDeps): Promise<void> {
  const user = await requireUser(userRef, deps);
  const isChange = user.value.enabled !== enabled;
  if (isChange) await renewEpoch(user, current => ({ ...current, enabled }), deps);
  // Also without a change: this may repeat a call that made it, and that failed before its audit event.
  const fields = { userId: user.value.id, ...(!isChange && { changed: false }) };
  deps.log.info(enabled ? "user_enabled" : "user_disabled", fields);
}

/** Returns the throttle of sign-ins with a username. */
export const nameThrottleKey = (name: string): ThrottleKey => ({ kind: "name", text: foldUsername(name) });

/** Clears the throttle of a user or of an unknown username. Throws Fault `not_found` for an unknown id. */
export async function unlockUser(userRef: UserRef, deps: AuthDeps): Promise<void> {
  const user = await deps.users.find(userRef);
  const name = userRef.by === "name" ? userRef.folded : user?.value.name;
  if (name === undefined) throw noSuchUser();
  await deps.throttles.clear(nameThrottleKey(name));
  // An unknown username may be a password that was typed into the wrong field (G10).
  const isUnknownName = user === undefined && userRef.by === "name";
  const who = isUnknownName ? { usernameHash: await hashUsernameForLog(userRef.folded, deps) } : { user: userRef };
  deps.log.info("user_unlocked", who);
}

/**
 * Replaces a user's password by a one-time code, with which the user sets a new one. Ends all sessions and clears the
 * throttle, as a reset with a password does. Only a keyed hash is stored, so the code cannot be shown again. Replaces
 * an earlier code. Throws Fault `not_found`.
 */
export async function issuePasswordCode(
  userRef: UserRef,
  deps: AuthDeps,
): Promise<{ readonly code: string; readonly validUntil: Instant }> {
  const user = await requireUser(userRef, deps);
  const { code, stored: passwordCode } = await createPasswordCode(user.value.id, deps);
  const { validUntil } = passwordCode;
  await replaceCredentials(user, { passwordCode }, { event: "password_code_issued", validUntil }, deps);
  return { code, validUntil };
}
