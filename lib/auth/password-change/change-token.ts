import { Fault, invalidRequest } from "../../platform/fault.ts";
import { minutes } from "../../platform/time.ts";
import type { AuthDeps } from "../deps.ts";
import type { User } from "../store.ts";
import { checkNewPassword } from "../users/new-password.ts";
import { invalidCredentials, replacePassword } from "./change-password.ts";

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
 * Throws Fault `unauthenticated` for a token that has ended, `invalid` for a new password that breaks the rules or is the
 * present one, `unavailable`.
 */
export async function setPasswordByToken(
  { newpass, token }: { readonly newpass: string; readonly token: string },
  deps: AuthDeps,
): Promise<void> {
  const opened = await deps.changeTokens.open(token, deps.now(), tokenMs);
  const user = opened && (await deps.users.find({ by: "id", id: opened.userId }));
  if (user === undefined || user.value.epoch !== opened?.epoch) throw invalidCredentials();
  const { name: username } = user.value;
  const password = await checkNewPassword(newpass, { field: "newpass", username, empty: "refused" }, deps);
  if (password === undefined || (await deps.hasher.verify(password, user.value)))
    throw invalidRequest([{ path: "newpass", reason: "must not be the present password" }]);
  const hash = await deps.hasher.hash(password, user.value.id);
  await replacePassword(user, { owner: user.value, hash, by: "token" }, deps);
}
