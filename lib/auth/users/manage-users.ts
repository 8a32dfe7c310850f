import { Fault, invalidRequest, type Problem } from "../../platform/fault.ts";
import type { Stored } from "../../platform/stored.ts";
import { measure } from "../../platform/telemetry.ts";
import type { AuthDeps } from "../deps.ts";
import type { ImportedHash } from "../passwords/imported-hash.ts";
import { parseNewPassword } from "../passwords/new-password.ts";
import type { StoredPassword } from "../passwords/password-hash.ts";
import type { User } from "../store.ts";
import type { NewUser } from "./insert-user.table.ts";
import type { Username, UserRef } from "./username.ts";

export const noSuchUser = (): Fault => new Fault("not_found", "There is no such user.");

/** Returns the user of a reference. Throws Fault `not_found`. */
export async function requireUser(userRef: UserRef, { users }: AuthDeps): Promise<Stored<User>> {
  const user = await users.find(userRef);
  if (user === undefined) throw noSuchUser();
  return user;
}

/** @param problems fields in which the existing user differs from the wanted one */
export const nameTaken = (problems: readonly Problem[] = []): Fault =>
  new Fault("conflict", "A user with that username already exists!", { problems });

interface GivenPassword {
  /** In clear, empty for a user without a password; absent if it cannot be read. */
  readonly password?: string | undefined;
  readonly mustChange?: boolean | undefined;
  /** Username, if it is known. */
  readonly name?: string | undefined;
}

/** Returns why a user cannot have a password (A4). */
export async function passwordProblems(
  { password, mustChange = false, name }: GivenPassword,
  { passwordMinLength }: AuthDeps["rules"],
): Promise<readonly Problem[]> {
  if (password === undefined) return [];
  if (password === "") return mustChange ? [{ path: "must_change", reason: "needs a password" }] : [];
  const parsed = await parseNewPassword(password, name, passwordMinLength);
  return parsed.ok ? [] : [{ path: "password", reason: parsed.reason }];
}

/** Returns a new password as it is stored; undefined if the user has none. */
export async function hashNew(
  text: string,
  id: number,
  mustChange: boolean,
  { hasher }: AuthDeps,
): Promise<StoredPassword | undefined> {
  return text === "" ? undefined : { ...(await hasher.hash(text, id)), ...(mustChange && { mustChange }) };
}

interface GivenUser extends Omit<NewUser, "passwordOf"> {
  /** In clear, empty for a user without a password; or the hash that another server made. */
  readonly password: string | ImportedHash;
  readonly mustChange?: boolean;
}

/**
 * Creates a user (A3). The caller has checked the password by `passwordProblems`. Returns undefined if the username is
 * taken. Throws Fault `invalid` if one of the `otpkeys` does not exist.
 */
export async function createUser(
  { password, mustChange = false, ...user }: GivenUser,
  deps: AuthDeps,
): Promise<User | undefined> {
  const hash = typeof password === "string" ? undefined : password;
  const passwordOf = (id: number) =>
    typeof password === "string" ? hashNew(password, id, mustChange, deps) : deps.hasher.hashImported(password, id);
  const created = await deps.users.create({ ...user, passwordOf });
  if (created === undefined) return undefined;
  const { id, otpkeys } = created.value;
  const scheme = hash?.parameters.scheme;
  deps.log.info("user_created", { userId: id, username: created.value.name, scheme });
  if (scheme !== undefined) measure("password.imported", 1, { change: "imported", scheme });
  for (const { prefix } of otpkeys) deps.log.info("otpkey_assigned", { prefix, user: { by: "id", id } });
  return created.value;
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
