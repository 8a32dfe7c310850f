import type { RequestEvent } from "../../../lib/connector/events/event.ts";
import type { EventType } from "../../../lib/connector/model/states.ts";

const request = {
  requestId: "2f1d2c3b-9a8e-4d7c-b6a5-e4d3c2b1a099",
  shipmentId: "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
};
const key = { ...request, keyId: "s-01-001" };

/**
 * One event of each type, all of one request, whose keys replace another one: its first credential becomes active and is revoked, its second one fails. Its parcel has both
 * ends.
 */
export const eventExamples: Readonly<Record<EventType, RequestEvent>> = {
  "request.started": {
    ...request,
    type: "request.started",
    replaces: {
      requestId: "7c9e6679-7425-40de-944b-e07fc1f90ae7",
      keyId: "s-01-001",
      reason: "lost",
      revoke: "when_active",
    },
    sequence: 1,
    at: "2026-01-05T09:00:00.000Z",
  },
  "key.shipped": { ...key, type: "key.shipped", sequence: 2, at: "2026-01-07T14:05:00.000Z" },
  "credential.active": {
    ...key,
    type: "credential.active",
    credential: 1,
    idpId: "entra",
    sequence: 3,
    at: "2026-01-07T14:10:00.000Z",
  },
  "credential.failed": {
    ...key,
    type: "credential.failed",
    credential: 2,
    idpId: "pingone",
    sequence: 4,
    at: "2026-01-07T14:10:00.000Z",
  },
  "request.ended": {
    ...request,
    type: "request.ended",
    state: "partial",
    sequence: 5,
    at: "2026-01-07T14:10:00.000Z",
  },
  "pin_mail.given_up": {
    ...key,
    type: "pin_mail.given_up",
    mail: 1,
    errorCode: "EmailDroppedAllRecipientsSuppressed",
    sequence: 6,
    at: "2026-01-08T14:11:00.000Z",
  },
  "pin_mail.sent": { ...key, type: "pin_mail.sent", mail: 2, sequence: 7, at: "2026-01-09T08:00:00.000Z" },
  "key.delivery_failed": {
    ...key,
    type: "key.delivery_failed",
    state: "exception",
    sequence: 8,
    at: "2026-01-10T12:30:00.000Z",
  },
  "key.delivered": { ...key, type: "key.delivered", sequence: 9, at: "2026-01-12T10:15:00.000Z" },
  "credential.revoked": {
    ...key,
    type: "credential.revoked",
    credential: 1,
    idpId: "entra",
    sequence: 10,
    at: "2026-03-02T16:20:00.000Z",
  },
};
