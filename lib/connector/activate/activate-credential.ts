import { orFailure, PeerFailure } from "../../platform/peer-failure.ts";
import { openAttestation, undecryptableKey, unusable } from "../collect/open-responses.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { Credential } from "../model/credential.ts";
import { idpName } from "../model/peer-names.ts";
import { registeredName, withCredential } from "../model/security-key.ts";
import type { Attestation } from "../model/webauthn.ts";
import type { KeyChange, KeyWork } from "../runs/key-work.ts";
import { notCalled } from "../runs/run.ts";
import { activated, afterFailure, endInDoubt, endOverdue, endUnregistered, retryLater } from "./activation-outcomes.ts";
import { openIdp } from "./open-idp.ts";

/**
 * Activates one credential of a security key at its IdP. An attempt is stored before it is sent. After an attempt that
 * failed, the IdP is first asked whether the credential is registered (C8).
 */
export async function activateCredential(work: KeyWork, index: number): Promise<KeyChange | undefined> {
  const { key, run } = work;
  const credential = key.credentials[index];
  if (credential?.idpState === undefined || credential.credentialId === undefined)
    throw new Error(`credential ${index} of security key ${key.id} has no response to activate`);
  const { credentialId, triedAt, refusal, retry } = credential;
  const isLate = isOverdue(credential, run);
  const opened = await openIdp(work, index);
  // The next credential of the security key and its PIN email do not wait for it.
  if (typeof opened === "string")
    return isLate
      ? endOverdue(work, index, triedAt !== undefined, opened)
      : retryLater(index, { lastError: opened }, run);

  const { idp, idpState } = opened;
  const peer = idpName(idp.id);
  const timeLimitMs = run.intervals.idpCallMs;
  const readBack = (since: string) => {
    // Keys without a serial number may have equal names.
    const name = key.serial === undefined ? undefined : registeredName(key);
    const others = key.credentials.filter((_, at) => at !== index).flatMap(idsOf);
    const query = { credentialId, name, since, others };
    return work.read(peer, async () => idp.isRegistered?.(idpState, query, AbortSignal.timeout(timeLimitMs)));
  };
  const registered = triedAt !== undefined && (await readBack(triedAt));
  if (registered === notCalled) return undefined;
  if (registered === true) return activated(work, index);
  if (typeof registered === "string") return activated(work, index, registered);
  if (registered instanceof PeerFailure) {
    run.log.warn("read_back_failed", { idp: idp.id, error: registered });
    const { retryAfterSeconds } = registered;
    if (!isLate) return retryLater(index, { lastError: unreadMessage(idp.id, credential), retryAfterSeconds }, run);
  }
  if (registered === false && refusal !== undefined) return endUnregistered(work, index, "refused", refusal.reason);
  if (registered === undefined && refusal !== undefined) return endInDoubt(work, index, refusal.reason);
  if (isLate) return endOverdue(work, index, registered !== false, retry?.lastError);
  const attestation = await attestationOf(work, index);
  if (typeof attestation === "string") return endUnregistered(work, index, "response_rejected", attestation);
  if ("lastError" in attestation) return retryLater(index, attestation, run);

  // The time of the first attempt that may be done: a read-back looks for registrations since then.
  const first = triedAt ?? run.now();
  const intent = withCredential(index, each => ({ ...each, triedAt: first }));
  const result = await work.call({ peer, timeLimitMs, intent }, notAfter =>
    idp.activate(idpState, attestation, registeredName(key), { signal: AbortSignal.timeout(timeLimitMs), notAfter }),
  );
  if (result === notCalled) return undefined;
  if (!(result instanceof PeerFailure)) return activated(work, index, result);
  const earlier = { wasTried: triedAt !== undefined, canReadBack: idp.isRegistered !== undefined };
  return afterFailure(work, index, result, earlier);
}

const idsOf = ({ credentialId, registrationId }: Credential): readonly string[] =>
  [credentialId, registrationId].filter(id => id !== undefined);

/** Returns the message of a credential that cannot be read back, with the reason for its last failure before that. */
function unreadMessage(idpId: string, { refusal, retry }: Credential): string {
  const unread = `The identity provider ${idpId} could not be queried for the credential`;
  if (refusal !== undefined) return `${unread} after its refusal: ${refusal.reason}`;
  const former = retry?.lastError ?? "";
  if (former.startsWith(unread)) return former;
  return former === "" ? `${unread}.` : `${unread} after: ${former}`;
}

/** Whether the time for the activation of a credential is over. */
const isOverdue = ({ retryableUntil }: Credential, { now }: ConnectorDeps): boolean =>
  (retryableUntil ?? now()) <= now();

/** Returns the attestation from the stored responses, why it may open later, or the final reason for its absence. */
async function attestationOf(
  { loaded, key, run }: KeyWork,
  index: number,
): Promise<Attestation | Parameters<typeof retryLater>[1] | string> {
  const responses = key.responses === undefined ? undefined : await run.responses.get(key.responses);
  const response = responses?.credentials[index];
  if (response === undefined) return "The key maker's response is lost.";
  const opened = await orFailure(openAttestation(loaded.request.id, key, index, response, run));
  if (opened instanceof PeerFailure) {
    run.log.warn("signing_keys_unread", { keyId: key.id, index, error: opened });
    return { lastError: opened.message, retryAfterSeconds: opened.retryAfterSeconds };
  }
  // The signing key may be back later: the signature was valid when the response was received.
  if (opened === "unknown_key") return { lastError: "The key maker's signing key is currently unknown." };
  if (opened === undecryptableKey) return { lastError: unusable(opened) };
  return typeof opened === "string" ? unusable(opened) : opened;
}
