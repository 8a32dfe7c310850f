import pLimit from "p-limit";
import { Fault } from "../../fault.ts";
import { type Instant, plus } from "../../time.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { PeerFailure } from "../http/failure.ts";
import { toResult } from "../http/to-result.ts";
import { challengeEnd } from "../model/credential.ts";
import { enrollmentId, positionOf } from "../model/key-ids.ts";
import { type CredentialRequest, displayName, isOnSite, type SecurityKey } from "../model/request.ts";
import { requireRfpr } from "../peers/enrollment-side.ts";
import type { AuthenticatorOrder } from "../peers/rfpr-wire.ts";
import { abortCreate } from "./abort.ts";
import type { KeyRequests } from "./encrypt-key-requests.ts";
import type { Prepared } from "./prepare-request.ts";
import { saveFromHandler, tooLate, tooLateWith } from "./save-from-handler.ts";

/** Makes sure of the enrollment side's access token before anybody else is asked (decision C6). Gives up and throws a Fault without one. */
export async function authenticateEnrollment(stored: LoadedRequest, deps: ConnectorDeps): Promise<void> {
  try {
    await requireRfpr(deps).authenticate();
  } catch (cause) {
    const fault = new Fault("internal", "The connector could not authenticate toward the enrollment service.", {
      cause,
    });
    throw await abortCreate(stored, fault, deps);
  }
}

/**
 * Stores what the IdPs gave, then hands every authenticator to the enrollment side under our id (decision C6). The rows come first:
 * they tell the job what to take back there. Gives up and throws a Fault where one is not taken.
 */
export async function enroll(
  stored: LoadedRequest,
  { keys, orders }: Prepared,
  deps: ConnectorDeps,
): Promise<LoadedRequest> {
  const request = stored.request.value;
  const isOurs = (now: LoadedRequest) => now.keys.every(({ value }) => hasKeysOf(value, keys));
  // The request's row is written too, so that a job that has begun to undo it is met here.
  const loaded = await saveFromHandler(stored, { request, keys }, isOurs, deps);
  if (loaded === undefined) throw await tooLateWith(request.id, keys, deps);
  const onSite = keys.filter(isOnSite);
  const put = await toResult(putAll(request, onSite, orders, deps));
  if ("error" in put)
    throw await abortCreate(loaded, put.error instanceof Fault ? put.error : internal(put.error), deps);
  return loaded;
}

/** Sealed keys are never twice the same. */
const hasKeysOf = (stored: SecurityKey, ours: readonly SecurityKey[]): boolean =>
  stored.credentials[0]?.responseKey === ours.find(({ id }) => id === stored.id)?.credentials[0]?.responseKey;

const internal = (cause: unknown): Fault => new Fault("internal", "Internal error.", { cause });

/** A few at a time; after the first failure no more are begun. Ends when none is under way. */
async function putAll(
  request: CredentialRequest,
  keys: readonly SecurityKey[],
  orders: readonly KeyRequests[],
  deps: ConnectorDeps,
): Promise<void> {
  const rfpr = requireRfpr(deps);
  const limit = pLimit(deps.concurrency);
  const notAfter = plus(request.createdAt, deps.intervals.create);
  let failure: Fault | undefined;
  const put = async (key: SecurityKey): Promise<void> => {
    if (failure !== undefined) return;
    const order = orders.find(({ keyId }) => keyId === key.id);
    if (order === undefined) throw new Error(`authenticator ${key.id} was not prepared`);
    try {
      await rfpr.put(enrollmentId(request.id, key.id), orderOf(request, key, order, deps), { notAfter });
    } catch (error) {
      if (!(error instanceof PeerFailure)) throw error;
      deps.log.warn("authenticator_not_taken", { credentialRequestId: request.id, keyId: key.id, error });
      failure ??= enrollmentFault(error, key);
    }
  };
  await Promise.all(keys.map(key => limit(put, key)));
  if (failure !== undefined) throw failure;
}

const orderOf = (
  request: CredentialRequest,
  key: SecurityKey,
  { pinRequest, credentialRequests }: KeyRequests,
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

/** From then on nothing that comes back is of any use. */
const lastChallengeEnd = (
  request: CredentialRequest,
  key: SecurityKey,
  deps: Pick<ConnectorDeps, "intervals">,
): Instant =>
  key.credentials
    .map(credential => challengeEnd(credential, request, deps))
    .toSorted()
    .at(-1) ?? request.createdAt;

/** What the caller is told when the enrollment side did not take an authenticator. */
function enrollmentFault(error: PeerFailure, key: SecurityKey): Fault {
  if (error.status === 410) return tooLate();
  if (error.kind === "unauthorized") {
    return new Fault("internal", "The enrollment side does not accept the connector.", { cause: error });
  }
  if (error.kind === "refused" && error.status !== 409) {
    const detail = error.detail === undefined ? "" : `: ${error.detail}`;
    const message = `The enrollment side refused authenticator ${positionOf(key.id) + 1}${detail}`;
    return new Fault("invalid", message, { cause: error });
  }
  if (!error.passing) return internal(error);
  return new Fault("unavailable", "The enrollment side does not answer now; nothing was ordered.", {
    retryAfter: error.retryAfter ?? 30,
    cause: error,
  });
}
