import { Fault } from "../../fault.ts";
import { conflict, retryOnConflict } from "../../retry-on-conflict.ts";
import type { AuthDeps } from "../deps.ts";
import { nextEpoch } from "../model/session.ts";
import { type HashPlace, knownCaller } from "../passwords/hash-places.ts";
import type { StoredPassword } from "../passwords/password-hash.ts";
import { type LiveSession, moveSessionToEpoch, sessionRequired } from "../sessions/manage-sessions.ts";
import type { Stored, User } from "../store.ts";
import { checkNewPassword } from "../users/new-password.ts";
import { type SignInOptions, signIn } from "./sign-in.ts";
import { warnOnError } from "./warn-on-error.ts";

export interface PasswordChange {
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
  let place: HashPlace | undefined;
  const takeNextPlace = () => {
    place = deps.hasher.takePlace(knownCaller);
    return place;
  };
  try {
    const given = { username: owner.name, password: oldpass, otp };
    const result = await signIn(given, deps, { address, deviceToken, sessionOf: owner.id, takeNextPlace });
    if (!result.granted || password === undefined) throw new Fault("unauthenticated", "Invalid credentials!");
    const epoch = nextEpoch(owner.epoch);
    await replacePassword(result.user, { owner, hash: await deps.hasher.hash(password, place), epoch }, deps);
    // The password is changed now: it has its audit event also if the rest fails.
    deps.log.info("password_changed", { userId: owner.id });
    // A failure would say that the old password stays. The session ends then, as all others.
    await warnOnError("session_not_continued", moveSessionToEpoch(live, epoch, deps), deps);
  } finally {
    place?.release();
  }
}

/**
 * Writes the password and the next epoch. Throws `sessionRequired` if a reset or another change has advanced the epoch first,
 * because that ended the session that asked for this change.
 */
async function replacePassword(
  checked: Stored<User>,
  { owner, hash, epoch }: { owner: User; hash: StoredPassword; epoch: number },
  { users }: AuthDeps,
): Promise<void> {
  let current: Stored<User> | undefined = checked;
  await retryOnConflict(async () => {
    if (current?.value.id !== owner.id || current.value.epoch !== owner.epoch) throw sessionRequired();
    if ((await users.save(current, { password: hash, epoch })) !== undefined) return undefined;
    current = await users.find({ by: "userHash", userHash: owner.userHash, id: owner.id });
    // An earlier try of this write succeeded, but its response was lost.
    return current?.value.password?.hash === hash.hash ? undefined : conflict;
  });
}
