import { Fault, invalidRequest } from "../../fault.ts";
import { conflict, retryOnConflict } from "../../retry-on-conflict.ts";
import type { AuthDeps } from "../deps.ts";
import { nextEpoch } from "../model/session.ts";
import { parseUsername, type Username } from "../model/username.ts";
import { parseNewPassword } from "../passwords/password.ts";
import type { Stored, User, UserRef } from "../store.ts";
import { hashUsername } from "../user-hash.ts";
import { hashNewPassword } from "./new-password.ts";

export const noSuchUser = (): Fault => new Fault("not_found", "There is no such user.");

const nameTaken = (): Fault => new Fault("conflict", "A user with that username already exists!");

/** Creates a user (A3, A4). Throws Fault `invalid` with every wrong field, `conflict` if the username is taken. */
export async function createUser(
  { username, password }: { username: string; password: string },
  deps: AuthDeps,
): Promise<Stored<User>> {
  const name = parseUsername(username);
  const rules = { minLength: deps.rules.passwordMinLength, empty: "none" } as const;
  const accepted = await parseNewPassword(password, name.ok ? name.value.name : "", rules);
  if (!name.ok || !accepted.ok) {
    const problems = [
      ...(name.ok ? [] : [{ path: "username", reason: name.reason }]),
      ...(accepted.ok ? [] : [{ path: "password", reason: accepted.reason }]),
    ];
    throw invalidRequest(problems);
  }
  const hash = accepted.value === undefined ? undefined : await deps.hasher.hash(accepted.value);
  const created = await deps.users.create({ username: name.value, ...(hash && { password: hash }) });
  if (created === undefined) throw nameTaken();
  deps.log.info("user_created", { userId: created.value.id, username: created.value.name });
  return created;
}

/** Sets a password, ends all sessions and clears the throttle (A10, A15). Throws Fault `not_found`, `invalid`. */
export async function resetPassword(userRef: UserRef, password: string, deps: AuthDeps): Promise<void> {
  const user = await deps.users.find(userRef);
  if (user === undefined) throw noSuchUser();
  const hash = await hashNewPassword(password, { field: "password", username: user.value.name, empty: "none" }, deps);
  await advanceEpoch(user, () => (hash === undefined ? {} : { password: hash }), deps);
  // The password is changed now: it has its audit event also if the rest fails.
  deps.log.info("password_reset", { userId: user.value.id });
  await deps.throttles.clear(user.value.userHash);
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
  const user = await deps.users.find(userRef);
  if (user === undefined) throw noSuchUser();
  await requireOtherThanPassword(username, user.value, deps);
  const renamed = await deps.users.rename(userRef, username);
  if (renamed === "no_user") throw noSuchUser();
  if (renamed === "taken") throw nameTaken();
  deps.log.info("user_renamed", { userId: renamed.id, username: renamed.name });
  return renamed;
}

/** Throws Fault `invalid` if a name is the user's password, in its own letter case, in lower or in upper case: only the hash is known (A4). */
async function requireOtherThanPassword({ name, folded }: Username, { password }: User, deps: AuthDeps): Promise<void> {
  if (password === undefined) return;
  for (const text of new Set([name, folded, name.toUpperCase()])) {
    if (!(await deps.hasher.verify(text, password))) continue;
    throw invalidRequest([{ path: "username", reason: "must not be the user's password" }]);
  }
}

/** Ends all sessions of a user. Throws Fault `not_found`. */
export async function endSessions(userRef: UserRef, deps: AuthDeps): Promise<void> {
  const user = await deps.users.find(userRef);
  if (user === undefined) throw noSuchUser();
  await advanceEpoch(user, ({ password }) => (password === undefined ? {} : { password }), deps);
  deps.log.info("sessions_ended", { userId: user.value.id });
}

/** Increments the epoch in the same write that changes the user's row. Retries after a conflict. */
async function advanceEpoch(
  start: Stored<User>,
  next: (user: User) => Pick<User, "password">,
  deps: AuthDeps,
): Promise<void> {
  let user: Stored<User> | undefined = start;
  await retryOnConflict(async () => {
    if (user === undefined) throw noSuchUser();
    const { epoch, userHash, id } = user.value;
    const saved = await deps.users.save(user, { ...next(user.value), epoch: nextEpoch(epoch) });
    if (saved !== undefined) return saved;
    user = await deps.users.find({ by: "userHash", userHash, id });
    return conflict;
  });
}

/**
 * Clears the throttle of a user or of an unknown username.
 * Throws Fault `not_found` for an unknown id, and for a text that cannot be a username.
 */
export async function unlockUser(userRef: UserRef | undefined, deps: AuthDeps): Promise<void> {
  const user = userRef && (await deps.users.find(userRef));
  const userHash = userRef?.by === "name" ? hashUsername(userRef.folded) : user?.value.userHash;
  if (userHash === undefined) throw noSuchUser();
  await deps.throttles.clear(userHash);
  // An unknown username may be a password that was typed into the wrong field (G10).
  const isUnknownName = user === undefined && userRef?.by === "name";
  const who = isUnknownName ? { usernameHash: await deps.hashUsernameForLog(userRef.folded) } : { user: userRef };
  deps.log.info("user_unlocked", who);
}
