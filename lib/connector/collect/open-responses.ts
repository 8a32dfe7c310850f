import type { ConnectorDeps } from "../deps.ts";
import type { SecurityKey } from "../model/security-key.ts";
import type { Attestation } from "../model/webauthn.ts";
import { bindResponse } from "../peers/bind-response.ts";
import { ExchangeError, type PrivateKey } from "../peers/exchange-envelope.ts";
import { decodeCredentialResponse, decodePinResponse } from "../peers/exchange-messages.ts";
import { openSealed, pinResponseKeyPurpose, responseKeyPurpose } from "../storage/sealed.ts";

const noResponseKey = "no response key";

/** Why a response cannot be used yet: the response key opens once Key Vault has its key version again. */
export const undecryptableKey = "its response key cannot be decrypted";

const unopenedReasons = ["undecryptable", "malformed", noResponseKey, undecryptableKey];

/** Whether a response opened with the response key at its position. @param result as `openAttestation` returns it */
export const isOpened = (result: Attestation | string): boolean =>
  typeof result !== "string" || !unopenedReasons.includes(result);

/** Returns the message of a credential whose response cannot be used. */
export const unusable = (reason: string): string => `The key maker's response cannot be used: ${reason}.`;

/**
 * Returns the attestation in a response, or why the response cannot be used for this credential. The position of a
 * response names its credential, and the response key proves it (C11). Throws PeerFailure if the signing keys cannot be
 * read.
 */
export async function openAttestation(
  requestId: string,
  key: SecurityKey,
  index: number,
  response: string,
  deps: ConnectorDeps,
): Promise<Attestation | string> {
  const credential = key.credentials[index];
  if (credential?.responseKey === undefined || credential.binding === undefined) return noResponseKey;
  const context = { requestId, keyId: key.id, purpose: responseKeyPurpose(index) };
  const privateJwk = await openSealed<PrivateKey>(credential.responseKey, context, deps);
  if (privateJwk === undefined) return undecryptableKey;
  try {
    const attestation = await decodeCredentialResponse(response, privateJwk, kid => deps.delivery.signingKey(kid));
    const mismatch = bindResponse(attestation, credential.binding);
    return mismatch === undefined ? attestation : `answers another request (${mismatch})`;
  } catch (error) {
    if (error instanceof ExchangeError) return error.reason;
    throw error;
  }
}

/**
 * Returns the PIN in a response, or why the response does not open. The PIN must not be stored or logged (C14).
 * Throws PeerFailure if the signing keys cannot be read.
 */
export async function openPin(
  requestId: string,
  { id, pinResponseKey }: SecurityKey,
  response: string,
  deps: Pick<ConnectorDeps, "sealer" | "delivery" | "log">,
): Promise<{ readonly pin: string } | { readonly problem: string; readonly isTransient?: boolean }> {
  if (pinResponseKey === undefined) return { problem: "The security key has no PIN." };
  const privateJwk = await openSealed<PrivateKey>(
    pinResponseKey,
    { requestId, keyId: id, purpose: pinResponseKeyPurpose },
    deps,
  );
  if (privateJwk === undefined)
    return { problem: "The response key of the PIN cannot be decrypted.", isTransient: true };
  try {
    return { pin: await decodePinResponse(response, privateJwk, kid => deps.delivery.signingKey(kid)) };
  } catch (error) {
    if (error instanceof ExchangeError) return { problem: `The PIN response cannot be used: ${error.reason}.` };
    throw error;
  }
}
