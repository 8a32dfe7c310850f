import { describe, expect, test } from "vitest";
import { cloudEventOf } from "../../../../lib/connector/events/cloud-event.ts";
import { eventId, type Occurrence } from "../../../../lib/connector/events/event.ts";
import { occurrencesBetween } from "../../../../lib/connector/events/occurrences.ts";
import type { Credential } from "../../../../lib/connector/model/credential.ts";
import type { CredentialRequest, Delivery, Shipment } from "../../../../lib/connector/model/request.ts";
import type { SecurityKey } from "../../../../lib/connector/model/security-key.ts";
import { eventTypes } from "../../../../lib/connector/model/states.ts";
import { cloudEventSchemas } from "../../../../local/generate/asyncapi/cloud-event-schemas.ts";

const at = "2026-01-01T00:00:00.000Z";
const shipment = { id: "ship-1" };
const delivery: Delivery = { sentAt: at, shipment };

const request = (changes: Partial<CredentialRequest> = {}): CredentialRequest => ({
  id: "2f1d2c3b-9a8e-4d7c-b6a5-e4d3c2b1a099",
  origin: "v2",
  state: "started",
  createdAt: at,
  recipient: { email: "a@example.com", firstName: "A", lastName: "B", company: "", telephone: "1", externalId: "a" },
  emailsTo: ["a@example.com"],
  attempts: 0,
  delivery,
  ...changes,
});

const key = (id: string, states: readonly Credential["state"][], changes: Partial<SecurityKey> = {}): SecurityKey => ({
  id,
  provisioning: id.startsWith("s") ? "shipped" : "on_site",
  state: "processing",
  credentials: states.map(state => ({ idpId: "entra", userId: "a@example.com", state })),
  mail: { state: "waiting", number: 0 },
  ...changes,
});

describe("the occurrences between two versions of a request", () => {
  test("are none if only a lease, an attempt or a message has changed", () => {
    const before = { request: request(), keys: [key("s-01-001", ["processing"])] };
    const lease = { owner: "run", until: at };
    const after = {
      request: request({ lease, attempts: 3, errorMessage: "The delivery service did not answer" }),
      keys: [key("s-01-001", ["activation_pending"], { lease, mail: { state: "due", number: 1, triedAt: at } })],
    };
    expect(occurrencesBetween(before, after)).toEqual([]);
  });

  test("begin with the start and end with the end of the request", () => {
    const before = { request: request({ state: "received" }), keys: [key("a-01", ["activation_pending"])] };
    const after = { request: request({ state: "complete" }), keys: [key("a-01", ["active"])] };
    const started = { request: request({ state: "started" }), keys: before.keys };
    expect(occurrencesBetween(before, started)).toEqual([{ type: "request.started" }]);
    expect(occurrencesBetween(started, after)).toEqual([
      { type: "credential.active", keyId: "a-01", credential: 1, idpId: "entra" },
      { type: "request.ended", state: "complete" },
    ]);
  });

  test("name each shipped key once, and no authenticator", () => {
    const keys = [key("s-01-001", ["processing"]), key("s-02-001", ["processing"]), key("a-01", ["processing"])];
    const shipped = request({ delivery: { ...delivery, shipment: { ...shipment, stateId: 103, shippedAt: at } } });
    const tracked = { ...shipment, stateId: 103, shippedAt: at, tracking: { number: "1" } };
    const again = request({ delivery: { ...delivery, shipment: tracked } });
    expect(occurrencesBetween({ request: request(), keys }, { request: shipped, keys })).toEqual([
      { type: "key.shipped", keyId: "s-01-001" },
      { type: "key.shipped", keyId: "s-02-001" },
    ]);
    expect(occurrencesBetween({ request: shipped, keys }, { request: again, keys })).toEqual([]);
  });

  test.each([
    [104, { type: "key.delivered" }],
    [105, { type: "key.delivery_failed", state: "lost" }],
    [106, { type: "key.delivery_failed", state: "exception" }],
  ])("have the end of the delivery of each shipped key once, in state %i", (stateId, end) => {
    const keys = [key("s-01-001", ["active"]), key("s-02-001", ["active"]), key("a-01", ["active"])];
    const of = (changes: Partial<Shipment>) => ({
      request: request({ state: "complete", delivery: { ...delivery, shipment: { ...shipment, ...changes } } }),
      keys,
    });
    const [none, shipped, ended] = [of({}), of({ shippedAt: at }), of({ shippedAt: at, stateId, endedAt: at })];
    const events = ["s-01-001", "s-02-001"].map(keyId => ({ keyId, ...end }));
    expect(occurrencesBetween(shipped, ended)).toEqual(events);
    expect(occurrencesBetween(none, ended)).toEqual(
      events.flatMap(event => [{ type: "key.shipped", keyId: event.keyId }, event]),
    );
    expect(occurrencesBetween(ended, ended)).toEqual([]);
    expect(occurrencesBetween(shipped, of({ shippedAt: at, endedAt: at }))).toEqual([]);
  });

  test("have neither start nor shipment while the shipment is linked tentatively, and both when the link is confirmed", () => {
    const keys = [key("s-01-001", ["processing"])];
    const tentative = request({ delivery: { ...delivery, shipment: { ...shipment, tentative: true, shippedAt: at } } });
    const confirmed = request({ delivery: { ...delivery, shipment: { ...shipment, shippedAt: at } } });
    const received = request({ state: "received" });
    expect(occurrencesBetween({ request: received, keys }, { request: tentative, keys })).toEqual([]);
    expect(
      occurrencesBetween({ request: tentative, keys }, { request: confirmed, keys }).map(({ type }) => type),
    ).toEqual(["request.started", "key.shipped"]);
    expect(occurrencesBetween({ request: tentative, keys }, { request: received, keys })).toEqual([]);
  });

  test("have the start of a request whose link is confirmed when it ends, and none of one that ends without a start", () => {
    const tentative = request({ delivery: { ...delivery, shipment: { ...shipment, tentative: true } } });
    const [before, after] = [[key("s-01-001", ["processing"])], [key("s-01-001", ["failed"])]];
    const typesFrom = (from: CredentialRequest, to: CredentialRequest) =>
      occurrencesBetween({ request: from, keys: before }, { request: to, keys: after }).map(({ type }) => type);
    const ended = ["credential.failed", "request.ended"];
    expect(typesFrom(tentative, request({ state: "failed" }))).toEqual(["request.started", ...ended]);
    expect(typesFrom(tentative, { ...tentative, state: "failed" })).toEqual(ended);
    expect(typesFrom(request(), request({ state: "failed" }))).toEqual(ended);
    expect(typesFrom(request({ state: "received" }), request({ state: "failed" }))).toEqual(ended);
  });

  test.each([{}, { mayBeRegistered: true as const }])("say of a failed credential whether it may work: %j", doubt => {
    const [before, after] = [key("a-01", ["activation_pending"]), key("a-01", ["failed"])];
    const credentials = after.credentials.map(credential => ({ ...credential, ...doubt }));
    expect(
      occurrencesBetween(
        { request: request(), keys: [before] },
        { request: request(), keys: [{ ...after, credentials }] },
      ),
    ).toEqual([{ type: "credential.failed", keyId: "a-01", credential: 1, idpId: "entra", ...doubt }]);
  });

  test("have no event for a cancelled credential, and one for the end of the request", () => {
    const before = { request: request(), keys: [key("s-01-001", ["processing", "processing"])] };
    const after = { request: request({ state: "cancelled" }), keys: [key("s-01-001", ["cancelled", "cancelled"])] };
    expect(occurrencesBetween(before, after)).toEqual([{ type: "request.ended", state: "cancelled" }]);
  });

  test.each(["sent", "given_up"] as const)("have the number of a PIN email that is %s", state => {
    const keys = (mail: SecurityKey["mail"]) => [key("s-01-001", ["active"], { mail })];
    const before = { request: request(), keys: keys({ state: "due", number: 2 }) };
    const after = { request: request(), keys: keys({ state, number: 2 }) };
    expect(occurrencesBetween(before, after)).toEqual([{ type: `pin_mail.${state}`, keyId: "s-01-001", mail: 2 }]);
  });

  test("have the mail service's error code of a PIN email that is given up", () => {
    const errorCode = "DomainNotLinked";
    const keys = (mail: SecurityKey["mail"]) => [key("s-01-001", ["active"], { mail })];
    const before = { request: request(), keys: keys({ state: "due", number: 1, errorCode }) };
    const after = { request: request(), keys: keys({ state: "given_up", number: 1, errorCode }) };
    expect(occurrencesBetween(before, after)).toEqual([
      { type: "pin_mail.given_up", keyId: "s-01-001", mail: 1, errorCode },
    ]);
  });
});

