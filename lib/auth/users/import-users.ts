import { Fault, refuseProblems } from "../../platform/fault.ts";
import { attributeOf } from "../attributes/attributes.ts";
import { runBatch } from "../batch.ts";
import type { AuthDeps } from "../deps.ts";
import type { ImportedHash } from "../passwords/imported-hash.ts";
import type { UserView } from "../store.ts";
import type { NewUser } from "./insert-user.table.ts";
import { createUser, nameTaken, passwordProblems } from "./manage-users.ts";

/** A user of a batch (A25). */
interface ImportedUser extends Required<Pick<NewUser, "username" | "attributes" | "otpkeys" | "enabled">> {
  /** In clear, empty for a user without a password; or the hash that another server made. */
  readonly password: string | ImportedHash;
}

/** The result for a user. `isNew` is false if the same user existed. With a Fault, nothing of the user was imported. */
type UserImportResult = { readonly id: number; readonly isNew: boolean } | Fault;

/**
 * Imports users with different names. Each is created in one transaction or not at all. An existing user must have
 * everything that the import says, and is not changed. Results have the order of the users. A repeated call completes
 * an earlier one.
 * Throws Fault `unavailable` if storage or Key Vault is not responding, or the queue of hashes is full; some users may
 * be imported then.
 */
export const importUsers = (users: readonly ImportedUser[], deps: AuthDeps): Promise<readonly UserImportResult[]> =>
  // Each has at most one slot in the queue of hashes.
  runBatch(users, user => importUser(user, deps), { log: deps.log, concurrency: 8 });

async function importUser(
  user: ImportedUser,
  deps: AuthDeps,
): Promise<{ readonly id: number; readonly isNew: boolean }> {
  const { password } = user;
  const { name, folded } = user.username;
  const find = () => deps.users.view({ by: "name", folded });
  let found = await find();
  if (found === undefined) {
    if (typeof password === "string") refuseProblems(await passwordProblems({ password, name }, deps.rules));
    const created = await createUser(user, deps);
    if (created !== undefined) return { id: created.id, isNew: true };
    found = await find();
  }
  // Another call took the name, and its user was deleted.
  if (found === undefined)
    throw new Fault("unavailable", "Too many concurrent changes. Repeat the call.", { retryAfterSeconds: 1 });
  const problems = await differences(found, user, deps);
  if (problems.length > 0) throw nameTaken(problems);
  return { id: found.id, isNew: false };
}

/**
 * Returns every field in which an existing user differs. Attributes and OTP keys that were added since are no
 * difference, and neither is a password that replaced the imported hash.
 */
async function differences(existing: UserView, user: ImportedUser, deps: AuthDeps) {
  const different = (path: string) => ({ path, reason: "differs from that of the existing user" });
  return [
    ...((await hasPassword(existing, user.password, deps)) ? [] : [different("password")]),
    ...Object.entries(user.attributes)
      .filter(([key, value]) => attributeOf(existing.attributes, key) !== value)
      .map(([key]) => different(`attributes.${key}`)),
    ...(user.otpkeys.every(prefix => existing.otpkeys.includes(prefix)) ? [] : [different("otpkeys")]),
    ...(existing.enabled === user.enabled ? [] : [different("enabled")]),
  ];
}

/** Returns whether the password of an existing user is `password`, or has replaced this imported hash. */
async function hasPassword(existing: UserView, password: string | ImportedHash, { hasher }: AuthDeps) {
  if (existing.password === undefined) return password === "";
  if (typeof password === "string") return hasher.verify(password, existing);
  return existing.password.imported === undefined || (await hasher.isImported(password, existing));
}
