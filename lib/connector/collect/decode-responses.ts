import { omitUndefined } from "../../platform/omit-undefined.ts";
import type { ConnectorDeps } from "../deps.ts";
import { aaguidOf, bindResponse } from "../exchange/bind-response.ts";
import { ExchangeError, type PrivateKey } from "../exchange/envelope.ts";
import { decodeCredentialResponse } from "../exchange/messages.ts";
import { openSealed, responseKeyPurpose } from "../exchange/sealed.ts";
import type { KeyResponses } from "../model/credential.ts";
import type { SecurityKey } from "../model/security-key.ts";
import type { Attestation } from "../model/webauthn.ts";

export interface DecodedCredential {
  /** Set if the response belongs to this credential. */
  readonly credentialId?: string;
  readonly aaguid?: string;
  readonly problem?: string;
}

export interface DecodedResponses {
  /** By position; undefined if there is no response. */
  readonly credentials: readonly (DecodedCredential | undefined)[];
  /** The number of responses that opened with the response key at their position. */
  readonly opened: number;
}

/**
 * Opens the responses of one security key. The position of a response names its credential, and the response key proves it (C11).
 * Throws PeerFailure if the signing keys cannot be read.
 */
export async function decodeResponses(
  requestId: string,
  key: SecurityKey,
  responses: KeyResponses,
  deps: Pick<ConnectorDeps, "sealer" | "log" | "delivery">,
): Promise<DecodedResponses> {
  const credentials: (DecodedCredential | undefined)[] = [];
  let opened = 0;
  for (const index of key.credentials.keys()) {
    const response = responses.credentials[index];
    if (response === undefined || response === "") {
      credentials.push(undefined);
      continue;
    }
    const result = await openAttestation(requestId, key, index, response, deps);
    if (typeof result !== "string" || !unopenedReasons.includes(result)) opened++;
    credentials.push(
      typeof result === "string"
        ? { problem: `The key maker's response cannot be used: ${result}.` }
        : omitUndefined({ credentialId: result.credentialId, aaguid: aaguidOf(result) }),
    );
  }
  return { credentials, opened };
}

const noResponseKey = "no response key";

/** Why a response cannot be used yet: its response key may open when the vault has its key version again. */
export const sealedResponseKey = "its response key cannot be decrypted";

const unopenedReasons = ["undecryptable", "malformed", noResponseKey, sealedResponseKey];

/** Returns the attestation in a response, or why the response cannot be used for this credential. */
export async function openAttestation(
  requestId: string,
  key: SecurityKey,
  index: number,
  response: string,
  deps: Pick<ConnectorDeps, "sealer" | "log" | "delivery">,
): Promise<Attestation | string> {
  const credential = key.credentials[index];
  if (credential?.responseKey === undefined || credential.binding === undefined) return noResponseKey;
  const context = { requestId, keyId: key.id, purpose: responseKeyPurpose(index) };
  const privateJwk = await openSealed<PrivateKey>(credential.responseKey, context, deps);
  if (privateJwk === undefined) return sealedResponseKey;
  try {
    const attestation = await decodeCredentialResponse(response, privateJwk, kid => deps.delivery.signingKey(kid));
    const mismatch = bindResponse(attestation, credential.binding);
    return mismatch === undefined ? attestation : `answers another request (${mismatch})`;
  } catch (error) {
    if (error instanceof ExchangeError) return error.reason;
    throw error;
  }
}
