import { Fault, invalidRequest } from "../../platform/fault.ts";
import { warnOnError } from "../../platform/log.ts";
import type { Stored } from "../../platform/stored.ts";
import { minutes } from "../../platform/time.ts";
import type { AuthDeps } from "../deps.ts";
import { parseNewPassword } from "../passwords/new-password.ts";
import type { StoredPassword } from "../passwords/password-hash.ts";
import { type LiveSession, moveSessionToEpoch, sessionRequired } from "../sessions/manage-sessions.ts";
import type { User } from "../store.ts";
import { type SignInOptions, signIn } from "./sign-in.ts";

interface PasswordChange {
  readonly newpass: string;
  readonly oldpass?: string | undefined;
  readonly otp?: string | undefined;
}

/** The user whom a caller names, and the password code of a reset, in place of a session and the old password. */
interface CodeHolder {
  readonly username: string;
  readonly passwordCode: string;
}

export const invalidCredentials = (): Fault => new Fault("unauthenticated", "Invalid credentials!");

/**
 * Changes the password of a session's user, or of a user who has the code of a reset, after the full login check
 * (specification section 4, rule 3; A16, A24). Ends the user's other sessions; the session that made the change
 * continues (A15).
 * Throws Fault `unauthenticated` for wrong credentials or an ended session, `invalid` for a new password that breaks
 * the rules, `throttled`, `unavailable`; `OverloadFault` before the check.
 */
export async function changePassword(
  by: LiveSession | CodeHolder,
  { newpass, oldpass, otp }: PasswordChange,
  deps: AuthDeps,
  options: Pick<SignInOptions, "address" | "deviceToken"> = {},
): Promise<void> {
  const live = "session" in by ? by : undefined;
  const given = "session" in by ? { username: by.user.value.name, password: oldpass, otp } : { ...by, otp };
  const password = await checkNewPassword(newpass, given.username, deps);
  // Before the check, because a full queue after it would refuse a caller whose OTP is used up.
  using hashSlot = deps.hasher.acquireHashSlot({ isKnown: live !== undefined });
  const { user } = await signIn(given, deps, { ...options, sessionUser: live?.user.value });
  if (user === undefined) throw invalidCredentials();
  const hash = await deps.hasher.hash(password, user.value.id, hashSlot);
  const { epoch } = await replacePassword(user, hash, live ? undefined : "code", deps);
  // A failure would say that the old password stays. The session ends then, as all others.
  if (live) await warnOnError("session_not_continued", moveSessionToEpoch(live, epoch, deps), deps);
}

/**
 * Writes the password with a new epoch, and returns the user. Throws Fault `unauthenticated` if a reset or another
 * change has changed the epoch first, because that ended what allowed this change.
 * @param user as read when the change was allowed
 * @param by what allowed it; undefined: a session
 */
async function replacePassword(
  user: Stored<User>,
  hash: StoredPassword,
  by: "code" | "token" | undefined,
  { users, log }: AuthDeps,
): Promise<User> {
  const { id: userId, epoch } = user.value;
  const ended = by === undefined ? sessionRequired : invalidCredentials;
  const changed = await users.renewEpoch(user, current => {
    if (current.epoch !== epoch) throw ended();
    return { password: hash };
  });
  if (changed === undefined) throw ended();
  // The password is changed now: it has its audit event also if the rest fails.
  log.info("password_changed", { userId, by });
  return changed;
}

const invalidPassword = (reason: string): Fault => invalidRequest([{ path: "newpass", reason }]);

/** Returns a new password in NFC. Throws Fault `invalid` for one that breaks the rules. */
async function checkNewPassword(newpass: string, username: string, { rules }: AuthDeps): Promise<string> {
  const parsed = await parseNewPassword(newpass, username, rules.passwordMinLength);
  if (parsed.ok) return parsed.value;
  throw invalidPassword(parsed.reason);
}

/** The time in which a person chooses a new password. */
const tokenMs = minutes(10);

/**
 * Returns the refusal of a user whose credentials are right and whose password must be changed first. Its token sets a
 * new password and nothing else. It names the credential epoch, so every change of the credentials ends it.
 */
export async function changeRequired(
  { id: userId, epoch }: User,
  { changeTokens, now }: Pick<AuthDeps, "changeTokens" | "now">,
): Promise<Fault> {
  const token = await changeTokens.issue({ userId, epoch, number: 0, issuedAt: now() });
  const data = { reason: "password_change_required", token };
  return new Fault("unauthenticated", "The password must be changed.", { data });
}

/**
 * Sets the password of a user who has a token of `changeRequired`. The first use ends the token.
 * Throws Fault `unauthenticated` for a token that has ended, `invalid` for a new password that breaks the rules or is
 * the present one, `unavailable`.
 */
export async function setPasswordByToken(
  { newpass, token }: { readonly newpass: string; readonly token: string },
  deps: AuthDeps,
): Promise<void> {
  const opened = await deps.changeTokens.open(token, deps.now(), tokenMs);
  const user = opened && (await deps.users.find({ by: "id", id: opened.userId }));
  if (user === undefined || user.value.epoch !== opened?.epoch) throw invalidCredentials();
  const password = await checkNewPassword(newpass, user.value.name, deps);
  if (await deps.hasher.verify(password, user.value)) throw invalidPassword("must not be the present password");
  const hash = await deps.hasher.hash(password, user.value.id);
  await replacePassword(user, hash, "token", deps);
}
