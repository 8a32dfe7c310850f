import { Fault } from "../../fault.ts";
import type { AuthDeps } from "../deps.ts";
import { nextEpoch } from "../model/session.ts";
import type { StoredPassword } from "../passwords/password-hash.ts";
import { keepSession, type LiveSession, sessionRequired } from "../sessions/manage-sessions.ts";
import type { Stored, User } from "../store.ts";
import { acceptedPassword } from "../users/new-password.ts";
import { type SignInOptions, signIn } from "./sign-in.ts";

export interface PasswordChange {
  readonly newpass: string;
  readonly oldpass?: string | undefined;
  readonly otp?: string | undefined;
}

/**
 * Changes the password of a session's user after the full login check (specification section 4, rule 3; decision A16). The
 * user's other sessions end; the one that changed it goes on with the new epoch (decision A15).
 * Throws Fault `unauthenticated`, `invalid`, `throttled`.
 */
export async function changePassword(
  live: LiveSession,
  { newpass, oldpass, otp }: PasswordChange,
  deps: AuthDeps,
  { address }: Pick<SignInOptions, "address"> = {},
): Promise<void> {
  const owner = live.user.value;
  const password = await acceptedPassword(newpass, { field: "newpass", username: owner.name, empty: "refused" }, deps);
  const result = await signIn({ username: owner.name, password: oldpass, otp }, deps, { address });
  if (!result.granted || password === undefined) throw new Fault("unauthenticated", "Invalid credentials!");
  const epoch = nextEpoch(owner.epoch);
  await replacePassword(result.user, { owner, hash: await deps.hasher.hash(password), epoch }, deps);
  await keepSession(live, epoch, deps);
  deps.log.info("password_changed", { userId: owner.id });
}

/**
 * Writes the user's row, which moves its epoch (decision A15). Whatever moved the epoch first, a reset or another change, has
 * ended the session in whose name this was asked.
 */
async function replacePassword(
  checked: Stored<User>,
  { owner, hash, epoch }: { owner: User; hash: StoredPassword; epoch: number },
  { users }: AuthDeps,
): Promise<void> {
  let current: Stored<User> | undefined = checked;
  for (;;) {
    if (current?.value.id !== owner.id || current.value.epoch !== owner.epoch) throw sessionRequired();
    if ((await users.save(current, { password: hash, epoch })) !== undefined) return;
    current = await users.find({ by: "handle", handle: owner.handle, id: owner.id });
    // The write was done, and its answer got lost.
    if (current?.value.password?.hash === hash.hash) return;
  }
}
