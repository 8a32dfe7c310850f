import type { CredentialRequest, RequestValues, SecurityKey } from "../model/request.ts";
import { isTerminal } from "../model/states.ts";
import type { endStates, Occurrence } from "./event.ts";

/**
 * Returns what happened between two versions of a request, in the order of its events: the start of the request, then
 * its security keys in the order of the request, then its end.
 */
export function occurrencesBetween(before: RequestValues, after: RequestValues): readonly Occurrence[] {
  const { request } = after;
  const hasShipped = isShipped(request) && !isShipped(before.request);
  const ofKeys = after.keys.flatMap((key): Occurrence[] => {
    const former = before.keys.find(({ id }) => id === key.id) ?? key;
    const shipped: Occurrence[] =
      hasShipped && key.provisioning === "shipped" ? [{ type: "key.shipped", keyId: key.id }] : [];
    return [...shipped, ...ofCredentials(former, key), ...ofMail(former, key)];
  });
  const started: Occurrence[] = hasStarted(before.request, request) ? [{ type: "request.started" }] : [];
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

/** Returns whether the shipment was shipped, and is certainly the shipment of this request. */
const isShipped = ({ delivery }: CredentialRequest): boolean =>
  delivery?.shipment?.shippedAt !== undefined && delivery.shipment.tentative !== true;

function ofCredentials(before: SecurityKey, { id: keyId, credentials }: SecurityKey): readonly Occurrence[] {
  return credentials.flatMap(({ state, idpId }, index): Occurrence[] => {
    if (state === before.credentials[index]?.state || (state !== "active" && state !== "failed")) return [];
    return [{ type: `credential.${state}`, keyId, credential: index + 1, idpId }];
  });
}

function ofMail(before: SecurityKey, { id: keyId, mail }: SecurityKey): readonly Occurrence[] {
  if (mail.state === before.mail.state || (mail.state !== "sent" && mail.state !== "given_up")) return [];
  const { state, number, errorCode } = mail;
  if (state === "sent" || errorCode === undefined) return [{ type: `pin_mail.${state}`, keyId, mail: number }];
  return [{ type: `pin_mail.${state}`, keyId, mail: number, errorCode }];
}
