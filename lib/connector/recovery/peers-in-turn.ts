import { PeerFailure } from "../../peers/peer-failure.ts";
import type { ConnectorDeps } from "../deps.ts";
import { toResult } from "../http/to-result.ts";
import { idpName, preRegistrationApi } from "../model/peer-names.ts";
import { isOnSite, type SecurityKey } from "../model/request.ts";
import { isTerminal } from "../model/states.ts";
import { callInTurn, learnFromCall, mustLeave } from "../store/peer-calls.ts";
import type { Run } from "../store/run.ts";

type Peers = Pick<ConnectorDeps, "idps" | "rfpr">;

/** Whether the run must not call a peer at which these security keys are compensated or cancelled: they are left to a later run. */
export const mustLeaveKeys = (keys: readonly SecurityKey[], run: Run, deps: ConnectorDeps): boolean =>
  keys
    .filter(({ state }) => !isTerminal(state))
    .flatMap(key => [
      ...(isOnSite(key) ? [preRegistrationApi] : []),
      ...key.credentials.map(({ idpId }) => idpName(idpId)),
    ])
    .some(peer => mustLeave(peer, run, deps));

/**
 * Returns the peers of compensations and cancels for a run of a job: their calls have the limits and the circuit breakers
 * of the run. A call that the run must not make fails as `unreachable`.
 */
export function peersInTurn({ idps, rfpr }: Peers, run: Run, deps: ConnectorDeps): Peers {
  const inTurn = async (peer: string, operation: string, call: () => Promise<void>): Promise<void> => {
    const made = await callInTurn(peer, run, deps, {
      mayStart: () => true,
      call: async () => {
        const startedAt = deps.now();
        const ended = await toResult(call());
        const failure = "error" in ended && ended.error instanceof PeerFailure ? ended.error : undefined;
        learnFromCall({ peer, startedAt, failure }, run, deps);
        return ended;
      },
    });
    if (made === "left") throw new PeerFailure(peer, operation, "unreachable", { detail: "It does not answer." });
    if ("error" in made) throw made.error;
  };
  // The time limit of a call begins with its turn.
  const timeLimit = () => AbortSignal.timeout(deps.intervals.idpCallMs);
  return {
    idps: {
      ...idps,
      get: id => {
        const idp = idps.get(id);
        const late = idp?.compensateUnanswered;
        const call = (made: () => Promise<void>) => inTurn(idpName(id), "compensate", made);
        return (
          idp && {
            ...idp,
            compensate: state => call(() => idp.compensate(state, timeLimit())),
            ...(late && { compensateUnanswered: request => call(() => late(request, timeLimit())) }),
          }
        );
      },
    },
    ...(rfpr && {
      rfpr: {
        ...rfpr,
        cancel: id => inTurn(preRegistrationApi, "cancel authenticator", () => rfpr.cancel(id)),
        remove: id => inTurn(preRegistrationApi, "delete authenticator", () => rfpr.remove(id)),
      },
    }),
  };
}
