import type { ConnectorDeps } from "../deps.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import type { SecurityKey } from "../model/security-key.ts";
import { loadRequest } from "../storage/change-request.ts";
import { isLeasedByAnother, type Run } from "./run.ts";

/** Waits before each further read while a job has a lease. A job's visit of a key usually lasts less than their sum. */
const leaseWaitsMs = [200, 300, 500, 1000];

/**
 * Returns the request. Reads it again while a job has the lease of one of these security keys, until all waits are
 * over. Throws Fault `not_found`.
 */
export async function loadUnleased(
  requestId: string,
  keysOf: (loaded: LoadedRequest) => readonly SecurityKey[],
  run: Run,
  deps: ConnectorDeps,
  load: typeof loadRequest = loadRequest,
): Promise<LoadedRequest> {
  let loaded = await load(requestId, deps);
  for (const waitMs of leaseWaitsMs) {
    if (!keysOf(loaded).some(({ lease }) => isLeasedByAnother(lease, run, deps.now()))) break;
    await deps.sleep(waitMs);
    loaded = await load(requestId, deps);
  }
  return loaded;
}
