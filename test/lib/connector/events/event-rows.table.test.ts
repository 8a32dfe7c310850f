import { expect, test } from "vitest";
import { createBodyV2 } from "../../../../lib/connector/api/body-to-draft.ts";
import {
  type EventDelivery,
  nothingDone,
  type RequestEvent,
  withDelivered,
  withGivenUp,
} from "../../../../lib/connector/events/event.ts";
import { toDeliveryRow, toEventRow } from "../../../../lib/connector/events/event-rows.table.ts";
import { occurrencesBetween } from "../../../../lib/connector/events/occurrences.ts";
import type { CredentialRequest } from "../../../../lib/connector/model/request.ts";
import type { SecurityKey } from "../../../../lib/connector/model/security-key.ts";
import { instant } from "../../../../lib/platform/time.ts";
import { orderBody } from "../../../support/connector/test-connector.ts";

/** The largest number of UTF-16 units of a column. */
const maxLength = 32_768;
const longest = (row: object) => Math.max(...Object.values(row).map(column => String(column).length));
const at = instant(0);
/** The longest id of a default IdP. A body names IdPs by at most 64 characters. */
const idpId = "i".repeat(109);
/** The longest shipment id that the connector takes from the delivery service. */
const shipmentId = "s".repeat(128);

/** The largest request that a create accepts: 50 keys with 2 credentials each. */
function largestRequest() {
  const { recipient, emailsTo, keys } = createBodyV2.parse(orderBody(Array.from({ length: 50 }, () => 2)));
  const request: CredentialRequest = {
    id: "2f1d2c3b-9a8e-4d7c-b6a5-e4d3c2b1a099",
    origin: "v2",
    state: "started",
    createdAt: at,
    recipient,
    emailsTo,
    attempts: 0,
    delivery: { sentAt: at, shipment: { id: shipmentId, tentative: true } },
  };
  const before = keys.map(
    ({ id, provisioning, credentials }): SecurityKey => ({
      id,
      provisioning,
      state: "processing",
      credentials: credentials.map(({ userId }) => ({ idpId, userId, state: "processing" })),
      mail: { state: "due", number: 999 },
    }),
  );
  return { request, keys: before };
}

test("a change that starts and ends the largest request, and everything in between, is one row within its limits", () => {
  const before = largestRequest();
  const keys = before.keys.map(
    (key, index): SecurityKey => ({
      ...key,
      state: "failed",
      credentials: key.credentials.map(credential => ({ ...credential, state: "failed" })),
      // The PIN emails of several security keys never end in one change.
      mail: index === 0 ? { state: "given_up", number: 999, errorCode: "E".repeat(64) } : key.mail,
    }),
  );
  const request: CredentialRequest = {
    ...before.request,
    state: "failed",
    delivery: { sentAt: at, shipment: { id: shipmentId, shippedAt: at, stateId: 106 } },
  };
  const events = occurrencesBetween(before, { request, keys });
  expect(events).toHaveLength(203);
  const names = {
    customerReference: "r".repeat(255),
    externalId: "e".repeat(255),
    tracking: { number: "t".repeat(64), link: `https://${"l".repeat(492)}` },
    serials: Object.fromEntries(keys.map(({ id }) => [id, "s".repeat(64)])),
  };
  const some = events.map(event => ({ ...event, sinks: [1, 2, 3, 4] }));
  const row = toEventRow({ first: 100_000, at, sinks: [1, 2, 3, 4, 5], shipmentId, ...names, events: some });
  expect(longest(row)).toBeLessThan(maxLength);
});

test("the row of a delivery keeps within its limits, however many events are delivered or given up", () => {
  let delivery: EventDelivery = nothingDone;
  const event: RequestEvent = { requestId: "", type: "request.started", at, sequence: 100_000 };
  for (let sequence = 100_001; sequence <= 102_000; sequence += 2) {
    delivery = withDelivered(delivery, { ...event, sequence }, at);
    delivery = withGivenUp(delivery, { ...event, sequence: sequence + 1 });
  }
  const retry = { attempts: 999, nextAt: at, notBefore: at, lastError: "e".repeat(500) };
  const row = toDeliveryRow(5, { ...delivery, retry, lease: { owner: "o".repeat(16), until: at } });
  expect(longest(row)).toBeLessThan(maxLength);
  expect(delivery.givenUp).toHaveLength(500);
  expect(delivery.givenUp.at(-1)).toBe(102_000);
  expect(Object.keys(delivery.deliveredAt)).toHaveLength(500);
  expect(Object.keys(delivery.deliveredAt).at(-1)).toBe("101999");
});
