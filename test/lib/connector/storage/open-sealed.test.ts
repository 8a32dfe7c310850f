import { describe, expect, test } from "vitest";
import { resendPin } from "../../../../lib/connector/pin/resend-pin.ts";
import { SealError } from "../../../../lib/platform/crypto.ts";
import { days, minutes } from "../../../../lib/platform/time.ts";
import {
  orderBody,
  peersOfFile,
  type TestConnector,
  testConnector,
  withoutPins,
} from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();

/** A connector on the same storage whose vault lacks the key version of the values with this row and purpose. */
const withUnreadable = (connector: TestConnector, row: string, purpose: string): TestConnector =>
  connector.anotherInstance({
    ports: ({ sealer }) => ({
      sealer: {
        ...sealer,
        open: async (sealed, context) => {
          if (context.row.endsWith(row) && context.purpose === purpose) throw new SealError("no such key version");
          return sealer.open(sealed, context);
        },
      },
    }),
  });

async function shipped(body = orderBody([1, 1])) {
  const connector = await testConnector(peers);
  const { requestId, shipmentId = "" } = await connector.order(body);
  await peers.delivery.control(shipmentId, { state: 104 });
  const items = async () => {
    const read = await connector.read(requestId);
    return read.shipment?.shipment_items.map(({ credentials }) => credentials[0]?.state);
  };
  return { connector, requestId, items };
}

describe("a response key that does not open", () => {
  test("does not hold back the other security keys of its shipment, and is tried again", async () => {
    const { connector, requestId, items } = await shipped();
    const other = withUnreadable(connector, ":s-01-001", "response-key-0");
    await other.runJobs();
    expect(await items()).toEqual(["processing", "active"]);
    const read = await connector.read(requestId);
    expect(read.shipment?.shipment_items[0]?.credentials[0]?.error_message).toBe(
      "The key maker's response cannot be used: its response key cannot be decrypted.",
    );
    expect(other.events("sealed_value_unreadable")).toMatchObject([
      { credentialRequestId: requestId, keyId: "s-01-001", purpose: "response-key-0", error: { name: "SealError" } },
    ]);
    expect(other.events("work_failed")).toEqual([]);

    connector.advance(minutes(10));
    await connector.runJobs();
    expect(await items()).toEqual(["active", "active"]);
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
  });

  test("does not unlink a shipment that was found by look-up", async () => {
    const connector = await testConnector(peers);
    peers.delivery.fail({ kind: "drop", phase: "after", method: "POST" });
    await connector.order(withoutPins(orderBody())).catch(() => {});
    const [{ requestId } = { requestId: "" }] = await connector.queue("reconcile");
    connector.advance(minutes(16));
    await connector.runCredentials();
    const { delivery } = await connector.requestRow(requestId);
    expect(delivery).toMatchObject({ shipment: { tentative: true } });
    await peers.delivery.control(delivery?.shipment?.id ?? "", { state: 104 });
    connector.advance(minutes(10));
    await withUnreadable(connector, ":s-01-001", "response-key-0").runShipments();
    expect((await connector.requestRow(requestId)).delivery).toMatchObject({ shipment: { tentative: true } });
    connector.advance(minutes(10));
    await connector.runJobs();
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
  });

  test("after its response was received, is tried again with back-off until retryable_until", async () => {
    const { connector, requestId, items } = await shipped();
    await connector.runShipments();
    const other = withUnreadable(connector, ":s-01-001", "response-key-0");
    await other.runCredentials("timer");
    await other.runCredentials("timer");
    expect(await items()).toEqual(["activation_pending", "active"]);
    expect(other.events("sealed_value_unreadable")).toHaveLength(1);
    const { credentials } = await connector.keyRow(requestId, "s-01-001");
    expect(credentials[0]?.retry).toMatchObject({
      attempts: 1,
      lastError: expect.stringMatching(/cannot be decrypted/),
    });
    connector.advance(days(14));
    await other.runCredentials("timer");
    expect(await items()).toEqual(["failed", "active"]);
  });
});

describe("a response key of a PIN that does not open", () => {
  test("holds back nothing but its PIN email, which is sent with back-off when it opens again", async () => {
    const { connector, requestId } = await shipped();
    const other = withUnreadable(connector, ":s-01-001", "pin-response-key");
    await other.runJobs();
    const mailOf = async (keyId: string) => (await connector.keyRow(requestId, keyId)).mail;
    expect([(await mailOf("s-01-001")).state, (await mailOf("s-02-001")).state]).toEqual(["due", "sent"]);
    expect((await mailOf("s-01-001")).retry).toMatchObject({
      attempts: 1,
      lastError: "The response key of the PIN cannot be decrypted.",
    });
    expect(other.events("work_failed")).toEqual([]);
    connector.advance(minutes(2));
    await connector.runCredentials();
    expect((await mailOf("s-01-001")).state).toBe("sent");
  });

  test("is answered at a resend as an outage: a later call may send the mail", async () => {
    const { connector, requestId } = await shipped(orderBody([1]));
    await connector.runJobs();
    const other = withUnreadable(connector, ":s-01-001", "pin-response-key");
    await expect(resendPin(requestId, other.context)).rejects.toMatchObject({ kind: "unavailable" });
    expect(await resendPin(requestId, connector.context)).toEqual({ sent: 1, unsent: [] });
  });
});