const details: Readonly<Record<(typeof eventTypes)[number], Omit<Occurrence, "type"> & { shipmentId?: string }>> = {
  "request.started": {},
  "key.shipped": { keyId: "s-01-001", shipmentId: "ship-1" },
  "key.delivered": { keyId: "s-01-001", shipmentId: "ship-1" },
  "key.delivery_failed": { keyId: "s-01-001", shipmentId: "ship-1", state: "lost" },
  "credential.active": { keyId: "s-01-001", credential: 1, idpId: "entra" },
  "credential.failed": { keyId: "s-01-001", credential: 2, idpId: "entra", mayBeRegistered: true },
  "credential.revoked": { keyId: "s-01-001", credential: 1, idpId: "entra" },
  "pin_mail.sent": { keyId: "s-01-001", mail: 1 },
  "pin_mail.given_up": { keyId: "s-01-001", mail: 1, errorCode: "DomainNotLinked" },
  "request.ended": { state: "partial" },
};
const event = (type: (typeof eventTypes)[number]) => ({
  ...details[type],
  type,
  requestId: request().id,
  sequence: 7,
  at,
});

test.each(eventTypes)("an event of type %s has the members that its schema describes, and no other", type => {
  const sent = cloudEventOf(event(type));
  expect(cloudEventSchemas[type].parse(sent)).toEqual(sent);
  expect(sent).toMatchObject({ specversion: "1.0", subject: request().id, sequence: "000007", time: at });
  expect(sent.data).toMatchObject({ credential_request_id: request().id });
});

test("the id of an event depends on what happened, and not on time or position", () => {
  const sent = event("pin_mail.sent");
  expect(eventId({ ...sent, sequence: 9, at: "2027-01-01T00:00:00.000Z" } as typeof sent)).toBe(eventId(sent));
  const others = [
    { ...sent, mail: 2 },
    { ...sent, keyId: "s-01-002" },
    { ...sent, requestId: "other" },
    { ...event("request.ended"), state: "complete" as const },
    ...eventTypes.map(event),
  ];
  expect(new Set(others.map(eventId)).size).toBe(others.length);
});
