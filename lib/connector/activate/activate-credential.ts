import { PeerFailure } from "../../platform/peers/peer-failure.ts";
import { plus } from "../../platform/time.ts";
import { openAttestation, sealedResponseKey } from "../collect/decode-responses.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { Idp, RegistrationQuery } from "../idp/contract.ts";
import { type KeyResponses, withCredential } from "../model/credential.ts";
import { idpName } from "../model/peer-names.ts";
import { type Credential, registeredName } from "../model/request.ts";
import { foldName } from "../model/request-lists.ts";
import { firstAttempt, postpone, waitUntil } from "../model/retry.ts";
import { afterEvent, withRollUp } from "../model/roll-up.ts";
import { isTerminal } from "../model/states.ts";
import type { Attestation, Challenge } from "../model/webauthn.ts";
import { compensateFirst } from "../recovery/compensate-ended.ts";
import { type CredentialTarget, isRepairable, openIdp } from "../recovery/open-idp.ts";
import type { Step, StepOutcome } from "../runs/step.ts";

/**
 * Returns the step that activates one credential of a security key at its IdP. An attempt is stored before it is sent. After an attempt
 * without an answer, the IdP is first asked whether the credential is registered (C8).
 */
export async function activateCredential(target: CredentialTarget, deps: ConnectorDeps): Promise<Step> {
  const { key, index } = target;
  const credential = key.credentials[index];
  if (credential?.idpState === undefined || credential.credentialId === undefined)
    throw new Error(`credential ${index} of security key ${key.id} has no response to activate`);
  const opened = await openIdp(target, deps);
  // The next credential of the security key and its PIN email do not wait for it.
  if (typeof opened === "string")
    return isOverdue(credential, deps)
      ? endOverdue(target, { isInDoubt: credential.triedAt !== undefined, lastError: opened }, deps)
      : retryLater(index, { lastError: opened }, deps);
  const { idp, idpState } = opened;
  const open = { ...target, credential, idp, idpState };
  if (credential.triedAt === undefined) return afterReadBack(open, false, deps);
  const name = hasOwnName(target) ? registeredName(key) : undefined;
  const query = { credentialId: credential.credentialId, name, since: credential.triedAt };
  return {
    peer: idpName(idp.id),
    read: async () => {
      const registered = await readBack(idp, idpState, query, deps);
      const failure = registered instanceof PeerFailure ? registered : undefined;
      return { next: () => afterReadBack(open, registered, deps), failure };
    },
  };
}

/**
 * Whether no other credential of the user at the IdP gets the same name: keys without a serial number may have equal names, and so have all
 * credentials of one key.
 */
function hasOwnName({ key: { serial, credentials }, index }: CredentialTarget): boolean {
  const { userId: user = "", idpId: idp } = credentials[index] ?? {};
  const ofUser = credentials.filter(({ userId, idpId }) => foldName(userId) === foldName(user) && idpId === idp);
  return serial !== undefined && ofUser.length === 1;
}

/** A credential that waits for its activation. */
interface OpenTarget extends CredentialTarget {
  readonly credential: Credential;
  readonly idp: Idp;
  readonly idpState: Challenge["idpState"];
}

/**
 * Returns the step that activates a credential that is not registered, or its outcome if no call is needed.
 * @param registered as `isRegistered` returns it, or the failure of the IdP
 */
async function afterReadBack(
  target: OpenTarget,
  registered: boolean | string | undefined | PeerFailure,
  deps: ConnectorDeps,
): Promise<Step> {
  const { key, index, credential, idp, idpState } = target;
  const wasTried = credential.triedAt !== undefined;
  const isLate = isOverdue(credential, deps);
  if (registered === true) return activated(target, undefined, deps);
  if (typeof registered === "string") return activated(target, registered, deps);
  if (registered instanceof PeerFailure && !isLate) {
    const lastError = `The identity provider ${idp.id} could not be queried for the credential.`;
    return retryLater(index, { lastError, retryAfter: registered.retryAfter }, deps);
  }
  if (registered === false && credential.refusal !== undefined)
    return endUnregistered(target, "refused", credential.refusal.reason, deps);
  if (isLate)
    return endOverdue(target, { isInDoubt: registered !== false, lastError: credential.retry?.lastError }, deps);
  const attestation = await attestationOf(target, deps);
  if (typeof attestation === "object" && "lastError" in attestation) return retryLater(index, attestation, deps);
  if (typeof attestation === "string") return endUnregistered(target, "response_rejected", attestation, deps);

  // The time of the first attempt without an answer: a read-back looks for registrations since then.
  const triedAt = credential.triedAt ?? deps.now();
  const timeLimitMs = deps.intervals.idpCallMs;
  return {
    intent: withCredential(index, each => ({ ...each, triedAt })),
    peer: idpName(idp.id),
    timeLimitMs,
    perform: async (_, notAfter) => {
      let registrationId: string | undefined;
      try {
        const limits = { signal: AbortSignal.timeout(timeLimitMs), notAfter };
        registrationId = await idp.activate(idpState, attestation, registeredName(key), limits);
      } catch (error) {
        if (!(error instanceof PeerFailure)) throw error;
        return afterFailure(target, error, { wasTried, canReadBack: registered !== undefined }, deps);
      }
      return activated(target, registrationId, deps);
    },
  };
}

/** Whether the time for the activation of a credential is over. */
const isOverdue = ({ retryableUntil }: Credential, { now }: Pick<ConnectorDeps, "now">): boolean =>
  (retryableUntil ?? now()) <= now();

