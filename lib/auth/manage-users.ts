import { Fault } from "../fault.ts";
import type { AuthDeps } from "./deps.ts";
import { newPassword } from "./new-password.ts";
import type { Stored, User, Whom } from "./ports.ts";
import { nextEpoch } from "./session.ts";
import { userHandle } from "./user-handle.ts";
import { foldUsername, parseUsername } from "./username.ts";

export const noSuchUser = (): Fault => new Fault("not_found", "There is no such user.");

/** Creates a user (decisions A3, A4). Throws Fault `invalid`, `conflict`. */
export async function createUser(
  { username, password }: { username: string; password: string },
  deps: AuthDeps,
): Promise<Stored<User>> {
  const name = parseUsername(username);
  if (!name.ok) {
    throw new Fault("invalid", "The request is not valid.", { problems: [{ path: "username", reason: name.reason }] });
  }
  const hash = await newPassword(password, { field: "password", username: name.value.name, empty: "none" }, deps);
  const created = await deps.users.create({ username: name.value, ...(hash && { password: hash }) });
  if (created === undefined) throw new Fault("conflict", "A user with that username already exists!");
  deps.log.info("user_created", { userId: created.value.id });
  return created;
}

/** Sets a password and ends all sessions; it clears the throttle too (decisions A10, A15). Throws Fault `not_found`, `invalid`. */
export async function resetPassword(whom: Whom, password: string, deps: AuthDeps): Promise<void> {
  const user = await deps.users.find(whom);
  if (user === undefined) throw noSuchUser();
  const hash = await newPassword(password, { field: "password", username: user.value.name, empty: "none" }, deps);
  await moveEpoch(user, () => (hash === undefined ? {} : { password: hash }), deps);
  await deps.throttles.clear(user.value.handle);
  deps.log.info("password_reset", { userId: user.value.id });
}

/** Ends all sessions of a user (decision A10). Throws Fault `not_found`. */
export async function endSessions(whom: Whom, deps: AuthDeps): Promise<void> {
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

/** Clears the throttle of a name, of one that nobody has too (decision A10). */
export async function unlock(segment: string, whom: Whom | undefined, deps: AuthDeps): Promise<void> {
  const standing = whom && (await deps.users.standing(whom));
  const handle = standing?.throttle.handle ?? userHandle(foldUsername(segment));
  await deps.throttles.clear(handle);
}
