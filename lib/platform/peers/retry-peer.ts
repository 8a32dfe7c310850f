import { withTimeoutSignal } from "../async/with-timeout-signal.ts";
import { callPeer, type PeerAccess, type PeerRequest } from "./call-peer.ts";
import { PeerFailure } from "./peer-failure.ts";

const maxTries = 3;
/** Doubles with each attempt. */
const firstWaitMs = 250;
/** A call is not repeated if the peer asks for a longer wait. */
const maxWaitMs = 3000;

/**
 * Sends a call to a peer, and repeats it after temporary failures within one time limit. For reads, token requests, and
 * calls that are idempotent by their contract.
 * @throws PeerFailure of the last attempt
 */
export function retryPeer<T>(access: PeerAccess, request: PeerRequest<T>): Promise<T> {
  return withTimeoutSignal(access.timeLimitMs, request.signal, async signal => {
    for (let tried = 1; ; tried++) {
      try {
        return await callPeer(access, { ...request, signal });
      } catch (error) {
        if (!(error instanceof PeerFailure) || !error.passing || tried >= maxTries) throw error;
        const wait = Math.max(backOff(tried, access.random), (error.retryAfter ?? 0) * 1000);
        if (wait > maxWaitMs) throw error;
        await access.sleep(wait, signal).catch(() => {
          throw error;
        });
      }
    }
  });
}

/** Returns the wait before the next attempt. Half of it is random, so that many hosts do not retry at the same time. */
function backOff(tried: number, random: PeerAccess["random"]): number {
  const most = firstWaitMs * 2 ** (tried - 1);
  return most / 2 + (most / 2) * ((random(1)[0] ?? 0) / 256);
}
