import { isDeepStrictEqual } from "node:util";
import pLimit from "p-limit";
import { Fault, invalidRequest } from "../../platform/fault.ts";
import { conflict, retryOnConflict } from "../../platform/stored.ts";
import { createBatch } from "../batch.ts";
import type { AuthDeps } from "../deps.ts";
import type { NewOtpKey, OtpKey } from "../store.ts";
import { type ImportedKey, type Owner, prepareImport, unknownUsername } from "./imported-key.ts";
import { secretContext, secretToText } from "./kinds/key-secret.ts";
import { assignExistingKey, newKey } from "./manage-otpkeys.ts";
import { mergeImport } from "./merge-import.ts";
import { hasSameValidity, logValiditySet } from "./otpkey-access.ts";

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
 * Throws Fault `invalid` with every problem, `conflict`; `forbidden` for a change, or an assignment, that is not
 * allowed.
 */
export async function importKey(
  imported: ImportedKey,
  deps: AuthDeps,
  readOwned = ownedReader(deps),
): Promise<ImportResult> {
  const { prefix, kind, owner, validity } = imported;
  const owned = owner && (await readOwned(owner));
  const { secret, parameters } = prepareImport(imported, owned);
  owned?.add(prefix);
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

/** Returns a function that returns the prefixes of the OTP keys of a user, and reads each user once. */
function ownedReader({ users }: AuthDeps) {
  const known = new Map<string, Promise<Set<string> | undefined>>();
  return (owner: Owner): Promise<Set<string> | undefined> => {
    const reading =
      known.get(owner.folded) ??
      users.find(owner).then(user => user && new Set(user.value.otpkeys.map(each => each.prefix)));
    known.set(owner.folded, reading);
    return reading;
  };
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

/** Number of OTP keys that are imported at once. */
const concurrency = 16;

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
  const batch = createBatch(deps.log);
  const readOwned = ownedReader(deps);
  const results: (Pick<ImportResult, "isNew"> | Fault)[] = [];
  // One after another for each user: all assignments of a user change one row, so that they would have conflicts.
  const groups = Map.groupBy(keys.entries(), ([, { owner, prefix }]) => owner?.folded ?? `/${prefix}`);
  await pLimit(concurrency).map(groups.values(), async group => {
    for (const [index, key] of group)
      results[index] = await batch.run(async () => ({ isNew: (await importKey(key, deps, readOwned)).isNew }));
  });
  batch.throwOutage();
  for (const [index, result] of results.entries()) {
    if (!(result instanceof Fault && result.kind === "forbidden")) continue;
    deps.log.info("otpkey_import_refused", { prefix: keys[index]?.prefix, reason: result.reason });
  }
  return results;
}
