import type { PeerFailure } from "../../platform/peer-failure.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { callInTurn, type NotCalled, newLease, notCalled, type Run } from "./run.ts";

/** Takes the lease of a request. Returns undefined on a conflict. */
export const leaseRequest = (
  loaded: LoadedRequest,
  run: Run,
  { requests, now, intervals }: ConnectorDeps,
): Promise<LoadedRequest | undefined> =>
  requests.save(loaded, { request: { ...loaded.request, lease: newLease(run, now(), intervals) } });

/**
 * Takes the lease of a request when the turn of a call has come, and makes the call.
 * @returns the leased request and the answer of the peer; undefined if there was a conflict
 */
export async function callLeased<T>(
  loaded: LoadedRequest,
  peer: string,
  run: Run,
  deps: ConnectorDeps,
  call: () => Promise<T>,
): Promise<{ readonly leased: LoadedRequest; readonly answer: T | PeerFailure } | NotCalled | undefined> {
  let attempt: { readonly leased: LoadedRequest | undefined } | undefined;
  const answer = await callInTurn(peer, run, deps, async () => {
    const leased = await leaseRequest(loaded, run, deps);
    attempt = { leased };
    return leased === undefined ? notCalled : call();
  });
  if (attempt === undefined) return notCalled;
  const { leased } = attempt;
  return leased === undefined || answer === notCalled ? undefined : { leased, answer };
}
