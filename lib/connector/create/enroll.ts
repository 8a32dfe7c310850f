import { forEachLimited } from "../../platform/async.ts";
import { Fault } from "../../platform/fault.ts";
import { PeerFailure } from "../../platform/peer-failure.ts";
import { plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { authenticatorFault, enrollmentTokenFault, tooLateFault } from "../faults.ts";
import { challengeEnd } from "../model/credential.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { withPollDue } from "../model/next-due.ts";
import { enrollmentId, isOnSite, itemIndex } from "../model/security-key.ts";
import { startRequest } from "../model/states.ts";
import type { EncryptedRequests } from "../peers/exchange-messages.ts";
import { requireRfpr } from "../peers/rfpr.ts";
import type { CreatedIds } from "./draft.ts";

/** Gets a token for the pre-registration API before any other call. Throws Fault `internal`. */
export async function requireEnrollmentToken(deps: ConnectorDeps): Promise<void> {
  try {
    await requireRfpr(deps).authenticate();
  } catch (cause) {
    throw enrollmentTokenFault(cause);
  }
}

/**
 * Sends each authenticator to the pre-registration API under an id of our own, with limited concurrency. Throws the
 * Fault of the first one that is not accepted when all calls have ended.
 */
export function sendAuthenticators(
  { request, keys }: LoadedRequest,
  encrypted: EncryptedRequests,
  deps: ConnectorDeps,
): Promise<void> {
  const rfpr = requireRfpr(deps);
  const notAfter = plus(request.createdAt, deps.intervals.createMs);
  return forEachLimited(keys.filter(isOnSite), deps.concurrency, async key => {
    const requests = encrypted.get(key.id);
    if (requests === undefined) throw new Error(`authenticator ${key.id} was not prepared`);
    // After the last challenge no response for this authenticator can be activated.
    const ends = key.credentials.map(credential => challengeEnd(credential, request, deps)).toSorted();
    const order = { request, key, requests, expiresAt: ends.at(-1) ?? request.createdAt };
    await rfpr.put(enrollmentId(request.id, key.id), order, { notAfter }).catch((error: unknown) => {
      if (!(error instanceof PeerFailure)) throw error;
      deps.log.warn("authenticator_not_taken", { credentialRequestId: request.id, keyId: key.id, error });
      throw authenticatorFault(error, itemIndex(key.id) + 1);
    });
  });
}

/**
 * Starts a request without a shipment after all its authenticators were sent to the pre-registration API. Throws Fault
 * `unavailable` if the job has compensated the request meanwhile, and `internal` if storage is not responding.
 */
export async function startWithoutShipment(enrolled: LoadedRequest, deps: ConnectorDeps): Promise<CreatedIds> {
  const { due, ...request } = enrolled.request;
  const started = { ...request, state: startRequest(request.state) };
  const changes = { request: started, keys: withPollDue(enrolled.keys, deps) };
  const saved = await deps.requests.save(enrolled, changes).catch((cause: unknown) => {
    // The request may have started, so a storage failure here must not be reported as a call that may be repeated.
    deps.log.error("start_failed", { credentialRequestId: request.id, error: cause });
    const message = "It is not known whether the request was started; ask for it later.";
    throw new Fault("internal", message, { data: { credential_request_id: request.id }, cause });
  });
  if (saved === undefined) throw tooLateFault();
  return { requestId: request.id };
}
