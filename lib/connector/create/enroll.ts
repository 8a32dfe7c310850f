import pLimit from "p-limit";
import { toResult } from "../../platform/async.ts";
import { Fault } from "../../platform/fault.ts";
import { PeerFailure } from "../../platform/peer-failure.ts";
import { type Instant, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { authenticatorFault, enrollmentTokenFault, internalFault, tooLateFault } from "../faults.ts";
import { challengeEnd } from "../model/credential.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { withPollDue } from "../model/next-due.ts";
import type { CredentialRequest } from "../model/request.ts";
import { displayName, enrollmentId, isOnSite, itemIndex, type SecurityKey } from "../model/security-key.ts";
import { startRequest } from "../model/states.ts";
import { type AuthenticatorOrder, requireRfpr } from "../peers/rfpr.ts";
import { abortCreate, compensateTooLate, saveFromHandler } from "./abort-create.ts";
import type { CreatedIds } from "./draft.ts";
import type { EncryptedRequests, PreparedRequest } from "./prepare-request.ts";

/** Gets a token for the pre-registration API before any other call. Without one, aborts the create and throws. */
export async function authenticateEnrollment(stored: LoadedRequest, deps: ConnectorDeps): Promise<void> {
  try {
    await requireRfpr(deps).authenticate();
  } catch (cause) {
    throw await abortCreate(stored, enrollmentTokenFault(cause), deps);
  }
}

/**
 * Stores the sealed keys and IdP states, then sends each authenticator to the pre-registration API under an id of our
 * own. The rows are written first, so that the job knows what to remove there after a crash (C6). Aborts the create and
 * throws a Fault if an authenticator is not accepted.
 */
export async function enroll(
  stored: LoadedRequest,
  { keys, encryptedRequests }: PreparedRequest,
  deps: ConnectorDeps,
): Promise<LoadedRequest> {
  const request = stored.request;
  // The request's row is written too, so that this save conflicts with a job that is compensating the request.
  const loaded = await saveFromHandler(stored, { request, keys }, deps);
  if (loaded === undefined) throw await compensateTooLate(request.id, keys, deps);
  const onSite = keys.filter(isOnSite);
  const put = await toResult(putAll(request, onSite, encryptedRequests, deps));
  if ("error" in put)
    throw await abortCreate(loaded, put.error instanceof Fault ? put.error : internalFault(put.error), deps);
  return loaded;
}

/** Sends the authenticators with limited concurrency. Throws the first failure when all calls have ended. */
async function putAll(
  request: CredentialRequest,
  keys: readonly SecurityKey[],
  encryptedRequests: PreparedRequest["encryptedRequests"],
  deps: ConnectorDeps,
): Promise<void> {
  const rfpr = requireRfpr(deps);
  const limit = pLimit(deps.concurrency);
  const notAfter = plus(request.createdAt, deps.intervals.createMs);
  let failure: Fault | undefined;
  const put = async (key: SecurityKey): Promise<void> => {
    if (failure !== undefined) return;
    const encrypted = encryptedRequests.get(key.id);
    if (encrypted === undefined) throw new Error(`authenticator ${key.id} was not prepared`);
    try {
      await rfpr.put(enrollmentId(request.id, key.id), authenticatorOrderOf(request, key, encrypted, deps), {
        notAfter,
      });
    } catch (error) {
      if (!(error instanceof PeerFailure)) throw error;
      deps.log.warn("authenticator_not_taken", { credentialRequestId: request.id, keyId: key.id, error });
      failure ??= authenticatorFault(error, itemIndex(key.id) + 1);
    }
  };
  await Promise.all(keys.map(key => limit(put, key)));
  if (failure !== undefined) throw failure;
}

const authenticatorOrderOf = (
  request: CredentialRequest,
  key: SecurityKey,
  { pinRequest, credentialRequests }: EncryptedRequests,
  deps: Pick<ConnectorDeps, "intervals">,
): AuthenticatorOrder => ({
  recipient: request.recipient,
  emailsTo: request.emailsTo,
  name: displayName(key),
  ...(key.customizationId !== undefined && { customizationId: key.customizationId }),
  preferredAuthenticatorType: key.preferredAuthenticatorType ?? "hardware",
  expiresAt: lastChallengeEnd(request, key, deps),
  ...(key.pinRequest && { pin: key.pinRequest }),
  ...(pinRequest !== undefined && { pinRequest }),
  credentialRequests,
});

/** Returns the time after which no response for this authenticator can be activated. */
const lastChallengeEnd = (
  request: CredentialRequest,
  key: SecurityKey,
  deps: Pick<ConnectorDeps, "intervals">,
): Instant =>
  key.credentials
    .map(credential => challengeEnd(credential, request, deps))
    .toSorted()
    .at(-1) ?? request.createdAt;

/**
 * Starts a request without a shipment after all its authenticators were sent to the pre-registration API. Throws Fault
 * `unavailable` if the job has compensated the request meanwhile, and `internal` if storage is not responding.
 */
export async function startWithoutShipment(enrolled: LoadedRequest, deps: ConnectorDeps): Promise<CreatedIds> {
  const { id, due, ...rest } = enrolled.request;
  const started = { ...rest, id, state: startRequest(rest.state) };
  const changes = { request: started, keys: withPollDue(enrolled.keys, deps) };
  const written = await saveFromHandler(enrolled, changes, deps).catch((cause: unknown) => {
    // The request may have started, so a storage failure here must not be reported as a call that may be repeated.
    deps.log.error("start_failed", { credentialRequestId: id, error: cause });
    const message = "It is not known whether the request was started; ask for it later.";
    throw new Fault("internal", message, { data: { credential_request_id: id }, cause });
  });
  if (written === undefined) throw tooLateFault();
  return { requestId: id };
}
