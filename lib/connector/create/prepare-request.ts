import type { Sealer } from "../../platform/crypto.ts";
import type { ConnectorDeps } from "../deps.ts";
import { transportKeysFault } from "../faults.ts";
import type { Credential } from "../model/credential.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { hasPinMail, type SecurityKey } from "../model/security-key.ts";
import { bindingOf } from "../peers/bind-response.ts";
import {
  type EncryptedRequests,
  encodeCredentialRequest,
  encodePinRequest,
  type KeyRequests,
  makeResponseKey,
} from "../peers/exchange-messages.ts";
import type { PublicKey } from "../peers/jwks.ts";
import type { OptionsResponses } from "../recovery/compensate.ts";
import { idpStatePurpose, pinResponseKeyPurpose, responseKeyPurpose, seal } from "../storage/sealed.ts";
import { askIdps } from "./ask-idps.ts";
import { checkUsers } from "./check-users.ts";
import type { RequestDraft } from "./draft.ts";

/**
 * Asks the IdPs for creation options, checks the users meanwhile, and encrypts the requests of each security key.
 * Throws Fault.
 * @param responses gets the responses of the IdPs, also if it throws
 * @returns all security keys with their sealed response keys and IdP states, which are not stored yet
 */
export async function prepareRequest(
  stored: LoadedRequest,
  pathOf: RequestDraft["pathOf"],
  responses: OptionsResponses,
  deps: ConnectorDeps,
): Promise<{ readonly keys: readonly SecurityKey[]; readonly encrypted: EncryptedRequests }> {
  const calls = [
    // First, because it says more than the refusal of an IdP.
    checkUsers(stored.keys, pathOf, deps),
    askIdps(stored, pathOf, responses, deps),
    deps.delivery.transportKeys().catch((error: unknown) => Promise.reject(transportKeysFault(error))),
  ] as const;
  // All calls end before the first failure is thrown, because a compensation needs every response.
  await Promise.allSettled(calls);
  const [, , transportKeys] = await Promise.all(calls);
  const prepared = await Promise.all(
    stored.keys.map(key => encryptKeyRequests(stored.request.id, key, responses, transportKeys, deps)),
  );
  return {
    keys: prepared.map(({ key }) => key),
    encrypted: new Map(prepared.map(({ key, requests }) => [key.id, requests])),
  };
}

/**
 * Creates a response key for each credential and PIN of a security key, and encrypts the requests to the key maker's
 * transport keys. Returns the security key with its private response keys and IdP states sealed, and the encrypted
 * requests.
 */
async function encryptKeyRequests(
  requestId: string,
  key: SecurityKey,
  responses: OptionsResponses,
  transportKeys: readonly PublicKey[],
  { sealer, random }: { readonly sealer: Sealer; readonly random: ConnectorDeps["random"] },
): Promise<{ readonly key: SecurityKey; readonly requests: KeyRequests }> {
  const sealed = (value: object, purpose: string) => seal(value, { requestId, keyId: key.id, purpose }, sealer);
  const credentials: Credential[] = [];
  const credentialRequests: string[] = [];
  for (const [index, credential] of key.credentials.entries()) {
    const challenge = responses.get(credential);
    if (typeof challenge !== "object") throw new Error(`credential ${index} of key ${key.id} has no creation options`);
    const { options, origin, expiresAt, idpState } = challenge;
    const { publicJwk, privateJwk } = await makeResponseKey();
    credentials.push({
      ...credential,
      binding: bindingOf(challenge),
      relyingPartyId: options.rp.id,
      ...(expiresAt && { challengeExpiresAt: expiresAt.toISOString() }),
      idpState: await sealed(idpState, idpStatePurpose(index)),
      responseKey: await sealed(privateJwk, responseKeyPurpose(index)),
    });
    const route = { transportKeys, responseKey: publicJwk, random };
    credentialRequests.push(await encodeCredentialRequest({ options, origin }, route));
  }
  if (key.pinRequest === undefined || !hasPinMail(key))
    return { key: { ...key, credentials }, requests: { credentialRequests } };
  const { publicJwk, privateJwk } = await makeResponseKey();
  const { length } = key.pinRequest;
  return {
    key: { ...key, credentials, pinResponseKey: await sealed(privateJwk, pinResponseKeyPurpose) },
    requests: {
      credentialRequests,
      pinRequest: await encodePinRequest(length, { transportKeys, responseKey: publicJwk, random }),
    },
  };
}
