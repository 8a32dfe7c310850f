import { PeerFailure } from "../../platform/peers/peer-failure.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import type { SecurityKey } from "../model/request.ts";
import type { Run } from "../runs/run.ts";
import { compensate } from "./compensate.ts";
import { peersInTurn } from "./peers-in-turn.ts";

/**
 * Compensates for security keys of a leased request in a run of a job. Each call waits for its turn at its peer, and does not start if it
 * could outlast the lease. Returns the failure of a peer, after which the compensation has to be repeated.
 */
export async function compensateInTurn(
  { request: { value: request } }: LoadedRequest,
  keys: readonly SecurityKey[],
  run: Run,
  deps: ConnectorDeps,
): Promise<PeerFailure | undefined> {
  const leaseUntil = request.lease?.until ?? deps.now();
  try {
    await compensate(request.id, keys, { ...deps, ...peersInTurn(deps, leaseUntil, run, deps) });
    return undefined;
  } catch (error) {
    if (!(error instanceof PeerFailure)) throw error;
    deps.log.warn("compensation_failed", { error });
    return error;
  }
}
