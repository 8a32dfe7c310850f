import type { Instant } from "../../platform/time.ts";
import { preRegistrationApi } from "../model/peer-names.ts";
import {
  type Credential,
  type CredentialRequest,
  queueOf,
  type RequestValues,
  type SecurityKey,
} from "../model/request.ts";
import { firstAttempt } from "../model/retry.ts";
import { isTerminal, startRequest } from "../model/states.ts";

/**
 * Prepares a request from a backup for further work. What was done after the backup is not known, so each open part is recorded as a call
 * without an answer: it is read back at its peer before the call is repeated (C6).
 */
export function restoreRequest({ request, keys }: RequestValues): RequestValues {
  const { lease, ...unleased } = withDeleteIntent(request);
  const attempted = keys.map(key => restoreSecurityKey(key, request.createdAt));
  return mayBeEnrolled(request, keys)
    ? startEnrolled(unleased, attempted)
    : { request: withOrderIntent(unleased), keys: attempted };
}

/** Whether authenticators may have been sent to the pre-registration API. They are sent only after their response keys are stored. */
const mayBeEnrolled = ({ state, shipment }: CredentialRequest, keys: readonly SecurityKey[]): boolean =>
  state === "received" &&
  shipment === undefined &&
  keys.every(({ credentials }) => credentials.every(({ responseKey }) => responseKey !== undefined));

/** Starts the request instead of compensating it: keys enrolled after the backup would be lost. The pre-registration API is polled. */
function startEnrolled({ due, ...request }: CredentialRequest, keys: readonly SecurityKey[]): RequestValues {
  const at = request.createdAt;
  return {
    request: { ...request, state: startRequest(request.state) },
    keys: keys.map(key => ({
      ...key,
      enrollment: firstAttempt(at),
      due: { queue: queueOf(key), at, peer: preRegistrationApi },
    })),
  };
}

/** Adds an order intent to a request with a shipment. Without one, the request would be compensated as never sent. */
const withOrderIntent = (request: CredentialRequest): CredentialRequest =>
  request.state === "received" && request.shipment !== undefined
    ? { ...request, delivery: { sentAt: request.createdAt, ...request.delivery } }
    : request;

/** Adds the intent to delete the shipment to a cancel: it may have been deleted after the backup. */
const withDeleteIntent = (request: CredentialRequest): CredentialRequest =>
  request.cancelling === undefined
    ? request
    : { ...request, cancelling: { deleteSentAt: request.createdAt, ...request.cancelling } };

function restoreSecurityKey({ lease, ...key }: SecurityKey, since: Instant): SecurityKey {
  const withAttempt = (credential: Credential): Credential =>
    isTerminal(credential.state) ? credential : { ...credential, triedAt: credential.triedAt ?? since };
  const isOpen = key.mail.state === "waiting" || key.mail.state === "due";
  // The number identifies the send that may have been made. Without an earlier send, that is the first one.
  const mail = isOpen
    ? { ...key.mail, number: Math.max(1, key.mail.number), triedAt: key.mail.triedAt ?? since }
    : key.mail;
  return { ...key, mail, credentials: key.credentials.map(withAttempt) };
}
