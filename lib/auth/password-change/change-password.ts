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

/** The user whom a caller names, and the code of a reset, in place of a session and the old password. */
export interface CodeHolder {
  readonly username: string;
  readonly code: string;
}

export const invalidCredentials = (): Fault => new Fault("unauthenticated", "Invalid credentials!");

/**
 * Changes the password of a session's user, or of a user who has the code of a reset, after the full login check
 * (specification section 4, rule 3; A16, A24). Ends the user's other sessions; the session that made the change continues
 * (A15).
 * Throws Fault `unauthenticated` for wrong credentials or an ended session, `invalid` for a new password that breaks the
 * rules, `throttled`, `unavailable`; `OverloadFault` before the check.
 */
export async function changePassword(
  by: LiveSession | CodeHolder,
  { newpass, oldpass, otp }: PasswordChange,
  deps: AuthDeps,
  options: Pick<SignInOptions, "address" | "deviceToken"> = {},
): Promise<void> {
  const live = "session" in by ? by : undefined;
  const given = "session" in by ? { username: by.user.value.name, password: oldpass, otp } : { ...by, otp };
  const { username } = given;
  const password = await checkNewPassword(newpass, { field: "newpass", username, empty: "refused" }, deps);
  const hasSession = live !== undefined;
  // Before the check, because a full queue after it would refuse a caller whose OTP is used up.
  using hashSlot = deps.hasher.acquireHashSlot({ isKnown: hasSession });
  const result = await signIn(given, deps, { ...options, hasSession });
  if (!result.granted || password === undefined) throw invalidCredentials();
  const { value: owner } = live?.user ?? result.user;
  const hash = await deps.hasher.hash(password, owner.id, hashSlot);
  const change = { owner, hash, ...(!hasSession && { by: "code" as const }) };
  const { epoch } = await replacePassword(result.user, change, deps);
  // A failure would say that the old password stays. The session ends then, as all others.
  if (live) await warnOnError("session_not_continued", moveSessionToEpoch(live, epoch, deps), deps);
}

/**
 * Writes the password with a new epoch, and returns the user. Throws Fault `unauthenticated` if a reset or another change
 * has changed the epoch first, because that ended what allowed this change.
 * @param change `owner` as read when the change was allowed; `by` what allowed it, a session if it is absent
 */
export async function replacePassword(
  checked: Stored<User>,
  { owner, hash, by }: { readonly owner: User; readonly hash: StoredPassword; readonly by?: "code" | "token" },
  { users, log }: AuthDeps,
): Promise<User> {
  const ended = by === undefined ? sessionRequired : invalidCredentials;
  const isChanged = ({ id, epoch }: User) => id !== owner.id || epoch !== owner.epoch;
  const changed = await users.renewEpoch(checked, user => {
    if (isChanged(user)) throw ended();
    return { password: hash };
  });
  if (changed === undefined) throw ended();
  // The password is changed now: it has its audit event also if the rest fails.
  log.info("password_changed", { userId: owner.id, by });
  return changed.value;
}