/** @param isInDoubt whether the IdP may have registered the credential in an attempt without an answer */
function endOverdue(
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

/** Whether the IdP has the credential registered, as `isRegistered` returns it; its failure if it did not answer. */
async function readBack(
  idp: Idp,
  idpState: Challenge["idpState"],
  query: RegistrationQuery,
  deps: ConnectorDeps,
): Promise<boolean | string | undefined | PeerFailure> {
  try {
    return await idp.isRegistered(idpState, query, AbortSignal.timeout(deps.intervals.idpCallMs));
  } catch (error) {
    if (!(error instanceof PeerFailure)) throw error;
    deps.log.warn("read_back_failed", { idp: idp.id, error });
    return error;
  }
}

/** Returns the attestation from the stored responses, why it may open later, or the final reason for its absence. */
async function attestationOf(
  { requestId, key, index }: CredentialTarget,
  deps: ConnectorDeps,
): Promise<Attestation | Delay | string> {
  const responses: KeyResponses | undefined =
    key.responses === undefined ? undefined : await deps.responses.get(key.responses);
  const response = responses?.credentials[index];
  if (response === undefined) return "The key maker's response is lost.";
  const opened = await openAttestation(requestId, key, index, response, deps).catch((error: unknown) => {
    if (!(error instanceof PeerFailure)) throw error;
    deps.log.warn("signing_keys_unread", { keyId: key.id, index, error });
    return { lastError: error.message, retryAfter: error.retryAfter };
  });
  // The signing key may be back later: the signature was valid when the response was received.
  if (opened === "unknown_key") return { lastError: "The key maker's signing key is currently unknown." };
  if (opened === sealedResponseKey) return { lastError: `The key maker's response cannot be used: ${opened}.` };
  return typeof opened === "string" ? `The key maker's response cannot be used: ${opened}.` : opened;
}

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

/** @param registrationId as `activate` returns it */
function activated(target: CredentialTarget, registrationId: string | undefined, deps: ConnectorDeps): StepOutcome {
  const { change } = end(target, "activated", undefined, deps);
  const withId = withCredential(target.index, each => ({ ...each, ...(registrationId && { registrationId }) }));
  return { change: (key, request) => withId(change(key, request)) };
}

/**
 * Returns the step that ends a credential which the IdP has not registered. First removes the registration that the IdP began for it, which
 * would count against the user's limit there. The end does not wait for an IdP that does not answer.
 * @param failure why the activation failed, if it was tried now
 */
function endUnregistered(
  target: CredentialTarget,
  event: "refused" | "expired" | "response_rejected",
  reason: string,
  deps: ConnectorDeps,
  failure?: PeerFailure,
): Step {
  const { requestId, key, index } = target;
  const outcome = end(target, event, reason, deps);
  return { ...compensateFirst([index], { requestId, key, outcome, mayWait: false }, deps), failure };
}

/**
 * Returns the step after a failed activation: a retry if that may help, else the end of the credential. After an earlier attempt without
 * an answer, a refusal is accepted only when a later read-back confirms it, or at once if the IdP offers no read-back.
 */
function afterFailure(
  target: CredentialTarget,
  failure: PeerFailure,
  { wasTried, canReadBack }: { wasTried: boolean; canReadBack: boolean },
  deps: ConnectorDeps,
): Step {
  const { key, index } = target;
  deps.log.warn("activation_failed", { keyId: key.id, index, error: failure });
  const reason = failure.detail ?? failure.message;
  if (isRepairable(failure)) {
    // The IdP may have registered the credential before it answered 5xx, even with Retry-After.
    const mayBeDone = failure.kind === "unanswered" || failure.kind === "missing" || (failure.status ?? 0) >= 500;
    const delay = { lastError: reason, retryAfter: failure.retryAfter, mayBeDone: wasTried || mayBeDone };
    return { ...retryLater(index, delay, deps), failure };
  }
  if (!wasTried) return endUnregistered(target, "refused", reason, deps, failure);
  if (!canReadBack)
    return {
      ...end(target, "refused", `${reason} (may have been registered: check at the identity provider)`, deps),
      failure,
    };
  const at = deps.now();
  const readBackAt = plus(at, deps.intervals.readBackAfterMs);
  const refused = (credential: Credential): Credential => ({
    ...credential,
    refusal: { at, reason },
    retry: waitUntil(readBackAt, credential.retry, reason),
  });
  return { change: withCredential(index, refused), failure };
}

interface Delay {
  readonly lastError: string;
  /** Seconds that the peer asked to wait. */
  readonly retryAfter?: number | undefined;
  /** Whether an attempt may have registered the credential without an answer. */
  readonly mayBeDone?: boolean;
}

/** Returns the outcome of an attempt that is repeated later, at the latest when the time for activation is over. */
function retryLater(
  index: number,
  { lastError, retryAfter, mayBeDone = true }: Delay,
  { now, intervals }: Pick<ConnectorDeps, "now" | "intervals">,
): StepOutcome {
  const at = now();
  const postponed = ({ triedAt, ...credential }: Credential): Credential => {
    const { retryableUntil = at, retry = firstAttempt(at) } = credential;
    const latest = retryableUntil > at ? retryableUntil : undefined;
    return {
      ...credential,
      retry: postpone(retry, at, intervals.retry, { retryAfter, lastError, latest }),
      ...(mayBeDone && triedAt !== undefined && { triedAt }),
    };
  };
  return { change: withCredential(index, postponed) };
}
