import { toResult } from "../../platform/async.ts";
import { Fault } from "../../platform/fault.ts";
import { plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { internalFault, transportKeysFault } from "../faults.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { type Credential, hasPinMail, type SecurityKey } from "../model/security-key.ts";
import type { Challenge } from "../model/webauthn.ts";
import { bindingOf } from "../peers/bind-response.ts";
import { encodeCredentialRequest, encodePinRequest, makeResponseKey } from "../peers/exchange-messages.ts";
import type { PublicKey } from "../peers/jwks.ts";
import type { OptionsResponses } from "../recovery/compensate.ts";
import { idpStatePurpose, pinResponseKeyPurpose, responseKeyPurpose, seal } from "../storage/sealed.ts";
import { abortCreate } from "./abort-create.ts";
import { askIdps, idpFault } from "./ask-idps.ts";
import { findRefusedUser, usersOf } from "./check-users.ts";
import type { RequestDraft } from "./draft.ts";

/** The sealed and the encrypted part of a request, not stored yet. */
export interface PreparedRequest {
  /** All security keys, with their sealed response keys and IdP states. */
  readonly keys: readonly SecurityKey[];
  /** The encrypted credential requests and PIN request of each security key by its id, for the party that programs it. */
  readonly encryptedRequests: ReadonlyMap<string, EncryptedRequests>;
}

export interface EncryptedRequests {
  readonly pinRequest?: string;
  readonly credentialRequests: readonly string[];
}

/**
 * Asks the IdPs for creation options, checks the users meanwhile, and encrypts the requests of each security key. On a
 * failure, aborts the create and throws a Fault.
 */
export async function prepareRequest(
  stored: LoadedRequest,
  pathOf: RequestDraft["pathOf"],
  deps: ConnectorDeps,
): Promise<PreparedRequest> {
  const { request, keys } = stored;
  const until = plus(request.createdAt, deps.intervals.createMs);
  const [{ responses, failure }, transport, checked] = await Promise.all([
    askIdps(request.id, keys, until, deps),
    toResult(deps.delivery.transportKeys()),
    toResult(findRefusedUser(usersOf(keys, deps.idps.defaultId), pathOf, deps)),
  ]);
  const refuse = (fault: Fault) => abortCreate(stored, fault, deps, responses);
  if ("error" in checked) throw await refuse(toFault(checked.error));
  if (checked.value !== undefined) throw await refuse(checked.value);
  if (failure !== undefined) throw await refuse(idpFault(failure, pathOf));
  if ("error" in transport) throw await refuse(transportKeysFault(transport.error));

  const encrypted = await toResult(
    Promise.all(keys.map(key => encryptKeyRequests(request.id, key, responses, transport.value, deps))),
  );
  if ("error" in encrypted) throw await refuse(toFault(encrypted.error));
  return {
    keys: encrypted.value.map(({ key }) => key),
    encryptedRequests: new Map(encrypted.value.map(({ key, requests }) => [key.id, requests])),
  };
}

const toFault = (error: unknown): Fault => (error instanceof Fault ? error : internalFault(error));

/**
 * Creates a response key for each credential and PIN of a security key, and encrypts the requests to the key maker's
 * transport keys. Returns the security key with its private response keys and IdP states sealed, and the encrypted
 * requests. Throws if a credential has no challenge.
 */
async function encryptKeyRequests(
  requestId: string,
  key: SecurityKey,
  responses: OptionsResponses,
  transportKeys: readonly PublicKey[],
  deps: Pick<ConnectorDeps, "sealer" | "random">,
): Promise<{ key: SecurityKey; requests: EncryptedRequests }> {
  const credentials: Credential[] = [];
  const credentialRequests: string[] = [];
  for (const [index, credential] of key.credentials.entries()) {
    const challenge = responses.get(credential);
    if (typeof challenge !== "object") throw new Error(`credential ${index} of key ${key.id} has no creation options`);
    const { publicJwk, privateJwk } = await makeResponseKey();
    const row = { requestId, keyId: key.id };
    const responseKey = await seal(privateJwk, { ...row, purpose: responseKeyPurpose(index) }, deps.sealer);
    const idpState = await seal(challenge.idpState, { ...row, purpose: idpStatePurpose(index) }, deps.sealer);
    credentials.push({ ...credential, ...storedPart(challenge), idpState, responseKey });
    const { options, origin } = challenge;
    credentialRequests.push(
      await encodeCredentialRequest({ options, origin, responseKey: publicJwk }, transportKeys, deps.random),
    );
  }
  const pin = await preparePin(requestId, key, transportKeys, deps);
  return {
    key: { ...key, credentials, ...(pin && { pinResponseKey: pin.sealed }) },
    requests: { credentialRequests, ...(pin && { pinRequest: pin.request }) },
  };
}

/** Returns the part of a challenge that is stored with its credential. */
const storedPart = (challenge: Challenge): Partial<Credential> => ({
  binding: bindingOf(challenge),
  relyingPartyId: challenge.options.rp.id,
  ...(challenge.expiresAt && { challengeExpiresAt: challenge.expiresAt.toISOString() }),
});

async function preparePin(
  requestId: string,
  key: SecurityKey,
  transportKeys: readonly PublicKey[],
  { sealer, random }: Pick<ConnectorDeps, "sealer" | "random">,
): Promise<{ sealed: string; request: string } | undefined> {
  if (key.pinRequest === undefined || !hasPinMail(key)) return undefined;
  const { publicJwk, privateJwk } = await makeResponseKey();
  return {
    sealed: await seal(privateJwk, { requestId, keyId: key.id, purpose: pinResponseKeyPurpose }, sealer),
    request: await encodePinRequest({ length: key.pinRequest.length, responseKey: publicJwk }, transportKeys, random),
  };
}
