import { PeerFailure } from "../../peers/peer-failure.ts";
import { pollAgain } from "../collect/poll-authenticator.ts";
import type { ConnectorDeps } from "../deps.ts";
import { idpName } from "../model/peer-names.ts";
import type { CredentialRequest, SecurityKey } from "../model/request.ts";
import { isTerminal } from "../model/states.ts";
import type { Outcome, Step } from "../run/step.ts";
import { compensateAtIdp } from "./compensate.ts";

/** A polled authenticator, and the outcome of its poll. */
interface Polled {
  readonly request: CredentialRequest;
  readonly key: SecurityKey;
  readonly outcome: Outcome;
  /** Whether the outcome may wait until an IdP answers: not after the end of the challenges, nor if other credentials are to be activated. */
  readonly mayWait: boolean;
}

/**
 * Returns the step that removes the registrations which IdPs began for the credentials that a poll ends, and then has the outcome of the
 * poll: otherwise they would use up the user's limit at the IdP. If an IdP does not answer, the authenticator is polled again, unless its
 * challenges have expired or another credential of it waits for its activation.
 */
export function compensateEnded({ request, key, outcome }: Omit<Polled, "mayWait">, deps: ConnectorDeps): Step {
  const after = outcome.change(key, request);
  const isEnded = (index: number) =>
    key.credentials[index]?.state === "processing" && isTerminal(after.credentials[index]?.state ?? "processing");
  const keepsState = (index: number) =>
    deps.idps.get(key.credentials[index]?.idpId ?? "")?.compensateUnanswered !== undefined;
  const ended = [...key.credentials.keys()].filter(index => isEnded(index) && keepsState(index));
  const isWanted = after.credentials.some(({ state }) => state === "activation_pending");
  const mayWait = outcome.isWithoutCall !== true && !isWanted;
  return compensateNext(ended, { request, key, outcome, mayWait }, deps);
}

function compensateNext([index, ...others]: readonly number[], polled: Polled, deps: ConnectorDeps): Step {
  const { request, key, outcome, mayWait } = polled;
  if (index === undefined) return outcome;
  const idpId = key.credentials[index]?.idpId ?? "";
  return {
    intent: unchanged => unchanged,
    peer: idpName(idpId),
    timeLimitMs: deps.intervals.idpCallMs,
    perform: async () => {
      try {
        await compensateAtIdp(request.id, key, index, deps);
      } catch (error) {
        if (!(error instanceof PeerFailure)) throw error;
        deps.log.warn("compensation_failed", { error });
        const lastError = `The enrollment has ended, but ${idpId} does not answer.`;
        if (error.passing && mayWait)
          return { change: pollAgain(deps, { lastError, retryAfter: error.retryAfter }), failure: error };
      }
      return compensateNext(others, polled, deps);
    },
    withoutCall: () => (mayWait ? undefined : compensateNext(others, polled, deps)),
  };
}
