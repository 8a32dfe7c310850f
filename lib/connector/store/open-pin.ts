import type { ConnectorDeps } from "../deps.ts";
import { ExchangeError, type PrivateKey } from "../exchange/envelope.ts";
import { decodePinResponse } from "../exchange/messages.ts";
import type { SecurityKey } from "../model/request.ts";
import { pinKeyPurpose, sealContext } from "./seal-contexts.ts";

/**
 * Returns the PIN in a response, or why the response does not open. The PIN must not be stored or logged (C14).
 * Throws PeerFailure if the signing keys cannot be read.
 */
export async function openPin(
  requestId: string,
  { id, pinKey }: SecurityKey,
  response: string,
  { sealer, delivery }: Pick<ConnectorDeps, "sealer" | "delivery">,
): Promise<{ readonly pin: string } | { readonly problem: string }> {
  if (pinKey === undefined) return { problem: "The key has no PIN." };
  const privateJwk = JSON.parse(await sealer.open(pinKey, sealContext(requestId, id, pinKeyPurpose))) as PrivateKey;
  try {
    return { pin: await decodePinResponse(response, privateJwk, kid => delivery.signingKey(kid)) };
  } catch (error) {
    if (error instanceof ExchangeError) return { problem: `The PIN response can not be used: ${error.reason}.` };
    throw error;
  }
}
