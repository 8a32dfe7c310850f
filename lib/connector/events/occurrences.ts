import { omitUndefined } from "../../platform/collections.ts";
import type { Instant } from "../../platform/time.ts";
import type { RequestValues } from "../model/loaded-request.ts";
import { type CredentialRequest, shipmentIdOf } from "../model/request.ts";
import { externalIdOf } from "../model/request-lists.ts";
import { isOnSite, type SecurityKey } from "../model/security-key.ts";
import { deliveryStateOf, newDeliveryState } from "../model/shipment.ts";
import { isTerminal } from "../model/states.ts";
import type { endStates, Occurrence, RecordedEvents } from "./event.ts";
import type { EventSink } from "./event-sink.ts";

/**
 * Returns what happened between two versions of a request, in the order of its events: the start of the request, then
 * its security keys in the order of the request, then its end.
 */
export function occurrencesBetween(before: RequestValues, after: RequestValues): readonly Occurrence[] {
  const { request } = after;
  const delivery = newDeliveryState(before.request, request);
  const wasShipped = deliveryStateOf(before.request.delivery?.shipment) !== undefined;
  const ofDelivery: readonly Omit<Occurrence, "keyId">[] = [
    ...(delivery !== undefined && !wasShipped ? [{ type: "key.shipped" } as const] : []),
    ...deliveryEnd(delivery),
  ];
  const ofKeys = after.keys.flatMap((key): Occurrence[] => {
    const former = before.keys.find(({ id }) => id === key.id) ?? key;
    const delivered = isOnSite(key) ? [] : ofDelivery.map(({ type, ...end }) => ({ type, keyId: key.id, ...end }));
    return [...delivered, ...ofCredentials(former, key), ...ofMail(former, key)];
  });
  const { replaces } = request;
  const start: Occurrence = { type: "request.started", ...(replaces && { replaces }) };
  const started = hasStarted(before.request, request) ? [start] : [];
  const ended: Occurrence[] =
    isTerminal(request.state) && !isTerminal(before.request.state)
      ? [{ type: "request.ended", state: request.state as (typeof endStates)[number] }]
      : [];
  return [...started, ...ofKeys, ...ended];
}

/**
 * Returns whether a change certainly starts a request. A shipment that was found by look-up may belong to another
 * request until its link is confirmed, which can happen in the change that ends the request.
 */
const hasStarted = (before: CredentialRequest, after: CredentialRequest): boolean =>
  !isStarted(before) &&
  (isStarted(after) ||
    (before.state === "started" && isTerminal(after.state) && after.delivery?.shipment?.tentative !== true));

const isStarted = ({ state, delivery }: CredentialRequest): boolean =>
  state === "started" && delivery?.shipment?.tentative !== true;

function deliveryEnd(state: ReturnType<typeof deliveryStateOf>): readonly Omit<Occurrence, "keyId">[] {
  if (state === "delivered") return [{ type: "key.delivered" }];
  return state === "lost" || state === "exception" ? [{ type: "key.delivery_failed", state }] : [];
}

function ofCredentials(before: SecurityKey, { id: keyId, credentials }: SecurityKey): readonly Occurrence[] {
  return credentials.flatMap(({ state, revocation, idpId, mayBeRegistered }, index): Occurrence[] => {
    const former = before.credentials[index];
    const of = { keyId, credential: index + 1, idpId };
    const isNew = state !== former?.state && (state === "active" || state === "failed");
    const isRevoked = revocation?.state === "revoked" && former?.revocation?.state !== "revoked";
    return [
      ...(isNew ? [{ type: `credential.${state}`, ...of, ...(mayBeRegistered && { mayBeRegistered }) } as const] : []),
      ...(isRevoked ? [{ type: "credential.revoked", ...of } as const] : []),
    ];
  });
}

function ofMail(before: SecurityKey, { id: keyId, mail }: SecurityKey): readonly Occurrence[] {
  if (mail.state === before.mail.state || (mail.state !== "sent" && mail.state !== "given_up")) return [];
  const { state, number, errorCode } = mail;
  if (state === "sent" || errorCode === undefined) return [{ type: `pin_mail.${state}`, keyId, mail: number }];
  return [{ type: `pin_mail.${state}`, keyId, mail: number, errorCode }];
}

/**
 * Returns the events of a change for the sinks that want some of them. Undefined if there are none, or no sink is
 * configured.
 */
export function eventsOfChange(
  before: RequestValues,
  after: RequestValues,
  sinks: readonly Pick<EventSink, "number" | "types">[],
  at: Instant,
): RecordedEvents | undefined {
  if (sinks.length === 0) return undefined;
  const occurrences = occurrencesBetween(before, after);
  if (occurrences.length === 0) return undefined;
  const { request, keys } = after;
  const shipment = request.delivery?.shipment;
  const serials = keys.flatMap(({ id, serial }) =>
    serial !== undefined && occurrences.some(({ keyId }) => keyId === id) ? [[id, serial]] : [],
  );
  const sinksFor = (some: readonly Occurrence[]) =>
    sinks.filter(({ types }) => some.some(({ type }) => types?.includes(type) ?? true)).map(({ number }) => number);
  const all = sinksFor(occurrences);
  return omitUndefined({
    first: (before.request.eventCount ?? 0) + 1,
    at,
    sinks: all,
    shipmentId: shipmentIdOf(request),
    customerReference: request.shipment?.customerReference,
    // Undefined if it is the email by default.
    externalId: externalIdOf(request.recipient),
    tracking: shipment?.tentative === true ? undefined : shipment?.tracking,
    serials: serials.length === 0 ? undefined : Object.fromEntries(serials),
    events: occurrences.map(occurrence => {
      const some = sinksFor([occurrence]);
      return some.length === all.length ? occurrence : { ...occurrence, sinks: some };
    }),
  });
}
