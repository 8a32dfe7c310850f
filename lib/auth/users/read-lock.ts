import type { AuthDeps } from "../deps.ts";
import { type Lock, lockAt } from "../model/throttle.ts";
import type { UserRef } from "../store.ts";
import { noSuchUser } from "./manage-users.ts";

/**
 * Returns the lock of a user, or of an unknown username. Makes one read for a username, two for an id.
 * Throws Fault `not_found` for an unknown id, and for a text that cannot be a username.
 */
export async function readLock(userRef: UserRef | undefined, { users, rules, now }: AuthDeps): Promise<Lock> {
  const state = userRef && (await users.signInState(userRef));
  if (state === undefined || (state.user === undefined && userRef?.by !== "name")) throw noSuchUser();
  return lockAt(state.throttle.value, now(), rules.throttle);
}
