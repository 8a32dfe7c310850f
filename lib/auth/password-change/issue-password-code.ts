import type { Instant } from "../../platform/time.ts";
import type { AuthDeps } from "../deps.ts";
import type { UserRef } from "../store.ts";
import { nameThrottleKey, noSuchUser } from "../users/manage-users.ts";
import { createPasswordCode } from "./password-code.ts";

/**
 * Replaces a user's password by a one-time code, with which the user sets a new one. Ends all sessions and clears the
 * throttle, as a reset with a password does. Only a keyed hash is stored, so the code cannot be shown again. Replaces an
 * earlier code. Throws Fault `not_found`.
 */
export async function issuePasswordCode(
  userRef: UserRef,
  deps: AuthDeps,
): Promise<{ readonly code: string; readonly validUntil: Instant }> {
  const user = await deps.users.find(userRef);
  if (user === undefined) throw noSuchUser();
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
