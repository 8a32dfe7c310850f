import { isDeepStrictEqual } from "node:util";
import { Fault, invalidRequest, type Problem, refuseProblems } from "../../platform/fault.ts";
import { conflict, retryOnConflict, type Stored } from "../../platform/stored.ts";
import { runBatch } from "../batch.ts";
import type { AuthDeps } from "../deps.ts";
import { maxAssignedKeys, type NewOtpKey, type OtpKey, type User } from "../store.ts";
import { secretContext, secretToText } from "./kinds/key-secret.ts";
import { otpKinds } from "./kinds/kinds.ts";
import { adminRequired, assignExistingKey, newKey, unusedParameters } from "./manage-otpkeys.ts";
import { type ImportedKey, mergeImport } from "./merge-import.ts";
import { hasSameValidity, logValiditySet } from "./otpkey-access.ts";

type Owner = NonNullable<ImportedKey["owner"]>;

interface ImportResult {
  readonly key: OtpKey;
  /** Whether there was no OTP key, or one without a secret. */
  readonly isNew: boolean;
  /** Whether there was no OTP key. */
  readonly isCreated: boolean;
}

/**
 * Imports one OTP key: creates it, or adds the secret to one that has none. Importing the same secret again raises the
 * counter and sets the other given values; with `replace` it sets counter and drift too. Another secret is a conflict
 * without `replace`. Without a kind, the secret of an existing key stays as it is. Then assigns the key to the user
 * that the import names, if any.
 * Throws Fault `invalid` for that user, `conflict`; `forbidden` for a replacement, a change, or an assignment, that is
 * not allowed.
 */
export async function importKey(imported: ImportedKey, deps: AuthDeps): Promise<ImportResult> {
  const { prefix, kind, owner, validity, replace, mayTakeOver } = imported;
  if (replace && !mayTakeOver) throw adminRequired("To use `replace`");
  if (owner !== undefined) refuseProblems(ownerProblems(await deps.users.find(owner), prefix));
  const { secret, parameters } =
    kind === undefined ? { parameters: unusedParameters, secret: undefined } : otpKinds[kind].prepare(imported);
  const draft: NewOtpKey = {
    ...newKey(prefix, parameters, kind),
    ...validity,
    ...(secret && { sealedSecret: await deps.sealer.seal(secretToText(secret), secretContext(prefix)) }),
  };
  let assignedId: number | undefined;
  return retryOnConflict(async () => {
    const found = await deps.otpkeys.create(draft);
    if (found === undefined) return conflict;
    const { key, isNew: isCreated } = found;
    if (isCreated) deps.log.info("otpkey_imported", { prefix, kind });
    // An OTP key that exists is checked first, then assigned, then changed: an import that is refused changes nothing.
    const merged = isCreated ? undefined : await mergeImport(key.value, imported, { draft, secret }, deps);
    // An import that is repeated changes nothing, and needs no write.
    const isChanged = merged !== undefined && !isDeepStrictEqual(merged.next, key.value);
    if (owner !== undefined && assignedId !== key.value.id) {
      if (!(await assignToOwner(owner, imported, deps))) return conflict;
      assignedId = key.value.id;
      // The assignment has given the OTP key another version: it is read again before it is changed.
      if (isChanged) return conflict;
    }
    if (merged === undefined) return { key: key.value, isNew: true, isCreated };
    const saved = isChanged ? await deps.otpkeys.save(key, merged.next) : key;
    if (saved === undefined) return conflict;
    if (merged.event !== undefined) deps.log.info(merged.event, { prefix, kind });
    if (!hasSameValidity(key.value, saved.value)) logValiditySet(saved.value, deps);
    return { key: saved.value, isNew: merged.isNew, isCreated };
  });
}

const unknownUsername: Problem = { path: "username", reason: "is not the name of a user" };

/** Returns why an OTP key cannot be assigned to a user. */
function ownerProblems(user: Stored<User> | undefined, prefix: string): readonly Problem[] {
  if (user === undefined) return [unknownUsername];
  const { otpkeys } = user.value;
  if (otpkeys.length < maxAssignedKeys || otpkeys.some(each => each.prefix === prefix)) return [];
  return [{ path: "username", reason: `is that of a user who has ${maxAssignedKeys} otpkeys already` }];
}

/**
 * Assigns an imported OTP key to the user that the import names. Returns false if the key was deleted meanwhile. Throws
 * Fault `invalid` if the user was deleted since the check; `forbidden` if another user has the key and the caller may
 * not take it over.
 */
async function assignToOwner(owner: Owner, { prefix, mayTakeOver }: ImportedKey, deps: AuthDeps): Promise<boolean> {
  try {
    return await assignExistingKey(owner, prefix, deps, { onlyIfFree: !mayTakeOver });
  } catch (error) {
    if (!(error instanceof Fault && error.kind === "not_found")) throw error;
    throw invalidRequest([unknownUsername]);
  }
}

/**
 * Imports up to 100 OTP keys of different prefixes, and refuses those with problems. Results have the order of the
 * keys. With a Fault nothing of the OTP key was imported, but a new key may exist without its user if that one was
 * deleted or full meanwhile. A repeated call completes what an earlier one began.
 * Throws Fault `unavailable` if storage or vault is away; some keys may be imported then.
 */
export async function importKeys(
  keys: readonly ImportedKey[],
  deps: AuthDeps,
): Promise<readonly (Pick<ImportResult, "isNew"> | Fault)[]> {
  const results = await runBatch(keys, async key => ({ isNew: (await importKey(key, deps)).isNew }), {
    log: deps.log,
    concurrency: 16,
    // All assignments of a user change one row, so that they would have conflicts.
    groupOf: ({ owner, prefix }) => owner?.folded ?? `/${prefix}`,
  });
  for (const [index, result] of results.entries()) {
    if (!(result instanceof Fault && result.kind === "forbidden")) continue;
    deps.log.info("otpkey_import_refused", { prefix: keys[index]?.prefix, reason: result.reason });
  }
  return results;
}
