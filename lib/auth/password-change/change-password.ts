import { Fault } from "../../platform/fault.ts";
import type { Stored } from "../../platform/stored.ts";
import { warnOnError } from "../../platform/warn-on-error.ts";
import type { AuthDeps } from "../deps.ts";
import type { StoredPassword } from "../passwords/password-hash.ts";
import { type LiveSession, moveSessionToEpoch, sessionRequired } from "../sessions/manage-sessions.ts";
import { type SignInOptions, signIn } from "../sign-in/sign-in.ts";
import type { User } from "../store.ts";
import { checkNewPassword } from "../users/new-password.ts";

interface PasswordChange {
  readonly newpass: string;
  readonly oldpass?: string | undefined;
  readonly otp?: string | undefined;
}

/**
 * Changes the password of a session's user after the full login check (specification section 4, rule 3; A16). Ends the
 * user's other sessions; the session that made the change continues (A15).
 * Throws Fault `unauthenticated` for wrong credentials or an ended session, `invalid` for a new password that breaks the
 * rules, `throttled`, `unavailable`; `OverloadFault` before the check.
 */
export async function changePassword(
  live: LiveSession,
  { newpass, oldpass, otp }: PasswordChange,
  deps: AuthDeps,
  { address, deviceToken }: Pick<SignInOptions, "address" | "deviceToken"> = {},
): Promise<void> {
  const owner = live.user.value;
  const password = await checkNewPassword(newpass, { field: "newpass", username: owner.name, empty: "refused" }, deps);
  // Before the check, because a full queue after it would refuse a caller whose OTP is used up.
  using hashSlot = deps.hasher.acquireHashSlot({ isKnown: true });
  const given = { username: owner.name, password: oldpass, otp };
  const result = await signIn(given, deps, { address, deviceToken, hasSession: true });
  if (!result.granted || password === undefined) throw new Fault("unauthenticated", "Invalid credentials!");
  const hash = await deps.hasher.hash(password, owner.id, hashSlot);
  const { epoch } = await replacePassword(result.user, { owner, hash }, deps);
  // The password is changed now: it has its audit event also if the rest fails.
  deps.log.info("password_changed", { userId: owner.id });
  // A failure would say that the old password stays. The session ends then, as all others.
  await warnOnError("session_not_continued", moveSessionToEpoch(live, epoch, deps), deps);
}

/**
 * Writes the password with a new epoch, and returns the user. Throws `sessionRequired` if a reset or another change has changed the epoch first,
 * because that ended the session that asked for this change.
 */
async function replacePassword(
  checked: Stored<User>,
  { owner, hash }: { owner: User; hash: StoredPassword },
  { users }: AuthDeps,
): Promise<User> {
  const isChanged = ({ id, epoch }: User) => id !== owner.id || epoch !== owner.epoch;
  const changed = await users.renewEpoch(checked, user => {
    if (isChanged(user)) throw sessionRequired();
    return { password: hash };
  });
  if (changed === undefined) throw sessionRequired();
  return changed.value;
}
