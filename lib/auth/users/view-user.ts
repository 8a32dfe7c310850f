import type { AuthDeps } from "../deps.ts";
import { type Lock, lockAt } from "../sign-in/throttle.ts";
import type { UserRef, UserView } from "../store.ts";
import { nameThrottleKey, noSuchUser } from "./manage-users.ts";

/** Returns a user and the lock of the username, which is read in parallel where the name is known. Throws Fault `not_found`. */
export async function viewUser(
  userRef: UserRef | undefined,
  { users, throttles, rules, now }: AuthDeps,
): Promise<UserView & { readonly lock: Lock }> {
  if (userRef === undefined) throw noSuchUser();
  const viewing = users.view(userRef);
  const name = userRef.by === "name" ? userRef.folded : (await viewing)?.name;
  if (name === undefined) throw noSuchUser();
  const owner = viewing.then(view => view?.id);
  const [view, throttle] = await Promise.all([viewing, throttles.find(nameThrottleKey(name), owner)]);
  if (view === undefined) throw noSuchUser();
  return { ...view, lock: lockAt(throttle.value, now(), rules.throttle) };
}
