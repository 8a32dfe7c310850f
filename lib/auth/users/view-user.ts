import type { AuthDeps } from "../deps.ts";
import { type Lock, lockAt } from "../sign-in/throttle.ts";
import type { UserView } from "../store.ts";
import { noSuchUser } from "./manage-users.ts";
import { nameThrottleKey } from "./user-access.ts";
import type { UserRef } from "./username.ts";

/**
 * Returns a user and the lock of the username, which is read in parallel where the name is known. Throws Fault
 * `not_found`.
 */
export async function viewUser(
  userRef: UserRef,
  { users, throttles, rules, now }: AuthDeps,
): Promise<{ readonly user: UserView; readonly lock: Lock }> {
  const viewing = users.view(userRef);
  const name = userRef.by === "name" ? userRef.folded : (await viewing)?.name;
  if (name === undefined) throw noSuchUser();
  const owner = viewing.then(user => user?.id);
  const [user, throttle] = await Promise.all([viewing, throttles.find(nameThrottleKey(name), owner)]);
  if (user === undefined) throw noSuchUser();
  return { user, lock: lockAt(throttle.value, now(), rules.throttle) };
}

/**
 * Returns the lock of a user, or of an unknown username, as the next attempt would find it. Throws Fault `not_found`
 * for an unknown id.
 */
export async function readLock(userRef: UserRef, deps: AuthDeps): Promise<Lock> {
  const { users, throttles, rules, now } = deps;
  const user = userRef.by === "id" ? await users.find(userRef) : undefined;
  const name = userRef.by === "name" ? userRef.folded : user?.value.name;
  if (name === undefined) throw noSuchUser();
  const key = nameThrottleKey(name);
  const { value } = await throttles.find(key, user?.value.id ?? users.idOf(key.text));
  return lockAt(value, now(), rules.throttle);
}
