import { orFailure, PeerFailure } from "../../platform/peer-failure.ts";
import { pollAgain } from "../collect/poll-authenticator.ts";
import type { ConnectorDeps } from "../deps.ts";
import { idpName } from "../model/peer-names.ts";
import type { CredentialRequest } from "../model/request.ts";
import type { SecurityKey } from "../model/security-key.ts";
import { isTerminal } from "../model/states.ts";
import { compensateAtIdp } from "../recovery/compensate.ts";
import type { Step, StepOutcome } from "../runs/step.ts";

/** A security key, and an outcome that ends credentials of it. */
interface Ending {
  readonly requestId: string;
  readonly key: SecurityKey;
  readonly outcome: StepOutcome;
  /**
   * Whether the outcome of a poll may wait until an IdP answers: not after the end of the challenges, nor if other
   * credentials are to be activated.
   */
  readonly mayWait: boolean;
}

/** A polled authenticator, and the outcome of its poll. */
interface Polled {
  readonly request: CredentialRequest;
  readonly key: SecurityKey;
  readonly outcome: StepOutcome;
  /** Whether it was not asked for, because all challenges have expired. */
  readonly isTooLate: boolean;
}

/**
 * Returns the step that removes the registrations which IdPs began for the credentials that a poll ends, and then
 * returns the outcome of the poll: otherwise they would use up the user's limit at the IdP. If an IdP is not
 * responding, the authenticator is polled again, unless its challenges have expired or another credential of it waits
 * for its activation.
 */
export function compensateEnded({ request, key, outcome, isTooLate }: Polled, deps: ConnectorDeps): Step {
  const after = outcome.change(key, request);
  const isEnded = (index: number) =>
    key.credentials[index]?.state === "processing" && isTerminal(after.credentials[index]?.state ?? "processing");
  const ended = [...key.credentials.keys()].filter(isEnded);
  const isWanted = after.credentials.some(({ state }) => state === "activation_pending");
  return compensateFirst(ended, { requestId: request.id, key, outcome, mayWait: !isTooLate && !isWanted }, deps);
}

/**
 * Returns the step that removes the registrations which IdPs began for the credentials at these positions, and then has
 * the outcome. IdPs that keep no state are not called.
 */
export function compensateFirst([index, ...others]: readonly number[], ending: Ending, deps: ConnectorDeps): Step {
  const { requestId, key, outcome, mayWait } = ending;
  if (index === undefined) return outcome;
  const idpId = key.credentials[index]?.idpId ?? "";
  if (deps.idps.get(idpId)?.compensateUnanswered === undefined) return compensateFirst(others, ending, deps);
  return {
    intent: same => same,
    peer: idpName(idpId),
    timeLimitMs: deps.intervals.idpCallMs,
    perform: async () => {
      const result = await orFailure(compensateAtIdp(requestId, key, index, deps));
      const failure = result instanceof PeerFailure ? result : undefined;
      if (failure !== undefined) deps.log.warn("compensation_failed", { error: failure });
      if (failure?.isTransient === true && mayWait) {
        const lastError = `The enrollment has ended. What ${idpId} began for it will be removed when ${idpId} answers.`;
        const again = { change: pollAgain(deps, { lastError, retryAfterSeconds: failure.retryAfterSeconds }) };
        return { next: () => again, failure };
      }
      return { next: () => compensateFirst(others, ending, deps), failure };
    },
    otherwise: () => (mayWait ? undefined : compensateFirst(others, ending, deps)),
  };
}
