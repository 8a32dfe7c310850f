import { isDeepStrictEqual } from "node:util";
import type { Changes, ConnectorDeps, LoadedRequest } from "../deps.ts";
import { securityKeysOf } from "../storage/loaded-request.ts";

/**
 * Saves changes that take or renew a lease. Returns undefined if another host, or another run or call of this one, has changed the rows. A
 * repeated write whose first response was lost conflicts with itself. So the rows are read again after a conflict: if they have the
 * changes, with the random owner id of this run, the lease is the caller's.
 */
export async function saveLease(
  loaded: LoadedRequest,
  changes: Changes,
  { requests }: Pick<ConnectorDeps, "requests">,
): Promise<LoadedRequest | undefined> {
  const saved = await requests.save(loaded, changes);
  if (saved !== undefined) return saved;
  const stored = await requests.load(loaded.request.value.id);
  return stored !== undefined && hasChanges(stored, changes) ? stored : undefined;
}

function hasChanges(stored: LoadedRequest, { request, keys = [] }: Changes): boolean {
  const keyOf = (id: string) => securityKeysOf(stored).find(key => key.id === id);
  return (
    (request === undefined || isDeepStrictEqual(stored.request.value, request)) &&
    keys.every(key => isDeepStrictEqual(keyOf(key.id), key))
  );
}
