import { between, earliest, type Instant, plus } from "../../platform/time.ts";
import { isRevoking } from "./credential.ts";
import type { Clock } from "./intervals.ts";
import { deliveryService, idpName, mailService, preRegistrationApi } from "./peer-names.ts";
import type { CredentialRequest, Due } from "./request.ts";
import { type BackOff, firstAttempt, postpone } from "./retry.ts";
import { isOnSite, isWaiting, queueOf, type SecurityKey } from "./security-key.ts";
import { deliveryStateOf, type LossAction } from "./shipment.ts";
import { isTerminal } from "./states.ts";

/** Returns the security key with its lease released and the time of its next work. */
export function releaseLease({ lease, due, ...key }: SecurityKey, clock: Clock): SecurityKey {
  const next = nextDue(key) ?? purgeDue(key, clock);
  return { ...key, ...(next && { due: next }) };
}

/**
 * Returns the request with its lease released and its next attempt in a queue.
 * @param retryAfterSeconds seconds that the peer asked to wait
 */
export function postponeRequest(
  { lease, ...request }: CredentialRequest,
  queue: Due["queue"],
  backOff: BackOff,
  { now }: Pick<Clock, "now">,
  retryAfterSeconds?: number,
): CredentialRequest {
  const { attempts, nextAt, notBefore } = postpone(request, now(), backOff, { retryAfterSeconds });
  // Then reconciliation calls the delivery service only.
  const isOrdered = request.delivery?.sentAt !== undefined && request.cancelling === undefined;
  const due: Due = {
    queue,
    at: nextAt,
    ...(notBefore !== undefined && { notBefore }),
    ...((queue === "poll" || isOrdered) && { peer: deliveryService }),
  };
  return { ...request, attempts, due };
}

/**
 * Returns the request with its next tracking poll. The wait is the time since shipping, limited to `shipmentPoll`. No
 * poll if not shipped or the delivery has ended. The credentials of a lost shipment can be revoked only when they are
 * active, so polls continue until their activations.
 * @param keys all security keys of the request
 * @param retryAfterSeconds seconds that the peer asked to wait
 */
export function withTrackDue(
  { trackDue, ...request }: CredentialRequest,
  keys: readonly SecurityKey[],
  { now, intervals: { shipmentPoll, trackForMs }, onLoss }: Clock & { readonly onLoss: LossAction },
  retryAfterSeconds = 0,
): CredentialRequest {
  const { shipment } = request.delivery ?? {};
  const state = deliveryStateOf(shipment);
  const isAwaited =
    state === "lost" && onLoss === "revoke" && keys.some(key => !isOnSite(key) && !isTerminal(key.state));
  if (shipment?.shippedAt === undefined || (state !== "in_transit" && !isAwaited)) return request;
  const ageMs = between(shipment.shippedAt, now());
  const backOffMs = Math.min(shipmentPoll.maxMs, Math.max(shipmentPoll.minMs, ageMs));
  const remainingMs = isAwaited ? backOffMs : trackForMs - ageMs;
  const waitMs = Math.max(Math.min(backOffMs, remainingMs), retryAfterSeconds * 1000);
  return { ...request, trackDue: { queue: "track", at: plus(now(), waitMs), peer: deliveryService } };
}

/** Returns the security key, due for the deletion of its copy of the responses if it has ended and no email is due. */
export function withPurgeDue(key: SecurityKey, clock: Clock): SecurityKey {
  const due = key.mail.state === "due" ? undefined : purgeDue(key, clock);
  return due === undefined ? key : { ...key, due };
}

/** Returns the next work of the security key: its queue, the earliest time, and its peer if there is only one. */
export function nextDue(
  key: Pick<SecurityKey, "credentials" | "mail" | "enrollment" | "ofShipmentV1">,
): Due | undefined {
  const waiting = [
    ...(isWaiting(key) ? [{ retry: key.enrollment, peer: preRegistrationApi }] : []),
    ...key.credentials
      .filter(({ state }) => state === "activation_pending")
      .map(({ retry, idpId }) => ({ retry, peer: idpName(idpId) })),
    ...key.credentials
      .filter(isRevoking)
      .map(({ revocation, idpId }) => ({ retry: revocation?.retry, peer: idpName(idpId) })),
    ...(key.mail.state === "due" ? [{ retry: key.mail.retry, peer: mailService }] : []),
  ].flatMap(({ retry, peer }) => (retry === undefined ? [] : [{ ...retry, peer }]));
  const at = earliest(...waiting.map(({ nextAt }) => nextAt));
  if (at === undefined) return undefined;
  const allWait = waiting.every(({ notBefore }) => notBefore !== undefined);
  const notBefore = allWait ? earliest(...waiting.map(each => each.notBefore)) : undefined;
  const [peer, ...others] = new Set(waiting.map(each => each.peer));
  const isOnlyPeer = peer !== undefined && others.length === 0;
  return { queue: queueOf(key), at, ...(notBefore !== undefined && { notBefore }), ...(isOnlyPeer && { peer }) };
}

/** Returns when the copy of an ended security key's responses expires: it serves a resend of the PIN for that long. */
function purgeDue(
  { responses, state, mail }: Pick<SecurityKey, "state" | "responses" | "mail">,
  { now, intervals }: Clock,
): Due | undefined {
  if (responses === undefined || !isTerminal(state)) return undefined;
  const since: Instant = mail.sentAt ?? now();
  return { queue: "purge", at: plus(since, intervals.retryForMs) };
}

/** Returns the authenticators that wait to be enrolled and are not polled yet, each with its first poll. */
export function withPollDue(keys: readonly SecurityKey[], { now, intervals }: Clock): readonly SecurityKey[] {
  const at = plus(now(), intervals.enrollmentPoll.minMs);
  return keys
    .filter(key => isOnSite(key) && key.state === "processing" && key.enrollment === undefined)
    .map(key => ({ ...key, enrollment: firstAttempt(at), due: { queue: queueOf(key), at, peer: preRegistrationApi } }));
}
