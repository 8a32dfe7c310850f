import type { PeerFailure } from "../../platform/peer-failure.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { callAndRecord, type NotCalled, newLease, type Run, takeTurn } from "./run.ts";

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
