import pLimit from "p-limit";
import { Fault, invalidRequest, type Problem } from "../../platform/fault.ts";
import { attempt, throwOutage } from "../batch.ts";
import type { AuthDeps } from "../deps.ts";
import type { UserRef } from "../users/username.ts";
import { checkImport, importKey, toNewKey } from "./import-key.ts";
import { findOwnerProblem, type ImportedKey, prefixesOf, requireValidImport, unknownUsername } from "./imported-key.ts";
import { assignKey } from "./manage-otpkeys.ts";

/** An OTP key of a batch. */
export interface BatchKey extends ImportedKey {
  /** The user to whom the OTP key is assigned, by name. */
  readonly owner?: Extract<UserRef, { readonly by: "name" }> | undefined;
  /** Problems of this element in its list. It is refused with these and all others. */
  readonly problems?: readonly Problem[] | undefined;
}

/**
 * What became of an OTP key. `isNew` is true if there was none, or one without a secret. A Fault: nothing of it was
 * imported.
 */
type BatchResult = { readonly isNew: boolean } | Fault;

/** Number of existing or assigned OTP keys that are changed at once. */
const concurrency = 16;

/**
 * Imports up to 100 OTP keys of different prefixes, and refuses those with problems. New ones are created together;
 * each existing one is imported as `importKey` does. Results have the order of the keys. A repeated call completes what
 * an earlier one began.
 * Throws Fault `unavailable` if storage or vault is away; some keys may be imported then.
 */
export async function importKeys(keys: readonly BatchKey[], deps: AuthDeps): Promise<readonly BatchResult[]> {
  const owners = await readOwners(keys, deps);
  const prepared = await Promise.all(
    keys.map(key =>
      attempt(async () => {
        const { owner, prefix, problems } = key;
        const prefixes = owner && owners.get(owner.folded);
        requireValidImport(key, { ownerProblem: owner && findOwnerProblem(prefixes, prefix), problems });
        prefixes?.add(prefix);
        return { key, created: await toNewKey(key, deps) };
      }, deps),
    ),
  );
  const accepted = prepared.flatMap(each => (each instanceof Fault ? [] : [each]));
  const outcomes = await deps.otpkeys.createMany(accepted.map(({ created }) => created));
  const createdOf = new Map(accepted.map(({ key }, index) => [key.prefix, outcomes[index]]));
  for (const { key } of accepted) {
    const { prefix, kind } = key;
    const outcome = createdOf.get(prefix);
    if (outcome?.status === "fulfilled" && outcome.value) deps.log.info("otpkey_imported", { prefix, kind });
  }

  const inTurn = takeTurns();
  const limit = pLimit(concurrency);
  let outage: Fault | undefined;
  const finish = (key: BatchKey) =>
    attempt(async () => {
      // The other keys would only wait for storage too.
      if (outage !== undefined) throw outage;
      const outcome = createdOf.get(key.prefix);
      if (outcome?.status === "rejected") throw outcome.reason;
      const isCreated = outcome?.value !== undefined;
      if (!isCreated && key.owner !== undefined) await checkImport(key, deps);
      if (key.owner !== undefined) await assignImported(key, key.owner, deps);
      return { isNew: isCreated || (await importKey(key, deps)).isNew };
    }, deps);
  const results = await Promise.all(
    prepared.map(async each => {
      if (each instanceof Fault) return each;
      const { key } = each;
      // All assignments of a user change one row, so they would only have conflicts at the same time.
      const result = await inTurn(key.owner?.folded ?? `/${key.prefix}`, () => limit(() => finish(key)));
      if (result instanceof Fault && result.kind === "unavailable") outage ??= result;
      return result;
    }),
  );
  throwOutage(results);
  return results;
}

/** Reads each named user once. Returns the prefixes of the OTP keys of those who exist, by folded name. */
async function readOwners(keys: readonly BatchKey[], { users }: AuthDeps): Promise<ReadonlyMap<string, Set<string>>> {
  const names = [...new Set(keys.flatMap(({ owner }) => owner?.folded ?? []))];
  const found = await pLimit(concurrency).map(names, folded => users.find({ by: "name", folded }));
  return new Map(
    names.flatMap((name, index) => {
      const user = found[index];
      return user === undefined ? [] : [[name, prefixesOf(user.value)] as const];
    }),
  );
}

/** Returns a function that runs work of one name in turn. */
function takeTurns() {
  const last = new Map<string, Promise<unknown>>();
  return <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const next = (last.get(name) ?? Promise.resolve()).then(work);
    last.set(name, next);
    return next;
  };
}

/**
 * Assigns an imported OTP key to a user. Imports it again if it was deleted meanwhile. Throws Fault `invalid` if the
 * user was deleted since the check; `forbidden` if another user has the key and `mayShare` is false.
 */
export async function assignImported(imported: ImportedKey, owner: UserRef, deps: AuthDeps): Promise<void> {
  const create = () => importKey(imported, deps);
  try {
    await assignKey(owner, imported.prefix, deps, { onlyIfFree: !imported.mayShare, create });
  } catch (error) {
    if (!(error instanceof Fault && error.kind === "not_found")) throw error;
    throw invalidRequest([unknownUsername]);
  }
}
