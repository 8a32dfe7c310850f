import { type EachFieldOf, omitUndefined } from "../../platform/collections.ts";
import { Fault, invalidRequest } from "../../platform/fault.ts";
import type { Stored } from "../../platform/stored.ts";
import type { Instant } from "../../platform/time.ts";
import type { AuthDeps } from "../deps.ts";
import { checkNewPassword, parseNewPassword } from "../passwords/password.ts";
import { createPasswordCode } from "../passwords/password-code.ts";
import type { ThrottleKey, User } from "../store.ts";
import type { NewUser } from "./insert-user.table.ts";
import { foldUsername, hashUsernameForLog, parseUsername, type Username, type UserRef } from "./username.ts";

export const noSuchUser = (): Fault => new Fault("not_found", "There is no such user.");

/** Returns the user of a reference. Throws Fault `not_found`. */
async function requireUser(userRef: UserRef, { users }: AuthDeps): Promise<Stored<User>> {
  const user = await users.find(userRef);
  if (user === undefined) throw noSuchUser();
  return user;
}

const nameTaken = (): Fault => new Fault("conflict", "A user with that username already exists!");

const nothingToChange = { path: "must_change", reason: "needs a password" };

/** The part of a stored password that its change removes. */
const mustChangeOnce = { mustChange: true } as const;

/** Creates a user (A3, A4). Throws Fault `invalid` with every wrong field, `conflict` if the username is taken. */
export async function createUser(
  { username, password, mustChange = false }: { username: string; password: string; mustChange?: boolean },
  deps: AuthDeps,
): Promise<Stored<User>> {
  const name = parseUsername(username);
  const rules = { minLength: deps.rules.passwordMinLength, empty: "none" } as const;
  const accepted = await parseNewPassword(password, name.ok ? name.value.name : "", rules);
  const hasNone = mustChange && password === "";
  if (!name.ok || !accepted.ok || hasNone) {
    const problems = [
      ...(name.ok ? [] : [{ path: "username", reason: name.reason }]),
      ...(accepted.ok ? [] : [{ path: "password", reason: accepted.reason }]),
      ...(hasNone ? [nothingToChange] : []),
    ];
    throw invalidRequest(problems);
  }
  const { value: text } = accepted;
  const passwordOf = async (id: number) =>
    text === undefined ? undefined : { ...(await deps.hasher.hash(text, id)), ...(mustChange && mustChangeOnce) };
  const created = await deps.users.create(
    omitUndefined<EachFieldOf<NewUser>>({
      username: name.value,
      passwordOf,
      attributes: undefined,
      otpkeys: undefined,
      enabled: undefined,
    }),
  );
  if (created === undefined) throw nameTaken();
  deps.log.info("user_created", { userId: created.value.id, username: created.value.name });
  return created;
}

/**
 * Sets a password, ends all sessions and clears the throttle (A10, A15). Throws Fault `not_found`, `invalid`.
 * @param mustChange whether the user must change it before the next session (A24)
 */
export async function resetPassword(
  userRef: UserRef,
  { password, mustChange = false }: { readonly password: string; readonly mustChange?: boolean },
  deps: AuthDeps,
): Promise<void> {
  if (mustChange && password === "") throw invalidRequest([nothingToChange]);
  const user = await requireUser(userRef, deps);
  const { id, name } = user.value;
  const text = await checkNewPassword(password, { field: "password", username: name, empty: "none" }, deps);
  const stored =
    text === undefined ? undefined : { ...(await deps.hasher.hash(text, id)), ...(mustChange && mustChangeOnce) };
  const changed = await deps.users.renewEpoch(user, () => (stored === undefined ? {} : { password: stored }));
  if (changed === undefined) throw noSuchUser();
  // The password is changed now: it has its audit event also if the rest fails.
  deps.log.info("password_reset", { userId: id });
  await deps.throttles.clear(nameThrottleKey(changed.value.name));
}

/** Deletes a user (A17). Throws Fault `not_found`. */
export async function deleteUser(userRef: UserRef, deps: AuthDeps): Promise<void> {
  if (!(await deps.users.remove(userRef))) throw noSuchUser();
  deps.log.info("user_deleted", { user: userRef });
}

/**
 * Renames a user and ends the user's sessions. Id, password, attributes and OTP keys stay.
 * Throws Fault `not_found`, `conflict` if another user has the name, `invalid` if the name is the user's password.
 */
export async function renameUser(userRef: UserRef, username: Username, deps: AuthDeps): Promise<User> {
  const user = await requireUser(userRef, deps);
  await requireOtherThanPassword(username, user.value, deps);
  const renamed = await deps.users.rename(userRef, username);
  if (renamed === "no_user") throw noSuchUser();
  if (renamed === "taken") throw nameTaken();
  deps.log.info("user_renamed", { userId: renamed.id, username: renamed.name });
  return renamed;
}

/**
 * Throws Fault `invalid` if a name is the user's password, in its own letter case, in lower or in upper case: only the
 * hash is known (A4).
 */
async function requireOtherThanPassword({ name, folded }: Username, user: User, deps: AuthDeps): Promise<void> {
  if (user.password === undefined) return;
  for (const text of new Set([name, folded, name.toUpperCase()])) {
    if (!(await deps.hasher.verify(text, user))) continue;
    throw invalidRequest([{ path: "username", reason: "must not be the user's password" }]);
  }
}

/** Ends all sessions of a user. Throws Fault `not_found`. */
export async function endSessions(userRef: UserRef, deps: AuthDeps): Promise<void> {
  const user = await requireUser(userRef, deps);
  if ((await deps.users.renewEpoch(user, current => current)) === undefined) throw noSuchUser();
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
  const changed = isChange ? await deps.users.renewEpoch(user, current => ({ ...current, enabled })) : user;
  if (changed === undefined) throw noSuchUser();
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
  const changed = await deps.users.renewEpoch(user, () => ({ passwordCode }));
  if (changed === undefined) throw noSuchUser();
  const { id, name } = changed.value;
  const { validUntil } = passwordCode;
  // The password has ended now: the code has its audit event also if the rest fails.
  deps.log.info("password_code_issued", { userId: id, validUntil });
  await deps.throttles.clear(nameThrottleKey(name));
  return { code, validUntil };
}
