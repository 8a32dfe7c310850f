import { isDeepStrictEqual } from "node:util";
import type { Changes, ConnectorDeps, LoadedRequest } from "../deps.ts";

/**
 * Saves changes that take or renew a lease. Returns undefined if another run or request has changed the rows. An own write whose
 * response was lost has a conflict, too. So the rows are read again: if they have the changes, the lease is the caller's.
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
  const keyOf = (id: string) => stored.keys.find(({ value }) => value.id === id)?.value;
  return (
    (request === undefined || isDeepStrictEqual(stored.request.value, request)) &&
    keys.every(key => isDeepStrictEqual(keyOf(key.id), key))
  );
}
