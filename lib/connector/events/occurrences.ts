import { omitUndefined } from "../../platform/collections.ts";
import type { RequestValues } from "../model/loaded-request.ts";
import type { CredentialRequest } from "../model/request.ts";
import { externalIdOf } from "../model/request-lists.ts";
import { isOnSite, type SecurityKey } from "../model/security-key.ts";
import { deliveryStateOf, newDeliveryState } from "../model/shipment.ts";
import { type EventType, isTerminal } from "../model/states.ts";
import type { EventNames, endStates, Occurrence, RecordedEvents } from "./event.ts";
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
  return credentials.flatMap(({ state, revocation, idpId }, index): Occurrence[] => {
    const former = before.credentials[index];
    const of = { keyId, credential: index + 1, idpId };
    const isNew = state !== former?.state && (state === "active" || state === "failed");
    const isRevoked = revocation?.state === "revoked" && former?.revocation?.state !== "revoked";
    return [
      ...(isNew ? [{ type: `credential.${state}`, ...of } as const] : []),
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

/** Returns the names of a request for its events. An external id that is the email by default is left out. */
export function namesOf({ request, keys }: RequestValues, occurrences: readonly Occurrence[]): EventNames {
  const { recipient, shipment, delivery } = request;
  const named = new Set(occurrences.map(({ keyId }) => keyId));
  const serials = keys.flatMap(({ id, serial }) => (serial === undefined || !named.has(id) ? [] : [[id, serial]]));
  return omitUndefined({
    customerReference: shipment?.customerReference,
    externalId: externalIdOf(recipient),
    tracking: delivery?.shipment?.tentative === true ? undefined : delivery?.shipment?.tracking,
    serials: serials.length === 0 ? undefined : Object.fromEntries(serials),
  });
}

/** Returns the occurrences with the sinks that want them, and all sinks that want some of them. */
export function forSinks(
  occurrences: readonly Occurrence[],
  sinks: readonly Pick<EventSink, "number" | "types">[],
): Pick<RecordedEvents, "sinks" | "events"> {
  const numbersFor = (wanted: readonly EventType[]) =>
    sinks
      .filter(({ types }) => types === undefined || wanted.some(type => types.includes(type)))
      .map(({ number }) => number);
  const all = numbersFor(occurrences.map(({ type }) => type));
  const events = occurrences.map(occurrence => {
    const some = numbersFor([occurrence.type]);
    return some.length === all.length ? occurrence : { ...occurrence, sinks: some };
  });
  return { sinks: all, events };
}
