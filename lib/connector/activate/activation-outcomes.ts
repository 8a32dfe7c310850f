import type { PeerFailure } from "../../platform/peer-failure.ts";
import { plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { Credential } from "../model/credential.ts";
import { firstAttempt, postpone, waitUntil } from "../model/retry.ts";
import { afterEvent, withRollUp } from "../model/roll-up.ts";
import { withCredential } from "../model/security-key.ts";
import { isTerminal } from "../model/states.ts";
import { isNoToken } from "../peers/access-token.ts";
import type { KeyChange, KeyWork } from "../runs/key-work.ts";
import { notCalled } from "../runs/run.ts";
import { compensateCredential } from "./compensate-ended.ts";
import { isRepairable } from "./open-idp.ts";

/**
 * Logs how the activation of a credential has ended, and returns the change to its final state (C7).
 * @param change is applied before the event
 */
function concludeActivation(
  { key, run: { now, log } }: KeyWork,
  index: number,
  event: "activated" | "refused" | "expired" | "response_rejected",
  reason?: string,
  change: (credential: Credential) => Credential = same => same,
): KeyChange {
  log.info("credential_ended", { keyId: key.id, index, outcome: event, idp: key.credentials[index]?.idpId });
  // After a write whose response was lost, the change is applied again: an ended credential stays as it is.
  const ended = withCredential(index, credential =>
    isTerminal(credential.state) ? credential : afterEvent(change(credential), event, reason),
  );
  return current => withRollUp(ended(current), now());
}

/**
 * Returns the change after an activation that the IdP has confirmed.
 * @param registrationId as `activate` returns it
 */
export const activated = (work: KeyWork, index: number, registrationId?: string): KeyChange =>
  concludeActivation(work, index, "activated", undefined, credential => ({
    ...credential,
    activatedAt: work.run.now(),
    ...(registrationId && { registrationId }),
  }));

/**
 * Ends a credential which the IdP has not registered. First removes the registration that the IdP began for it. A
 * failure of the IdP does not delay the end. Returns undefined if the IdP was not called because the lease is lost or
 * the time of the run is over.
 */
export async function endUnregistered(
  work: KeyWork,
  index: number,
  event: "refused" | "expired" | "response_rejected",
  reason: string,
): Promise<KeyChange | undefined> {
  if ((await compensateCredential(work, index)) === notCalled && !work.canBegin) return undefined;
  return concludeActivation(work, index, event, reason, ({ triedAt, ...unattempted }) => unattempted);
}

/**
 * Ends a credential whose time for activation is over.
 * @param mayBeRegistered whether the IdP may have registered the credential in an earlier attempt
 */
export async function endOverdue(
  work: KeyWork,
  index: number,
  mayBeRegistered: boolean,
  lastError = "",
): Promise<KeyChange | undefined> {
  const reason = `Not activated in time. ${lastError}`.trim();
  return mayBeRegistered
    ? concludeActivation(work, index, "expired", reason)
    : endUnregistered(work, index, "expired", reason);
}

/**
 * Returns the change after a failed activation: a retry if that may help, else the end of the credential. A refusal is
 * final at once if the IdP offers no read-back. Otherwise a later read-back must confirm it: it may be the answer to a
 * second delivery of a call that was done.
 */
export async function afterFailure(
  work: KeyWork,
  index: number,
  failure: PeerFailure,
  { wasTried, canReadBack }: { readonly wasTried: boolean; readonly canReadBack: boolean },
): Promise<KeyChange | undefined> {
  const { key, run } = work;
  run.log.warn("activation_failed", { keyId: key.id, index, error: failure });
  const reason = failure.detail ?? failure.message;
  // Any answer to the call may be that of a gateway, or that to a second delivery of a call that was done. Where no
  // read-back can tell, only answers without a result count: 5xx, 408, and a 404 that is not the IdP's own.
  const isProxy404 = failure.kind === "unreachable" && failure.status === 404;
  const isUnclear = failure.mayBeDone || (canReadBack ? failure.status !== undefined : isProxy404);
  // Without an access token nothing was sent, even if the token endpoint has answered.
  const mayBeDone = wasTried || (isUnclear && !isNoToken(failure));
  if (isRepairable(failure)) {
    return retryLater(index, { lastError: reason, retryAfterSeconds: failure.retryAfterSeconds, mayBeDone }, run);
  }
  if (!mayBeDone) return endUnregistered(work, index, "refused", reason);
  if (!canReadBack) return endInDoubt(work, index, reason);
  const at = run.now();
  const readBackAt = plus(at, run.intervals.readBackAfterMs);
  return withCredential(index, credential => ({
    ...credential,
    refusal: { at, reason },
    retry: waitUntil(readBackAt, credential.retry, reason),
  }));
}

/** Returns the change that ends a credential which the IdP has refused after it may have registered it. */
export const endInDoubt = (work: KeyWork, index: number, reason: string): KeyChange =>
  concludeActivation(work, index, "refused", reason);

/** Why an activation is repeated later. */
interface Delay {
  readonly lastError: string;
  /** Seconds that the peer asked to wait. */
  readonly retryAfterSeconds?: number | undefined;
  /** Whether an attempt may have registered the credential without an answer. */
  readonly mayBeDone?: boolean;
}

/** Returns the change after an attempt that is repeated, at the latest when the time for activation is over. */
export function retryLater(
  index: number,
  { lastError, retryAfterSeconds, mayBeDone = true }: Delay,
  { now, intervals }: ConnectorDeps,
): KeyChange {
  const at = now();
  return withCredential(index, ({ triedAt, ...credential }) => {
    const { retryableUntil = at, retry = firstAttempt(at) } = credential;
    const latest = retryableUntil > at ? retryableUntil : undefined;
    return {
      ...credential,
      retry: postpone(retry, at, intervals.retry, { retryAfterSeconds, lastError, latest }),
      ...(mayBeDone && triedAt !== undefined && { triedAt }),
    };
  });
}
