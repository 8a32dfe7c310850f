import { orFailure, PeerFailure } from "../../platform/peer-failure.ts";
import { between, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import type { SecurityKey } from "../model/security-key.ts";
import { callInTurn, notCalled, type Run } from "../runs/run.ts";
import { compensate, compensateAtIdp, type MakeCall } from "./compensate.ts";

/**
 * Returns how a run of a job makes the calls of compensations and cancels: when their turn at the peer comes, unless
 * the run must not call it.
 * @param leaseUntil the end of the run's lease: no call starts that may outlast it, because the wait for a turn uses up
 * the lease (C15)
 */
export const callsInTurn =
  (leaseUntil: string, run: Run): MakeCall =>
  async (peer, timeLimitMs, call) => {
    const notAfter = plus(leaseUntil, -timeLimitMs);
    const result = await callInTurn(peer, run, call, () => run.now() <= notAfter);
    if (result instanceof PeerFailure) throw result;
    if (result !== notCalled) return;
    const waitMs = between(run.now(), run.peerLimits.of(peer).pausedUntil ?? run.now());
    const detail = "It was not called: earlier calls to it have failed, or the lease of the run ends too early.";
    const retryAfterSeconds = waitMs > 0 ? Math.ceil(waitMs / 1000) : undefined;
    throw new PeerFailure(peer, "call", "unreachable", { detail, retryAfterSeconds });
  };

/** Returns the ports of a compensation of a leased request in a run of a job. */
const withCallsInTurn = ({ request }: LoadedRequest, run: Run) => ({
  ...run,
  makeCall: callsInTurn(request.lease?.until ?? run.now(), run),
});

/**
 * Compensates for security keys of a leased request in a run of a job. Returns the failure of a peer, after which the
 * compensation has to be repeated.
 */
export const compensateInTurn = (
  leased: LoadedRequest,
  keys: readonly SecurityKey[],
  run: Run,
): Promise<PeerFailure | undefined> =>
  logFailure(compensate(leased.request.id, keys, withCallsInTurn(leased, run)), run);

/** Logs the failure of a peer, and returns it. */
async function logFailure(compensation: Promise<void>, { log }: ConnectorDeps): Promise<PeerFailure | undefined> {
  const error = await orFailure(compensation);
  if (!(error instanceof PeerFailure)) return undefined;
  log.warn("compensation_failed", { error });
  return error;
}

/**
 * Removes the registrations that IdPs began for credentials whose challenge has expired without a response: otherwise
 * they would use up the user's limit at the IdP. Only logs the failure of an IdP, because an ended credential must not
 * wait for it.
 * @param after the security keys of the leased request as they will be saved
 */
export async function compensateExpired(leased: LoadedRequest, after: readonly SecurityKey[], run: Run): Promise<void> {
  const ports = withCallsInTurn(leased, run);
  const compensations = leased.keys.flatMap(key => {
    const ended = after.find(({ id }) => id === key.id)?.credentials ?? [];
    const expired = [...key.credentials.keys()].filter(
      index => key.credentials[index]?.state === "processing" && ended[index]?.state === "failed",
    );
    return expired.map(index => logFailure(compensateAtIdp(leased.request.id, key, index, ports), run));
  });
  await Promise.all(compensations);
}
