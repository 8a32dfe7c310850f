import { isDeepStrictEqual } from "node:util";
import { pick } from "../../platform/collections.ts";
import { conflict, retryOnConflict } from "../../platform/stored.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { Credential, Revocation } from "../model/credential.ts";
import { answerOfErased, answerOfRemoved } from "../model/idempotency.ts";
import type { LoadedRequest, RequestValues } from "../model/loaded-request.ts";
import type { CredentialRequest } from "../model/request.ts";
import type { RequestList } from "../model/request-lists.ts";
import type { SecurityKey } from "../model/security-key.ts";
import { removeAuthenticators } from "../recovery/compensate.ts";

/**
 * Removes the data of a request from storage and from the pre-registration API. Each step may be repeated; the rows are
 * removed last. Returns false if the request was changed meanwhile: its rows are kept then.
 * @param erasing set for an erasure: its claim keeps no answer, and `foundBy` is the list of the person who is erased
 */
export async function removeRequest(
  loaded: LoadedRequest,
  deps: ConnectorDeps,
  erasing?: { readonly foundBy: RequestList },
): Promise<boolean> {
  await removeOutside(loaded, deps, erasing !== undefined);
  return deps.requests.remove(loaded, erasing?.foundBy);
}

/**
 * Removes the data of a request like `removeRequest`, except what the register of security keys keeps. Each step may be
 * repeated; the rows are changed last. Returns false if another writer has changed them at the same time.
 */
export async function archiveRequest(loaded: LoadedRequest, deps: ConnectorDeps): Promise<boolean> {
  await removeOutside(loaded, deps);
  await deps.events?.removeAll(loaded.request);
  return (await deps.requests.save(loaded, archived(loaded))) !== undefined;
}

/** Removes what is kept of a request outside of its rows. */
async function removeOutside(loaded: LoadedRequest, deps: ConnectorDeps, isErased = false) {
  const request = loaded.request;
  await concludeClaim(request, deps, isErased);
  // Those of an archived request were removed when it was archived.
  if (request.isArchived !== true) await removeAuthenticators(request.id, loaded.keys, deps);
  await deps.responses.removeAll(request.id);
}

/**
 * Saves the outcome of a request in its claim before the request's rows are removed, so that its Idempotency-Key does
 * not order again. Keeps only the kind and the code of a refusal.
 * @param isErased whether the claim must not keep the answer
 */
async function concludeClaim(request: CredentialRequest, { claims }: ConnectorDeps, isErased: boolean): Promise<void> {
  const { claim } = request;
  if (claim === undefined) return;
  await retryOnConflict(async () => {
    const found = await claims.find(claim);
    if (found?.value.requestId !== request.id) return undefined;
    const answer = isErased ? answerOfErased : answerOfRemoved(found.value, request);
    if (answer === undefined || isDeepStrictEqual(answer, found.value.answer)) return undefined;
    return (await claims.replace(found, { ...found.value, answer })) ?? conflict;
  });
}

/** Whether the register keeps a request after its clean-up: an IdP has registered a credential of it, or may have. */
export const isKeptInRegister = (keys: readonly SecurityKey[]): boolean =>
  keys.some(({ credentials }) => credentials.some(each => each.state === "active" || each.mayBeRegistered));

const nobody = { email: "", firstName: "", lastName: "", company: "", telephone: "", externalId: "" };

/**
 * Returns what the register keeps of an ended request: its security keys, and their credentials with what a removal at
 * the IdP needs. It names what is kept, so that a column that is added to a request is not kept by mistake.
 */
function archived({ request, keys }: RequestValues): RequestValues {
  const { createdAt, terminalAt = createdAt } = request;
  const shipment = request.delivery?.shipment;
  return {
    request: {
      // The events themselves are removed. Those of a later revocation have the next positions.
      ...pick(request, "id", "origin", "state", "createdAt", "eventCount"),
      terminalAt,
      isArchived: true,
      recipient: nobody,
      emailsTo: [],
      ...(shipment && { delivery: { shipment: pick(shipment, "id", "tentative", "stateId", "shippedAt", "endedAt") } }),
      due: { queue: "register", at: terminalAt },
      attempts: 0,
    },
    keys: keys.map(key => ({
      ...pick(key, "id", "provisioning", "customizationId", "productId", "inventoryProductId", "state"),
      ...pick(key, "serial", "firmware", "replacedBy"),
      credentials: key.credentials.map(archivedCredential),
      mail: { state: "none", number: 0 },
    })),
  };
}

const archivedCredential = (credential: Credential): Credential => ({
  ...pick(credential, "idpId", "relyingPartyId", "userId", "state", "aaguid", "credentialId", "activatedAt"),
  ...pick(credential, "idpState", "registrationId", "mayBeRegistered"),
  ...(credential.revocation && { revocation: archivedRevocation(credential.revocation) }),
});

/** Without the caller, and without the message of the IdP, which may name a person. */
const archivedRevocation = ({ requestedBy: _, retry, ...revocation }: Revocation): Revocation => {
  const { lastError, ...attempts } = retry;
  return { ...revocation, retry: attempts };
};
