import pLimit from "p-limit";
import { Fault, invalidRequest } from "../../platform/fault.ts";
import type { Attributes } from "../attributes/attributes.ts";
import { createBatch } from "../batch.ts";
import type { AuthDeps } from "../deps.ts";
import type { OtpKey } from "../store.ts";
import { checkImport, importKey, toNewKey } from "./import-key.ts";
import { type ImportedKey, prefixesOf, requireValidImport, unknownUsername, type ValidImport } from "./imported-key.ts";
import { assignKey } from "./manage-otpkeys.ts";

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
export async function importKeys(keys: readonly ImportedKey[], deps: AuthDeps): Promise<readonly BatchResult[]> {
  const owners = await readOwners(keys, deps);
  const batch = createBatch(deps.log);
  const prepared = await Promise.all(
    keys.map(imported =>
      batch.run(async () => {
        const owned = imported.owner && owners.get(imported.owner.folded);
        const key = requireValidImport(imported, owned);
        owned?.add(key.prefix);
        return { key, created: await toNewKey(key, deps) };
      }),
    ),
  );
  batch.throwOutage();
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
  const finish = (key: ValidImport) =>
    batch.run(async () => {
      const outcome = createdOf.get(key.prefix);
      if (outcome?.status === "rejected") throw outcome.reason;
      const isCreated = outcome?.value !== undefined;
      if (!isCreated && key.owner !== undefined) await checkImport(key, deps);
      await assignToOwner(key, deps);
      return { isNew: isCreated || (await importKey(key, deps)).isNew };
    });
  const results = await Promise.all(
    prepared.map(async each => {
      if (each instanceof Fault) return each;
      const { key } = each;
      // All assignments of a user change one row, so they would only have conflicts at the same time.
      return inTurn(key.owner?.folded ?? `/${key.prefix}`, () => limit(() => finish(key)));
    }),
  );
  batch.throwOutage();
  for (const [index, result] of results.entries()) {
    if (!(result instanceof Fault && result.kind === "forbidden")) continue;
    deps.log.info("otpkey_import_refused", { prefix: keys[index]?.prefix, reason: result.reason });
  }
  return results;
}

/** Reads each named user once. Returns the prefixes of the OTP keys of those who exist, by folded name. */
async function readOwners(
  keys: readonly ImportedKey[],
  { users }: AuthDeps,
): Promise<ReadonlyMap<string, Set<string>>> {
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
 * Assigns an imported OTP key to the user that the import names, if any. Imports it again if it was deleted meanwhile.
 * Throws Fault `invalid` if the user was deleted since the check; `forbidden` if another user has the key and the
 * caller may not take it over.
 */
async function assignToOwner(imported: ValidImport, deps: AuthDeps): Promise<void> {
  const { owner, prefix, mayTakeOver } = imported;
  if (owner === undefined) return;
  const create = () => importKey(imported, deps);
  try {
    await assignKey(owner, prefix, deps, { onlyIfFree: !mayTakeOver, create });
  } catch (error) {
    if (!(error instanceof Fault && error.kind === "not_found")) throw error;
    throw invalidRequest([unknownUsername]);
  }
}

/**
 * Imports one OTP key, assigns it to the user that the import names, and returns it with its attributes.
 * Throws Fault `invalid`, `conflict`, `forbidden`.
 */
export async function importAndAssign(
  imported: ImportedKey,
  deps: AuthDeps,
): Promise<{ readonly key: OtpKey; readonly attributes: Attributes; readonly isNew: boolean }> {
  const { owner, prefix } = imported;
  const { users, otpkeys } = deps;
  const [user, existing] = await Promise.all([owner && users.find(owner), owner && otpkeys.find(prefix)]);
  const valid = requireValidImport(imported, user && prefixesOf(user.value));
  // An OTP key that exists is checked first, then assigned, then changed: an import that is refused changes nothing.
  if (existing !== undefined) {
    await checkImport(valid, deps);
    await assignToOwner(valid, deps);
  }
  const { key, isNew, isCreated } = await importKey(valid, deps);
  const [view] = await Promise.all([
    isCreated ? undefined : otpkeys.view(prefix),
    existing === undefined && assignToOwner(valid, deps),
  ]);
  return { key, attributes: view?.attributes ?? {}, isNew };
}
