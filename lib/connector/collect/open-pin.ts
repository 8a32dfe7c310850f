import type { Log } from "../../platform/log.ts";
import type { Sealer } from "../../platform/seal.ts";
import type { SecurityKey } from "../model/security-key.ts";
import { ExchangeError, type FindSigningKey, type PrivateKey } from "../peers/exchange-envelope.ts";
import { decodePinResponse } from "../peers/exchange-messages.ts";
import { openSealed, pinResponseKeyPurpose } from "../storage/sealed.ts";

/**
 * Returns the PIN in a response, or why the response does not open. The PIN must not be stored or logged (C14).
 * Throws PeerFailure if the signing keys cannot be read.
 */
export async function openPin(
  requestId: string,
  { id, pinResponseKey }: SecurityKey,
  response: string,
  deps: { readonly sealer: Sealer; readonly log: Log; readonly delivery: { readonly signingKey: FindSigningKey } },
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
