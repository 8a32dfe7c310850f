import { Fault } from "../fault.ts";
import type { AuthDeps } from "./deps.ts";
import { newPassword } from "./new-password.ts";
import { nextEpoch } from "./session.ts";
import type { LiveSession } from "./sessions.ts";
import { signIn } from "./sign-in.ts";

/**
 * Changes the password of a session's user after the full login check (specification section 4, rule 3; decision A16). The
 * user's other sessions end; the one that changed it goes on with the new epoch (decision A15).
 * Throws Fault `unauthenticated`, `invalid`, `throttled`, `conflict`.
 */
export async function changePassword(
  { key, session, user: { value: owner } }: LiveSession,
  { newpass, oldpass, otp }: { newpass?: string | undefined; oldpass?: string | undefined; otp?: string | undefined },
  deps: AuthDeps,
): Promise<void> {
  if (newpass === undefined) {
    throw new Fault("invalid", "The request is not valid.", { problems: [{ path: "newpass", reason: "is required" }] });
  }
  const password = await newPassword(newpass, { field: "newpass", username: owner.name, empty: "refused" }, deps);
  const result = await signIn({ username: owner.name, password: oldpass, otp }, deps);
  if (!result.granted || result.user.value.id !== owner.id) throw new Fault("unauthenticated", "Invalid credentials!");
  const current = await deps.users.find({ by: "handle", handle: owner.handle, id: owner.id });
  const epoch = nextEpoch(owner.epoch);
  // The row that was checked must be the row that is changed, but for a rehash: a reset in between wins.
  const unchanged = current !== undefined && current.value.epoch === owner.epoch;
  const saved = unchanged ? await deps.users.save(current, { ...(password && { password }), epoch }) : undefined;
  if (saved === undefined) throw new Fault("conflict", "The password was changed by another call.");
  await deps.sessions.save(key, session, { epoch, accessedAt: deps.now() });
  deps.log.info("password_changed", { userId: owner.id });
}
