import type { PeerFailure } from "../../platform/peer-failure.ts";
import { plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { Credential } from "../model/credential.ts";
import { firstAttempt, postpone, waitUntil } from "../model/retry.ts";
import { afterEvent, withRollUp } from "../model/roll-up.ts";
import { withCredential } from "../model/security-key.ts";
import { isTerminal } from "../model/states.ts";
import type { Step, StepOutcome } from "../runs/step.ts";
import { compensateFirst } from "./compensate-ended.ts";
import { type CredentialTarget, isRepairable } from "./open-idp.ts";

/**
 * Returns the step that ends a credential whose time for activation is over.
 * @param isInDoubt whether the IdP may have registered the credential in an attempt without an answer
 */
export function endOverdue(
  target: CredentialTarget,
  { isInDoubt, lastError = "" }: { readonly isInDoubt: boolean; readonly lastError?: string | undefined },
  deps: ConnectorDeps,
): Step {
  if (!isInDoubt) return endUnregistered(target, "expired", `Not activated in time. ${lastError}`.trim(), deps);
  return end(
    target,
    "expired",
    `Not activated in time. It may have been registered: check at the identity provider. ${lastError}`.trim(),
    deps,
  );
}

/** Ends the credential by an event of its life (C7). */
function end(
  { key, index }: CredentialTarget,
  event: "activated" | "refused" | "expired" | "response_rejected",
  reason: string | undefined,
  { now, log }: ConnectorDeps,
): StepOutcome {
  log.info("credential_ended", { keyId: key.id, index, outcome: event, idp: key.credentials[index]?.idpId });
  const activatedAt = event === "activated" ? { activatedAt: now() } : {};
  // After a write whose response was lost, the change is applied again: an ended credential stays as it is.
  const ended = withCredential(index, credential =>
    isTerminal(credential.state) ? credential : { ...afterEvent(credential, event, reason), ...activatedAt },
  );
  return { change: current => withRollUp(ended(current), now()) };
}

/**
 * Returns the outcome of an activation that the IdP has confirmed.
 * @param registrationId as `activate` returns it
 */
export function activated(
  target: CredentialTarget,
  registrationId: string | undefined,
  deps: ConnectorDeps,
): StepOutcome {
  const { change } = end(target, "activated", undefined, deps);
  const withId = withCredential(target.index, each => ({ ...each, ...(registrationId && { registrationId }) }));
  return { change: (key, request) => withId(change(key, request)) };
}

/**
 * Returns the step that ends a credential which the IdP has not registered. First removes the registration that the IdP
 * began for it, which would count against the user's limit there. The end does not wait for an IdP that does not
 * answer.
 */
export function endUnregistered(
  target: CredentialTarget,
  event: "refused" | "expired" | "response_rejected",
  reason: string,
  deps: ConnectorDeps,
): Step {
  const { requestId, key, index } = target;
  const outcome = end(target, event, reason, deps);
  return compensateFirst([index], { requestId, key, outcome, mayWait: false }, deps);
}

/**
 * Returns the step after a failed activation: a retry if that may help, else the end of the credential. After an
 * earlier attempt without an answer, a refusal is accepted only when a later read-back confirms it, or at once if the
 * IdP offers no read-back.
 */
export function afterFailure(
  target: CredentialTarget,
  failure: PeerFailure,
  { wasTried, canReadBack }: { wasTried: boolean; canReadBack: boolean },
  deps: ConnectorDeps,
): Step {
  const { key, index } = target;
  deps.log.warn("activation_failed", { keyId: key.id, index, error: failure });
  const reason = failure.detail ?? failure.message;
  if (isRepairable(failure)) {
    const mayBeDone = failure.mayBeDone || failure.kind === "missing";
    const delay = { lastError: reason, retryAfterSeconds: failure.retryAfterSeconds, mayBeDone: wasTried || mayBeDone };
    return retryLater(index, delay, deps);
  }
  if (!wasTried) return endUnregistered(target, "refused", reason, deps);
  if (!canReadBack)
    return end(target, "refused", `${reason} (may have been registered: check at the identity provider)`, deps);
  const at = deps.now();
  const readBackAt = plus(at, deps.intervals.readBackAfterMs);
  const refused = (credential: Credential): Credential => ({
    ...credential,
    refusal: { at, reason },
    retry: waitUntil(readBackAt, credential.retry, reason),
  });
  return { change: withCredential(index, refused) };
}

/** Why an activation is repeated later. */
interface Delay {
  readonly lastError: string;
  /** Seconds that the peer asked to wait. */
  readonly retryAfterSeconds?: number | undefined;
  /** Whether an attempt may have registered the credential without an answer. */
  readonly mayBeDone?: boolean;
}

/** Returns the outcome of an attempt that is repeated later, at the latest when the time for activation is over. */
export function retryLater(
  index: number,
  { lastError, retryAfterSeconds, mayBeDone = true }: Delay,
  { now, intervals }: Pick<ConnectorDeps, "now" | "intervals">,
): StepOutcome {
  const at = now();
  const postponed = ({ triedAt, ...credential }: Credential): Credential => {
    const { retryableUntil = at, retry = firstAttempt(at) } = credential;
    const latest = retryableUntil > at ? retryableUntil : undefined;
    return {
      ...credential,
      retry: postpone(retry, at, intervals.retry, { retryAfterSeconds, lastError, latest }),
      ...(mayBeDone && triedAt !== undefined && { triedAt }),
    };
  };
  return { change: withCredential(index, postponed) };
}
