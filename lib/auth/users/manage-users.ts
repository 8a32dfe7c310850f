import { type EachFieldOf, omitUndefined } from "../../platform/collections.ts";
import { Fault, invalidRequest } from "../../platform/fault.ts";
import type { Stored } from "../../platform/stored.ts";
import type { AuthDeps } from "../deps.ts";
import { parseNewPassword } from "../passwords/password.ts";
import type { StoredPassword } from "../passwords/password-hash.ts";
import type { User } from "../store.ts";
import type { NewUser } from "./insert-user.table.ts";
import { parseUsername, type Username, type UserRef } from "./username.ts";

export const noSuchUser = (): Fault => new Fault("not_found", "There is no such user.");

/** Returns the user of a reference. Throws Fault `not_found`. */
export async function requireUser(userRef: UserRef, { users }: AuthDeps): Promise<Stored<User>> {
  const user = await users.find(userRef);
  if (user === undefined) throw noSuchUser();
  return user;
}

const nameTaken = (): Fault => new Fault("conflict", "A user with that username already exists!");

export const nothingToChange = { path: "must_change", reason: "needs a password" };

/** Returns a new password as it is stored; undefined if the user has none. */
export async function hashNew(
  text: string | undefined,
  id: number,
  mustChange: boolean,
  { hasher }: AuthDeps,
): Promise<StoredPassword | undefined> {
  return text === undefined ? undefined : { ...(await hasher.hash(text, id)), ...(mustChange && { mustChange }) };
}

/** Creates a user (A3, A4). Throws Fault `invalid` with every wrong field, `conflict` if the username is taken. */
export async function createUser(
  { username, password, mustChange = false }: { username: string; password: string; mustChange?: boolean },
  deps: AuthDeps,
): Promise<Stored<User>> {
  const name = parseUsername(username);
  const rules = { minLength: deps.rules.passwordMinLength, empty: "none" } as const;
  const accepted = await parseNewPassword(password, name.ok ? name.value.name : "", rules);
  const hasNone = mustChange && password === "";
  if (!name.ok || !accepted.ok || hasNone) {
    const problems = [
      ...(name.ok ? [] : [{ path: "username", reason: name.reason }]),
      ...(accepted.ok ? [] : [{ path: "password", reason: accepted.reason }]),
      ...(hasNone ? [nothingToChange] : []),
    ];
    throw invalidRequest(problems);
  }
  const passwordOf = (id: number) => hashNew(accepted.value, id, mustChange, deps);
  const created = await deps.users.create(
    omitUndefined<EachFieldOf<NewUser>>({
      username: name.value,
      passwordOf,
      attributes: undefined,
      otpkeys: undefined,
      enabled: undefined,
    }),
  );
  if (created === undefined) throw nameTaken();
  deps.log.info("user_created", { userId: created.value.id, username: created.value.name });
  return created;
}

/** Deletes a user (A17). Throws Fault `not_found`. */
export async function deleteUser(userRef: UserRef, deps: AuthDeps): Promise<void> {
  if (!(await deps.users.remove(userRef))) throw noSuchUser();
  deps.log.info("user_deleted", { user: userRef });
}

/**
 * Renames a user and ends the user's sessions. Id, password, attributes and OTP keys stay.
 * Throws Fault `not_found`, `conflict` if another user has the name, `invalid` if the name is the user's password.
 */
export async function renameUser(userRef: UserRef, username: Username, deps: AuthDeps): Promise<User> {
  const user = await requireUser(userRef, deps);
  await requireOtherThanPassword(username, user.value, deps);
  const renamed = await deps.users.rename(userRef, username);
  if (renamed === "no_user") throw noSuchUser();
  if (renamed === "taken") throw nameTaken();
  deps.log.info("user_renamed", { userId: renamed.id, username: renamed.name });
  return renamed;
}

/**
 * Throws Fault `invalid` if a name is the user's password, in its own letter case, in lower or in upper case: only the
 * hash is known (A4).
 */
async function requireOtherThanPassword({ name, folded }: Username, user: User, deps: AuthDeps): Promise<void> {
  if (user.password === undefined) return;
  for (const text of new Set([name, folded, name.toUpperCase()])) {
    if (!(await deps.hasher.verify(text, user))) continue;
    throw invalidRequest([{ path: "username", reason: "must not be the user's password" }]);
  }
}
