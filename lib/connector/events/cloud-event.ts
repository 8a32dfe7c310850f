import { omitUndefined } from "../../platform/collections.ts";
import { replacesFields } from "../model/revocation.ts";
import type { EventType } from "../model/states.ts";
import { eventId, type RequestEvent } from "./event.ts";

/** The content type of an event on the wire. */
export const eventContentType = "application/cloudevents+json; charset=utf-8";

/** The `source` of every event. */
export const eventSource = "/v2/credential-requests";

/** Returns the type of an event on the wire. */
export const eventName = <T extends EventType>(type: T): `fido-connector.${T}` => `fido-connector.${type}`;

/** The state of what an event is about, if its type says it. */
const stateOfType: Partial<Record<EventType, string>> = {
  "request.started": "started",
  "key.delivered": "delivered",
  "credential.active": "active",
  "credential.failed": "failed",
};

/** An event on the wire: CloudEvents 1.0 in structured JSON. */
export type CloudEvent = ReturnType<typeof cloudEventOf>;

/** Returns an event as it is sent. */
export const cloudEventOf = (event: RequestEvent) => ({
  specversion: "1.0",
  id: eventId(event),
  source: eventSource,
  type: eventName(event.type),
  subject: event.requestId,
  time: event.at,
  sequence: String(event.sequence).padStart(6, "0"),
  datacontenttype: "application/json",
  data: omitUndefined({
    credential_request_id: event.requestId,
    shipment_id: event.shipmentId,
    customer_reference: event.customerReference,
    external_id: event.externalId,
    tracking: event.tracking,
    key_id: event.keyId,
    serial_number: event.serial,
    credential: event.credential,
    idp_id: event.idpId,
    may_be_registered: event.mayBeRegistered,
    mail: event.mail,
    error_code: event.errorCode,
    replaces: event.replaces && replacesFields(event.replaces),
    state: event.state ?? stateOfType[event.type],
  }),
});
