import { Fault } from "../../fault.ts";
import type { AuthDeps } from "../deps.ts";
import { nextEpoch } from "../model/session.ts";
import { parseUsername } from "../model/username.ts";
import { parseNewPassword } from "../passwords/password.ts";
import type { Stored, User, UserRef } from "../store.ts";
import { userHash } from "../user-hash.ts";
import { newPassword } from "./new-password.ts";

export const noSuchUser = (): Fault => new Fault("not_found", "There is no such user.");

/** Creates a user (decisions A3, A4). Throws Fault `invalid` with every wrong field, `conflict`. */
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
    throw new Fault("invalid", "The request is not valid.", { problems });
  }
  const hash = accepted.value === undefined ? undefined : await deps.hasher.hash(accepted.value);
  const created = await deps.users.create({ username: name.value, ...(hash && { password: hash }) });
  if (created === undefined) throw new Fault("conflict", "A user with that username already exists!");
  deps.log.info("user_created", { userId: created.value.id });
  return created;
}

/** Sets a password and ends all sessions; it clears the throttle too (decisions A10, A15). Throws Fault `not_found`, `invalid`. */
export async function resetPassword(whom: UserRef, password: string, deps: AuthDeps): Promise<void> {
  const user = await deps.users.find(whom);
  if (user === undefined) throw noSuchUser();
  const hash = await newPassword(password, { field: "password", username: user.value.name, empty: "none" }, deps);
  await moveEpoch(user, () => (hash === undefined ? {} : { password: hash }), deps);
  await deps.throttles.clear(user.value.handle);
  deps.log.info("password_reset", { userId: user.value.id });
}

/** Deletes a user (decision A17). Throws Fault `not_found`. */
export async function deleteUser(whom: UserRef, deps: AuthDeps): Promise<void> {
  if (!(await deps.users.remove(whom))) throw noSuchUser();
  deps.log.info("user_deleted", { user: whom });
}

/** Ends all sessions of a user (decision A10). Throws Fault `not_found`. */
export async function endSessions(whom: UserRef, deps: AuthDeps): Promise<void> {
  const user = await deps.users.find(whom);
  if (user === undefined) throw noSuchUser();
  await moveEpoch(user, ({ password }) => (password === undefined ? {} : { password }), deps);
  deps.log.info("sessions_ended", { userId: user.value.id });
}

/** Moves the epoch in the same write that changes the user's row; a faster writer is read again. */
async function moveEpoch(
  start: Stored<User>,
  next: (user: User) => Pick<User, "password">,
  deps: AuthDeps,
): Promise<void> {
  let user: Stored<User> | undefined = start;
  while (user !== undefined) {
    const { epoch, handle, id } = user.value;
    if ((await deps.users.save(user, { ...next(user.value), epoch: nextEpoch(epoch) })) !== undefined) return;
    user = await deps.users.find({ by: "handle", handle, id });
  }
  throw noSuchUser();
}

/**
 * Clears the throttle of a user, or of a name that nobody has (decision A10). Throws Fault `not_found` for an id that is no
 * user's, and for what can be no name.
 */
export async function unlock(whom: UserRef | undefined, deps: AuthDeps): Promise<void> {
  const user = whom && (await deps.users.find(whom));
  const handle = whom?.by === "name" ? userHash(whom.folded) : user?.value.handle;
  if (handle === undefined) throw noSuchUser();
  await deps.throttles.clear(handle);
  // A name that no user has may be a password that was typed into the wrong field (decision G10).
  const isUnknownName = user === undefined && whom?.by === "name";
  const who = isUnknownName ? { usernameHash: await deps.usernameHash(whom.folded) } : { user: whom };
  deps.log.info("user_unlocked", who);
}
