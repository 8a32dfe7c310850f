import pLimit from "p-limit";
import { type EachFieldOf, omitUndefined } from "../../platform/collections.ts";
import { Fault, invalidRequest, type Problem } from "../../platform/fault.ts";
import { measure } from "../../platform/telemetry.ts";
import { type Attributes, attributeOf } from "../attributes/attributes.ts";
import { createBatch } from "../batch.ts";
import type { AuthDeps } from "../deps.ts";
import type { ImportedHash } from "../passwords/imported-hash.ts";
import { parseNewPassword } from "../passwords/password.ts";
import type { UserView } from "../store.ts";
import { type NewUser, unknownOtpkey } from "./insert-user.table.ts";
import type { Username } from "./username.ts";

/** A user of a batch (A25). */
interface ImportedUser {
  readonly username: Username;
  /** In clear, empty for a user without a password; or the hash that another server made. */
  readonly password: string | ImportedHash;
  readonly attributes: Attributes;
  /** Prefixes of existing OTP keys, each once. */
  readonly otpkeys: readonly string[];
  readonly enabled: boolean;
  /** Problems that the caller has found. The import adds its own and refuses the user with all of them. */
  readonly problems: readonly Problem[];
}

/** The result for a user. `isNew` is false if the same user existed. With a Fault, nothing of the user was imported. */
type UserImportResult = { readonly id: number; readonly isNew: boolean } | Fault;

/** Number of users that are imported at once. Each has at most one slot in the queue of hashes. */
const concurrency = 8;

/**
 * Imports users with different names. Each is created in one transaction or not at all. An existing user must have
 * everything that the import says, and is not changed. Results have the order of the users. A repeated call completes
 * an earlier one.
 * Throws Fault `unavailable` if storage or Key Vault is not responding, or the queue of hashes is full; some users may
 * be imported then.
 */
export async function importUsers(
  users: readonly ImportedUser[],
  deps: AuthDeps,
): Promise<readonly UserImportResult[]> {
  const batch = createBatch(deps.log);
  const results = await pLimit(concurrency).map(users, user => batch.run(() => importUser(user, deps)));
  batch.throwOutage();
  return results;
}

async function importUser(user: ImportedUser, deps: AuthDeps): Promise<UserImportResult> {
  const { username, problems } = user;
  const find = () => deps.users.view({ by: "name", folded: username.folded });
  const found = problems.length === 0 ? await find() : undefined;
  const stored = found ?? (await create(user, deps)) ?? (await find());
  // Another call took the name, and its user was deleted.
  if (stored === undefined)
    throw new Fault("unavailable", "Too many concurrent changes. Repeat the call.", { retryAfterSeconds: 1 });
  if ("isNew" in stored) return stored;
  await requireSame(stored, user, deps);
  return { id: stored.id, isNew: false };
}

/** Creates the user. Returns undefined if another user has the name. Throws Fault `invalid` with every problem. */
async function create(user: ImportedUser, deps: AuthDeps) {
  const { username, password, attributes, otpkeys, enabled } = user;
  const rules = { minLength: deps.rules.passwordMinLength, empty: "none" } as const;
  const [parsed, keys] = await Promise.all([
    typeof password === "string" ? parseNewPassword(password, username.name, rules) : undefined,
    pLimit(concurrency).map(otpkeys, prefix => deps.otpkeys.find(prefix)),
  ]);
  const problems = [
    ...user.problems,
    ...(parsed === undefined || parsed.ok ? [] : [{ path: "password", reason: parsed.reason }]),
    ...(keys.includes(undefined) ? [unknownOtpkey] : []),
  ];
  if (problems.length > 0) throw invalidRequest(problems);
  const text = parsed?.ok ? parsed.value : undefined;
  const passwordOf = async (id: number) => {
    if (typeof password !== "string") return deps.hasher.hashImported(password, id);
    return text === undefined ? undefined : deps.hasher.hash(text, id);
  };
  const created = await deps.users.create(
    omitUndefined<EachFieldOf<NewUser>>({ username, passwordOf, attributes, otpkeys, enabled }),
  );
  if (created === undefined) return undefined;
  const { id, name } = created.value;
  const scheme = typeof password === "string" ? undefined : password.parameters.scheme;
  deps.log.info("user_created", { userId: id, username: name, scheme });
  if (scheme !== undefined) measure("password.imported", 1, { change: "imported", scheme });
  for (const prefix of otpkeys) deps.log.info("otpkey_assigned", { prefix, user: { by: "id", id } });
  return { id, isNew: true };
}

/**
 * Throws Fault `conflict` with every field in which an existing user differs. Attributes and OTP keys that were added
 * since are no difference, and neither is a password that replaced the imported hash.
 */
async function requireSame(existing: UserView, user: ImportedUser, deps: AuthDeps): Promise<void> {
  const different = (path: string) => ({ path, reason: "differs from that of the existing user" });
  const problems = [
    ...((await hasPassword(existing, user.password, deps)) ? [] : [different("password")]),
    ...Object.entries(user.attributes)
      .filter(([key, value]) => attributeOf(existing.attributes, key) !== value)
      .map(([key]) => different(`attributes.${key}`)),
    ...(user.otpkeys.every(prefix => existing.otpkeys.includes(prefix)) ? [] : [different("otpkeys")]),
    ...(existing.enabled === user.enabled ? [] : [different("enabled")]),
  ];
  if (problems.length === 0) return;
  throw new Fault("conflict", "A user with that username already exists!", { problems });
}

/** Returns whether the password of an existing user is `password`, or has replaced this imported hash. */
async function hasPassword(existing: UserView, password: string | ImportedHash, { hasher }: AuthDeps) {
  if (existing.password === undefined) return password === "";
  if (typeof password === "string") return hasher.verify(password, existing);
  return existing.password.imported === undefined || (await hasher.isImported(password, existing));
}
