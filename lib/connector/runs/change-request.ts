import { Fault } from "../../platform/fault.ts";
import type { PeerFailure } from "../../platform/peer-failure.ts";
import { conflict, retryOnConflict } from "../../platform/stored.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { Changes, LoadedRequest } from "../model/loaded-request.ts";
import type { SecurityKey } from "../model/security-key.ts";
import { callAndRecord, isLeasedByAnother, type NotCalled, newLease, type Run, takeTurn } from "./run.ts";

/** Loads the request that a caller names, also an archived one. Throws Fault `not_found`. */
export async function loadKept(id: string, { requests }: Pick<ConnectorDeps, "requests">): Promise<LoadedRequest> {
  return existing(await requests.load(id));
}

/** Loads a request. Throws Fault `not_found`, also for an archived one, which only the register shows. */
export async function loadRequest(id: string, { requests }: Pick<ConnectorDeps, "requests">): Promise<LoadedRequest> {
  const loaded = existing(await requests.load(id));
  if (loaded.request.isArchived !== true) return loaded;
  throw new Fault(
    "not_found",
    "The credential request was cleaned up. Only the register of security keys has its keys.",
  );
}

function existing(loaded: LoadedRequest | undefined): LoadedRequest {
  if (loaded === undefined) throw new Fault("not_found", "There is no such credential request.");
  return loaded;
}

/**
 * Saves changes of a request. On a conflict, reads the request again and applies `change` to it.
 * @param change returns undefined if nothing is to be saved any more
 * @returns the saved request; undefined if `change` returned none or the request is gone
 */
export async function saveChanges(
  loaded: LoadedRequest,
  change: (current: LoadedRequest) => Changes | undefined | Promise<Changes | undefined>,
  { requests }: Pick<ConnectorDeps, "requests">,
  options?: { readonly isUrgent?: boolean },
): Promise<LoadedRequest | undefined> {
  let current: LoadedRequest | undefined = loaded;
  return retryOnConflict(async () => {
    const changes = current && (await change(current));
    if (current === undefined || changes === undefined) return undefined;
    const saved = await requests.save(current, changes, options);
    if (saved !== undefined) return saved;
    current = await requests.load(loaded.request.id);
    return conflict;
  });
}

/** Waits before each further read while a job has a lease. A job's visit of a key usually lasts less than their sum. */
const leaseWaitsMs = [200, 300, 500, 1000];

/**
 * Loads a request. Loads it again while a job has the lease of one of these security keys, until all waits are over:
 * the lease can still be there then.
 */
export async function loadAfterLeases(
  load: () => Promise<LoadedRequest>,
  keysOf: (loaded: LoadedRequest) => readonly SecurityKey[],
  run: Run,
): Promise<LoadedRequest> {
  let loaded = await load();
  for (const waitMs of leaseWaitsMs) {
    if (!keysOf(loaded).some(({ lease }) => isLeasedByAnother(lease, run))) break;
    await run.sleep(waitMs);
    loaded = await load();
  }
  return loaded;
}

/** Takes the lease of a request. Returns undefined on a conflict. */
export const leaseRequest = (loaded: LoadedRequest, run: Run): Promise<LoadedRequest | undefined> =>
  run.requests.save(loaded, { request: { ...loaded.request, lease: newLease(run) } });

/**
 * Takes the lease of a request when the turn of a call has come, and makes the call.
 * @returns the leased request and the answer of the peer; `notCalled` if the turn did not come, see `takeTurn`
 */
export const callLeased = <T>(
  loaded: LoadedRequest,
  peer: string,
  run: Run,
  call: () => Promise<T>,
): Promise<{ readonly leased: LoadedRequest; readonly answer: T | PeerFailure } | "conflict" | NotCalled> =>
  takeTurn(peer, run, async () => {
    const leased = await leaseRequest(loaded, run);
    return leased === undefined ? "conflict" : { leased, answer: await callAndRecord(peer, run, call) };
  });
