import type { Changes, ConnectorDeps, LoadedRequest } from "../deps.ts";
import { listKeyOf } from "../model/people-lists.ts";
import type { Due, SecurityKey } from "../model/request.ts";
import { rolledUp } from "../model/roll-up.ts";
import { updateShipmentRecord } from "./shipment-record.ts";

export const isSameDue = (a: Due | undefined, b: Due | undefined): boolean =>
  a?.queue === b?.queue && a?.at === b?.at && a?.notBefore === b?.notBefore;
const sameRow = (a: Due, b: Due): boolean => a.queue === b.queue && a.at === b.at;

/**
 * Writes rows together with the index of due work and the lists of requests: new index rows before, old ones after the rows that
 * they point to, so that a crash leaves a row too many and never one too few (decisions C15, C19).
 * Returns the request as it now stands, undefined when a row changed meanwhile.
 */
export async function saveRequest(
  loaded: LoadedRequest,
  changes: Changes,
  { requests }: Pick<ConnectorDeps, "requests">,
): Promise<LoadedRequest | undefined> {
  const { id, state } = loaded.request.value;
  const moves = movesOf(loaded, changes);
  const place = listKeyOf(loaded.request.value);
  const next = changes.request?.state ?? state;
  await Promise.all([
    next === state ? undefined : requests.enter(place, [{ state: next }]),
    ...moves.map(({ to, keyId }) => to && requests.schedule(to, id, keyId)),
  ]);
  const saved = await requests.save(loaded, changes);
  if (saved === undefined) return undefined;
  // Before the old index rows go: after a crash in between, the job that sweeps them writes the record.
  await updateShipmentRecord(loaded, saved, { requests });
  await Promise.all([
    next === state ? undefined : requests.leave(place, [{ state }]),
    ...moves.map(({ from, to, keyId }) => from && !(to && sameRow(from, to)) && requests.unschedule(from, id, keyId)),
  ]);
  return saved;
}

interface Move {
  readonly from: Due | undefined;
  readonly to: Due | undefined;
  readonly keyId?: string;
}

function movesOf(loaded: LoadedRequest, { request, keys = [] }: Changes): readonly Move[] {
  const moves: Move[] = keys.map(key => ({
    from: loaded.keys.find(({ value }) => value.id === key.id)?.value.due,
    to: key.due,
    keyId: key.id,
  }));
  if (request !== undefined) moves.push({ from: loaded.request.value.due, to: request.due });
  return moves.filter(({ from, to }) => !isSameDue(from, to));
}

/**
 * Changes one key, together with the request's roll-up where the key's state changes: one transaction by both versions. On a
 * conflict everything is read again and the change goes on only while `owner` holds the key (decision C15).
 * Returns undefined when the hold is lost: the caller stops.
 */
export async function changeSecurityKey(
  loaded: LoadedRequest,
  keyId: string,
  owner: string,
  change: (key: SecurityKey) => SecurityKey,
  deps: Pick<ConnectorDeps, "requests" | "now">,
): Promise<LoadedRequest | undefined> {
  let current: LoadedRequest | undefined = loaded;
  while (current !== undefined) {
    const before = securityKeyOf(current, keyId);
    if (current !== loaded && before.lease?.owner !== owner) return undefined;
    const after = change(before);
    const keys = current.keys.map(({ value }) => (value.id === keyId ? after : value));
    const request = after.state === before.state ? {} : { request: rolledUp(current.request.value, keys, deps.now()) };
    const saved = await saveRequest(current, { ...request, keys: [after] }, deps);
    if (saved !== undefined) return saved;
    current = await deps.requests.load(loaded.request.value.id);
  }
  return undefined;
}

/** The key of a loaded request. Throws on an id that is none of its keys. */
export function securityKeyOf(loaded: LoadedRequest, keyId: string): SecurityKey {
  const key = loaded.keys.find(({ value }) => value.id === keyId)?.value;
  if (key === undefined) throw new Error(`key ${keyId} is none of the request`);
  return key;
}
