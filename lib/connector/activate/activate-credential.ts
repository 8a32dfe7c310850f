import { orFailure, PeerFailure } from "../../platform/peer-failure.ts";
import { openAttestation, undecryptableKey, unusable } from "../collect/open-responses.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { Idp } from "../idp/contract.ts";
import type { Credential } from "../model/credential.ts";
import { idpName } from "../model/peer-names.ts";
import { foldName } from "../model/request-lists.ts";
import { type KeyResponses, registeredName, withCredential } from "../model/security-key.ts";
import type { Attestation, Challenge } from "../model/webauthn.ts";
import type { Step } from "../runs/step.ts";
import { activated, afterFailure, endOverdue, endUnregistered, retryLater } from "./activation-outcomes.ts";
import { type CredentialTarget, openIdp } from "./open-idp.ts";

/**
 * Returns the step that activates one credential of a security key at its IdP. An attempt is stored before it is sent.
 * After an attempt without an answer, the IdP is first asked whether the credential is registered (C8).
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
      const signal = AbortSignal.timeout(deps.intervals.idpCallMs);
      const registered = await orFailure(idp.isRegistered(idpState, query, signal));
      const failure = registered instanceof PeerFailure ? registered : undefined;
      if (failure !== undefined) deps.log.warn("read_back_failed", { idp: idp.id, error: failure });
      return { next: () => afterReadBack(open, registered, deps), failure };
    },
  };
}

/**
 * Whether no other credential of the user at the IdP gets the same name: keys without a serial number may have equal
 * names, and so have all credentials of one key.
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
    return retryLater(index, { lastError, retryAfterSeconds: registered.retryAfterSeconds }, deps);
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
      const limits = { signal: AbortSignal.timeout(timeLimitMs), notAfter };
      const result = await orFailure(idp.activate(idpState, attestation, registeredName(key), limits));
      if (!(result instanceof PeerFailure)) return { next: () => activated(target, result, deps) };
      const next = () => afterFailure(target, result, { wasTried, canReadBack: registered !== undefined }, deps);
      return { next, failure: result };
    },
  };
}

/** Whether the time for the activation of a credential is over. */
const isOverdue = ({ retryableUntil }: Credential, { now }: Pick<ConnectorDeps, "now">): boolean =>
  (retryableUntil ?? now()) <= now();

/** Returns the attestation from the stored responses, why it may open later, or the final reason for its absence. */
async function attestationOf(
  { requestId, key, index }: CredentialTarget,
  deps: ConnectorDeps,
): Promise<Attestation | Parameters<typeof retryLater>[1] | string> {
  const responses: KeyResponses | undefined =
    key.responses === undefined ? undefined : await deps.responses.get(key.responses);
  const response = responses?.credentials[index];
  if (response === undefined) return "The key maker's response is lost.";
  const opened = await orFailure(openAttestation(requestId, key, index, response, deps));
  if (opened instanceof PeerFailure) {
    deps.log.warn("signing_keys_unread", { keyId: key.id, index, error: opened });
    return { lastError: opened.message, retryAfterSeconds: opened.retryAfterSeconds };
  }
  // The signing key may be back later: the signature was valid when the response was received.
  if (opened === "unknown_key") return { lastError: "The key maker's signing key is currently unknown." };
  if (opened === undecryptableKey) return { lastError: unusable(opened) };
  return typeof opened === "string" ? unusable(opened) : opened;
}
