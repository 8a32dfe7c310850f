import { readFileSync } from "node:fs";
import { cloudEventOf } from "../../../../lib/connector/events/cloud-event.ts";
import type { Examples } from "../operation.ts";
import { statusV1, statusV2 } from "./connector-status.ts";
import { connectorTokenExamples } from "./core.ts";

const read = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../../../docs/examples/${name}`, import.meta.url), "utf8"));

const id = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
const request = { credential_request_id: id };
const shipment = { shipment_id: "4711" };
const idempotent = { "Idempotency-Key": "REQ0012345" };

const credentials = ["ada.lovelace@example.com", "ada.admin@example.com"].map(user_id => ({
  idp_id: "entra",
  relying_party_id: "login.microsoft.com",
  user_id,
  state: "processing",
}));
const key = { id: "s-01-001", name: "Ada Key", state: "processing", credentials };
const requestView = {
  credential_request_id: id,
  state: "started",
  shipment: {
    shipment_id: "4711",
    customer_reference: "REQ0012345",
    shipment_items: [key],
    mailing_address: {
      street_line1: "12 Analytical Way",
      postal_code: "02026",
      city: "Dedham",
      region: "MA",
      country_code: "US",
    },
  },
};
const readView = { ...requestView, enrollment_contacts: { emails_to: ["ada.manager@example.com"] } };
/** Returns the request in another state, with changes of its shipment, its key and each of its credentials. */
const changed = (state: string, shipment: object, ofKey: object, ofCredential: (index: number) => object) => ({
  ...readView,
  state,
  shipment: {
    ...requestView.shipment,
    ...shipment,
    shipment_items: [
      { ...key, state, ...ofKey, credentials: credentials.map((each, index) => ({ ...each, ...ofCredential(index) })) },
    ],
  },
});

const credentialCancelled = { state: "cancelled", error_message: "The request was cancelled." };
const cancelled = changed("cancelled", {}, {}, () => credentialCancelled);

const revocation = {
  reason: "requested",
  requested_at: "2026-03-02T16:20:00.000Z",
  revoked_at: "2026-03-02T16:20:01.000Z",
  failed_attempts: 0,
};
/** Returns the answer of a revocation of so many credentials. */
const revoked = (count: number) => {
  const tracking = { number: "1Z999AA10123456784", link: "https://tracking.example.com/1Z999AA10123456784" };
  const delivery = { state: "in_transit", shipped_at: "2026-01-07T14:05:00.000Z" };
  const data = changed("complete", { tracking, delivery }, { serial_number: "30000001" }, index => ({
    ...(index < count ? { state: "revoked", revocation } : { state: "active" }),
  }));
  return { status: 200, answer: { data } };
};

const started = cloudEventOf({
  requestId: id,
  shipmentId: shipment.shipment_id,
  customerReference: "REQ0012345",
  type: "request.started",
  sequence: 1,
  at: "2026-01-31T10:00:00.000Z",
});
const { id: eventId, type, time, sequence, data } = started;
const startedEvent = { id: eventId, type, time, sequence, data };
const delivered = { state: "delivered", delivered_at: "2026-01-31T10:00:02.000Z" };

/** Examples of the connector. The request is that of docs/examples/connector-order-v2.json. */
export const connectorExamples: Examples = {
  v2CreateCredentialRequest: {
    headers: idempotent,
    body: read("connector-order-v2.json"),
    status: 201,
    answer: { data: { credential_request_id: id, shipment_id: "4711" } },
  },
  v2GetCredentialRequest: { params: request, status: 200, answer: { data: readView } },
  v2ListCredentialRequests: {
    query: { state: "started", user_id: "ada.lovelace@example.com", $top: "1" },
    status: 200,
    answer: [{ ...requestView, created_at: "2026-01-31T10:00:00.000Z" }],
  },
  v2ListSecurityKeys: {
    query: { user_id: "ada.lovelace@example.com", state: "active", $top: "1" },
    status: 200,
    answer: [
      {
        credential_request_id: id,
        key_id: "s-01-001",
        credential: 1,
        serial_number: "30000001",
        firmware: "5.7.4",
        aaguid: "5a1e7c3d-0b6f-4d92-9c48-e3f1a27b6d05",
        idp_id: "entra",
        user_id: "ada.lovelace@example.com",
        state: "active",
        ordered_at: "2026-01-31T10:00:00.000Z",
        activated_at: "2026-02-03T11:00:00.000Z",
      },
    ],
  },
  v2ListCredentialRequestEvents: {
    params: request,
    status: 200,
    answer: {
      data: [{ ...startedEvent, deliveries: [{ sink: 1, ...delivered }] }],
      sinks: [{ sink: 1, state: "active" }],
    },
  },
  v2ResendEvent: {
    params: { ...request, event_id: startedEvent.id },
    body: { sink: 1 },
    status: 200,
    answer: { data: { sink: 1, delivered: true, delivered_at: delivered.delivered_at } },
  },
  v2ResendEvents: {
    body: { sink: 1, since: "2026-01-31T00:00:00Z" },
    status: 200,
    answer: { data: { requests: 1, events: 4, left: 0, is_complete: true } },
  },
  v2CancelCredentialRequest: { params: request, status: 200, answer: { data: cancelled } },
  v2RevokeCredentialRequest: { params: request, ...revoked(2) },
  v2RevokeSecurityKey: { params: { ...request, key_id: "s-01-001" }, ...revoked(2) },
  v2RevokeCredential: {
    params: { ...request, key_id: "s-01-001", credential: "1" },
    body: { not_registered: false },
    ...revoked(1),
  },
  v2OffboardPerson: {
    body: { user_id: "ada.lovelace@example.com", dry_run: true },
    status: 200,
    answer: {
      data: {
        is_complete: false,
        matched: 1,
        credentials: [
          {
            credential_request_id: id,
            key_id: "s-01-001",
            credential: 1,
            idp_id: "entra",
            user_id: "ada.lovelace@example.com",
            serial_number: "30000001",
            state: "active",
            action: "revoke",
          },
        ],
      },
    },
  },
  v2GetStatus: { status: 200, answer: statusV2 },
  v2ProcessShipments: { status: 204 },
  v2ProcessCredentialRequests: {
    status: 200,
    answer: { data: { processed: 2, activated: 2, failed: 0, pending: 0 } },
  },
  v2ResendPin: { params: request, status: 200, answer: { data: { sent: 1, unsent: [] } } },
  v1CreateCredentialRequest: {
    headers: idempotent,
    body: {
      recipient: { firstname: "Ada", lastname: "Lovelace", email: "ada.lovelace@example.com" },
      credentials: [{ user_id: "ada.lovelace@example.com" }],
      pin_request: { min_length: 6, entry_method: "generated" },
      enrollment_contacts: { emails_to: ["ada.manager@example.com"] },
    },
    status: 201,
    answer: { data: request },
  },
  v1CreateShipment: {
    headers: idempotent,
    body: read("connector-order-v1.json"),
    status: 201,
    answer: { data: shipment },
  },
  v1GetShipment: { params: shipment, status: 200, answer: { shipment_id: "4711", shipment_state: "ongoing" } },
  v1GetCredentialRequest: {
    params: request,
    status: 200,
    answer: {
      credential_request_id: id,
      credential_request_state: "started",
      credentials: credentials.map(({ state, ...credential }) => ({ ...credential, credential_state: state })),
    },
  },
  v1GetStatus: { status: 200, answer: statusV1 },
  v1ProcessShipments: { status: 204 },
  v1ProcessCredentialRequests: { status: 204 },
  v1ResendPin: { params: request, status: 204 },
  v1ResendPinOfShipment: { params: shipment, status: 204 },
  ...connectorTokenExamples,
};
