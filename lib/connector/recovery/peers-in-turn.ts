import { orFailure, PeerFailure } from "../../platform/peer-failure.ts";
import { between, type Instant, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { idpName, preRegistrationApi } from "../model/peer-names.ts";
import { isOnSite, type SecurityKey } from "../model/security-key.ts";
import { isTerminal } from "../model/states.ts";
import { callAndRecord, callInTurn, mustDefer, type Run } from "../runs/run.ts";
import { compensate, compensateAtIdp } from "./compensate.ts";

type Peers = Pick<ConnectorDeps, "idps" | "rfpr">;

/**
 * Whether the run must not call a peer at which these security keys are compensated or cancelled: they are deferred to
 * a later run. An IdP whose creation options begin no registration is not called, so its pause does not count.
 */
export const mustDeferKeys = (keys: readonly SecurityKey[], run: Run, deps: ConnectorDeps): boolean =>
  keys
    .filter(({ state }) => !isTerminal(state))
    .flatMap(key => [
      ...(isOnSite(key) ? [preRegistrationApi] : []),
      ...key.credentials.flatMap(({ idpId }) =>
        deps.idps.get(idpId)?.compensateUnanswered === undefined ? [] : idpName(idpId),
      ),
    ])
    .some(peer => mustDefer(peer, run, deps));

/**
 * Returns the peers of compensations and cancels for a run of a job: each call waits for one of the peer's
 * `callsAtOnce` slots, and the run's circuit breaker can stop it. A call that the run must not make fails as
 * `throttled` while the peer is paused, else as `unreachable`.
 * @param leaseUntil the end of the run's lease: no call starts that may outlast it, because the wait for a slot uses up
 * the lease (C15)
 */
export function peersInTurn({ idps, rfpr }: Peers, leaseUntil: Instant, run: Run, deps: ConnectorDeps): Peers {
  const { idpCallMs, enrollmentCallMs } = deps.intervals;
  const inTurn = async (
    peer: string,
    { operation, timeLimitMs }: { readonly operation: string; readonly timeLimitMs: number },
    call: () => Promise<void>,
  ): Promise<void> => {
    const notAfter = plus(leaseUntil, -timeLimitMs);
    const inTime = () => deps.now() <= notAfter;
    const result = await callInTurn(peer, run, deps, () => callAndRecord(peer, run, deps, call), inTime);
    if (result === "deferred") throw notCalled(peer, operation, run, deps);
    if (result instanceof PeerFailure) throw result;
  };
  // The time limit of a call begins when the call has its slot.
  const timeLimit = () => AbortSignal.timeout(idpCallMs);
  const atRfpr = (operation: string, call: () => Promise<void>) =>
    inTurn(preRegistrationApi, { operation, timeLimitMs: enrollmentCallMs }, call);
  return {
    idps: {
      ...idps,
      get: id => {
        const idp = idps.get(id);
        const compensateUnanswered = idp?.compensateUnanswered;
        if (idp === undefined || compensateUnanswered === undefined) return idp;
        const call = (compensation: () => Promise<void>) =>
          inTurn(idpName(id), { operation: "compensate", timeLimitMs: idpCallMs }, compensation);
        return {
          ...idp,
          compensate: state => call(() => idp.compensate(state, timeLimit())),
          compensateUnanswered: request => call(() => compensateUnanswered(request, timeLimit())),
        };
      },
    },
    ...(rfpr && {
      rfpr: {
        ...rfpr,
        cancel: id => atRfpr("cancel authenticator", () => rfpr.cancel(id)),
        remove: id => atRfpr("delete authenticator", () => rfpr.remove(id)),
      },
    }),
  };
}

/** Returns the failure of a call that the run did not make. */
function notCalled(
  peer: string,
  operation: string,
  { peers }: Run,
  { peerLimits, now }: Pick<ConnectorDeps, "peerLimits" | "now">,
): PeerFailure {
  const { pausedUntil } = peerLimits.of(peer);
  if (pausedUntil === undefined || pausedUntil <= now()) {
    const reason =
      peers.get(peer)?.isStopped === true
        ? "earlier calls of the run to it have failed"
        : "a call could last longer than the lease of the run";
    return new PeerFailure(peer, operation, "unreachable", { detail: `It was not called: ${reason}.` });
  }
  const retryAfterSeconds = Math.ceil(between(now(), pausedUntil) / 1000);
  return new PeerFailure(peer, operation, "throttled", { retryAfterSeconds });
}

/**
 * Compensates for security keys of a leased request in a run of a job. Each call waits for a slot of its peer, and
 * does not start if it could outlast the lease. Returns the failure of a peer, after which the compensation has to be
 * repeated.
 */
export async function compensateInTurn(
  { request }: LoadedRequest,
  keys: readonly SecurityKey[],
  run: Run,
  deps: ConnectorDeps,
): Promise<PeerFailure | undefined> {
  const leaseUntil = request.lease?.until ?? deps.now();
  return logFailure(compensate(request.id, keys, { ...deps, ...peersInTurn(deps, leaseUntil, run, deps) }), deps);
}

/** Logs the failure of a peer, and returns it. */
async function logFailure(compensation: Promise<void>, { log }: ConnectorDeps): Promise<PeerFailure | undefined> {
  const error = await orFailure(compensation);
  if (error === undefined) return undefined;
  log.warn("compensation_failed", { error });
  return error;
}

/**
 * Removes the registrations that IdPs began for credentials whose challenge has expired without a response: otherwise
 * they would use up the user's limit at the IdP. Only logs the failure of an IdP, because an ended credential must not
 * wait for it.
 * @param after the security keys of the leased request as they will be saved
 */
export async function compensateExpired(
  leased: LoadedRequest,
  after: readonly SecurityKey[],
  run: Run,
  deps: ConnectorDeps,
): Promise<void> {
  const { id, lease } = leased.request;
  const inTurn = { ...deps, ...peersInTurn(deps, lease?.until ?? deps.now(), run, deps) };
  const compensations = leased.keys.flatMap(key => {
    const ended = after.find(each => each.id === key.id);
    return key.credentials.map(({ state }, index) =>
      state === "processing" && ended?.credentials[index]?.state === "failed"
        ? logFailure(compensateAtIdp(id, key, index, inTurn), deps)
        : undefined,
    );
  });
  await Promise.all(compensations);
}
