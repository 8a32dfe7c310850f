import type { AuthDeps } from "../deps.ts";
import { type Lock, lockAt } from "../sign-in/throttle.ts";
import type { UserRef } from "../store.ts";
import { nameThrottleKey, noSuchUser } from "./manage-users.ts";

/**
 * Returns the lock of a user, or of an unknown username, as the next attempt would find it.
 * Throws Fault `not_found` for an unknown id, and for a text that cannot be a username.
 */
export async function readLock(userRef: UserRef | undefined, deps: AuthDeps): Promise<Lock> {
  const { users, throttles, rules, now } = deps;
  const user = userRef?.by === "id" ? await users.find(userRef) : undefined;
  const name = userRef?.by === "name" ? userRef.folded : user?.value.name;
  if (name === undefined) throw noSuchUser();
  const key = nameThrottleKey(name);
  const { value } = await throttles.find(key, user?.value.id ?? users.idOf(key.text));
  return lockAt(value, now(), rules.throttle);
}
