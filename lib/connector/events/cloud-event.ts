import { omitUndefined } from "../../platform/collections.ts";
import { replacesFields } from "../model/revocation.ts";
import type { CloudEvent } from "./cloud-event-schemas.ts";
import { eventId, eventName, eventSource, type RequestEvent } from "./event.ts";

/** The content type of an event on the wire. */
export const eventContentType = "application/cloudevents+json; charset=utf-8";

/** Returns an event as it is sent. */
export function cloudEventOf(event: RequestEvent): CloudEvent {
  const { requestId, type, at, sequence, keyId: key, credential, idpId, mail, errorCode, state, replaces } = event;
  const states = {
    "request.started": "started",
    "key.delivered": "delivered",
    "credential.active": "active",
    "credential.failed": "failed",
  } as const;
  return {
    specversion: "1.0",
    id: eventId(event),
    source: eventSource,
    type: eventName(type),
    subject: requestId,
    time: at,
    sequence: String(sequence).padStart(6, "0"),
    datacontenttype: "application/json",
    data: omitUndefined({
      credential_request_id: requestId,
      shipment_id: event.shipmentId,
      customer_reference: event.customerReference,
      external_id: event.externalId,
      tracking: event.tracking,
      key_id: key,
      serial_number: event.serial,
      credential,
      idp_id: idpId,
      mail,
      error_code: errorCode,
      replaces: replaces && replacesFields(replaces),
      state: state ?? (type in states ? states[type as keyof typeof states] : undefined),
    }),
  } as CloudEvent;
}
