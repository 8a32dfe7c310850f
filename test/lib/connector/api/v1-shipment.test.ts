import { describe, expect, it } from "vitest";
import { createShipmentBodyV1, readShipmentV1 } from "../../../../lib/connector/api/v1-shipment.ts";
import { createRequest } from "../../../../lib/connector/create/create-request.ts";
import {
  caller,
  newUser,
  peersOfFile,
  refusalOf,
  type TestConnector,
  testConnector,
} from "../../../support/connector/test-connector.ts";
import { altered } from "./bodies.ts";
import { shipmentBodyV1 } from "./shipment-body-v1.ts";

const peers = await peersOfFile();

const order = async (connector: TestConnector, body: object): Promise<{ requestId: string; shipmentId: string }> => {
  const made = await createRequest(createShipmentBodyV1.parse(body), { caller }, connector.context);
  return { requestId: made.requestId, shipmentId: made.shipmentId ?? "" };
};

async function read(connector: TestConnector, { requestId, shipmentId }: { requestId: string; shipmentId: string }) {
  const { request, keys } = await connector.load(requestId);
  return readShipmentV1(shipmentId, { request, keys }, connector.now());
}

const mailsTo = (to: string) => peers.mail.mails().filter(mail => mail.to.includes(to));

// test/functions/connector/violations.test.ts has what is refused.
describe("version 1 shipments (specification sections 2 and 4)", () => {
  it("are activated and mailed by process-shipments, to the recipient where no list is given", async () => {
    const connector = await testConnector(peers);
    const to = newUser();
    const made = await order(connector, shipmentBodyV1(to));
    expect(await read(connector, made)).toEqual({ shipment_id: made.shipmentId, shipment_state: "ongoing" });
    await connector.runShipments();
    expect(await read(connector, made)).toEqual({ shipment_id: made.shipmentId, shipment_state: "complete" });
    expect(mailsTo(to)).toHaveLength(1);
  });

  it("make as many keys as the quantity, each with its own credential, PIN and mail", async () => {
    const connector = await testConnector(peers);
    const to = newUser();
    const made = await order(connector, shipmentBodyV1(to, 3));
    await connector.runShipments();
    expect((await connector.load(made.requestId)).keys.map(key => [key.id, key.state])).toEqual([
      ["s-01-001", "complete"],
      ["s-01-002", "complete"],
      ["s-01-003", "complete"],
    ]);
    expect(new Set(mailsTo(to).map(({ subject }) => subject)).size).toBe(3);
  });

  it.each([
    ["the recipient's address", undefined, "delivery_shipment_request.recipient.recipient_email"],
    ["the list's", { emails_to: ["one@example.com", "two@elsewhere.org"] }, "enrollment_contacts.emails_to[1]"],
  ])("name %s as they wrote it where PIN emails may not go there", async (_, contacts, path) => {
    const connector = await testConnector(peers, { settings: { PIN_MAIL_DOMAINS: "example.com" } });
    const body = { ...shipmentBodyV1("ada@elsewhere.org"), ...(contacts && { enrollment_contacts: contacts }) };
    expect(await refusalOf(order(connector, body))).toMatchObject({
      status: 400,
      body: { error_data: { fields: [{ path, reason: "is not in a domain that PIN emails may go to" }] } },
    });
    expect(await connector.queue("reconcile")).toEqual([]);
  });

  it("name the PIN once where it is shorter than the deployment allows", async () => {
    const connector = await testConnector(peers, { settings: { PIN_MIN_LENGTH: "63" } });
    const body = shipmentBodyV1();
    const path = "pin_request.length";
    const quantity = "delivery_shipment_request.shipment_items[0].product_quantity";
    expect(await refusalOf(order(connector, altered(body, { [quantity]: 3 })))).toMatchObject({
      status: 400,
      body: { error_data: { fields: [{ path, reason: "must be at least 63, the shortest PIN of this deployment" }] } },
    });
  });

  it.each([
    [1, undefined],
    [6, undefined],
    [7, undefined],
    [8, "The delivery service reports: Error: Processing Error, contact Support"],
    [9, "The delivery service reports: Error: DPL Match"],
    [99, "The delivery service reports: Error: Shipping error, contact Support"],
  ])(
    "are in processing error only by the delivery service's errors, and open in the others: state %i",
    async (state, message) => {
      const connector = await testConnector(peers);
      const made = await order(connector, shipmentBodyV1());
      await peers.delivery.control(made.shipmentId, { state });
      await connector.runShipments();
      expect(await read(connector, made)).toEqual({
        shipment_id: made.shipmentId,
        shipment_state: "ongoing",
        ...(message !== undefined && { error_kind: "GENERAL", error_message: message }),
      });
      // Version 2 reports both.
      expect(await connector.read(made.requestId)).toMatchObject({
        error_message: expect.stringContaining("The delivery service reports"),
      });
    },
  );
});
