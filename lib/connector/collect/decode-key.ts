import { earliest, type Instant, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { type Credential, challengeEnd } from "../model/credential.ts";
import type { Clock } from "../model/intervals.ts";
import type { CredentialRequest } from "../model/request.ts";
import { firstAttempt } from "../model/retry.ts";
import { afterEvent, withRollUp } from "../model/roll-up.ts";
import type { KeyResponses, SecurityKey } from "../model/security-key.ts";
import type { Attestation } from "../model/webauthn.ts";
import { aaguidOf } from "../peers/bind-response.ts";
import { isOpened, openAttestation, openPin, unusable } from "./open-responses.ts";

/**
 * Opens the responses of a key's credentials, and stores them and the PIN response as received before any row names
 * them. Open credentials whose challenge has expired end. Throws PeerFailure if the signing keys cannot be read.
 * @param responses undefined if none were received
 * @returns a function that applies the responses to the current security key, of which only credentials without a
 * response change, and the number of responses that opened with the response key at their position
 */
export async function decodeKey(
  request: CredentialRequest,
  key: SecurityKey,
  responses: KeyResponses | undefined,
  deps: ConnectorDeps,
): Promise<{ readonly apply: (key: SecurityKey) => SecurityKey; readonly opened: number }> {
  const results: (Attestation | string | undefined)[] = [];
  for (const index of key.credentials.keys()) {
    const response = responses?.credentials[index] ?? "";
    results.push(response === "" ? undefined : await openAttestation(request.id, key, index, response, deps));
  }
  const opened = results.filter(result => result !== undefined && isOpened(result)).length;
  // The responses of an authenticator are read under our own id. A shipment may belong to another request.
  const isOurs = key.provisioning === "on_site" || opened > 0;
  const blob = responses !== undefined && isOurs ? await storeResponses(request.id, key, responses, deps) : undefined;
  // Only an open response proves that the entry is of this security key. Its position may be wrong (C11).
  const proven = opened > 0 ? responses : undefined;
  const named = {
    ...(proven?.serial && { serial: proven.serial }),
    ...(proven?.firmware && { firmware: proven.firmware }),
    ...(blob && { responses: blob }),
  };
  const now = deps.now();
  const apply = (current: SecurityKey): SecurityKey => {
    const credentials = current.credentials.map((credential, index) =>
      credential.state === "processing"
        ? withResponse(credential, results[index], challengeEnd(credential, request, deps), deps)
        : credential,
    );
    return withRollUp({ ...current, ...named, credentials }, now);
  };
  return { apply, opened };
}

/**
 * Stores responses merged with earlier ones: the response that a credential was decoded from stays, and so do those
 * that the peer no longer returns. Returns the name of the blob. Throws PeerFailure if the signing keys cannot be read.
 */
async function storeResponses(
  requestId: string,
  key: SecurityKey,
  received: KeyResponses,
  deps: ConnectorDeps,
): Promise<string> {
  const { id, responses: before, credentials } = key;
  const { responses } = deps;
  const kept = before === undefined ? undefined : await responses.get(before);
  if (kept === undefined) return responses.put(requestId, id, received);
  const merged = credentials.map(({ state }, index) => {
    const [old = "", now = ""] = [kept.credentials[index], received.credentials[index]];
    return state === "processing" ? now || old : old || now;
  });
  const pinResponse = await pinResponseToKeep(requestId, key, [kept.pinResponse, received.pinResponse], deps);
  return responses.put(requestId, id, {
    ...kept,
    ...received,
    ...(pinResponse && { pinResponse }),
    credentials: merged,
  });
}

/**
 * Returns the PIN response to keep: the later one, but the earlier one if the later does not open. A peer that purges a
 * PIN may send another text.
 */
async function pinResponseToKeep(
  requestId: string,
  key: SecurityKey,
  [earlier, later]: readonly [string | undefined, string | undefined],
  deps: ConnectorDeps,
): Promise<string | undefined> {
  if (earlier === undefined || later === undefined || earlier === later) return later ?? earlier;
  return "pin" in (await openPin(requestId, key, later, deps)) ? later : earlier;
}

/**
 * Returns an open credential after its response, or after the expiry of its challenge.
 * @param result undefined if there is none
 */
function withResponse(
  credential: Credential,
  result: Attestation | string | undefined,
  expiresAt: Instant,
  { now, intervals }: Clock,
): Credential {
  if (expiresAt <= now())
    return afterEvent(
      credential,
      "expired",
      "The identity provider's challenge expired before the response of the security key was read.",
    );
  if (result === undefined) return credential;
  if (typeof result === "string") return { ...credential, errorMessage: unusable(result) };
  const aaguid = aaguidOf(result);
  return {
    ...afterEvent(credential, "response_decoded"),
    credentialId: result.credentialId,
    ...(aaguid !== undefined && { aaguid }),
    retryableUntil: earliest(plus(now(), intervals.retryForMs), expiresAt) ?? expiresAt,
    retry: firstAttempt(now()),
  };
}
