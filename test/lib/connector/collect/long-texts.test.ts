import { describe, expect, test } from "vitest";
import type { Fetch } from "../../../../lib/platform/call-peer.ts";
import { minutes } from "../../../../lib/platform/time.ts";
import { idAt, onSiteBody } from "../../../support/connector/on-site.ts";
import {
  orderBody,
  peersOfFile,
  type TestConnector,
  testConnector,
} from "../../../support/connector/test-connector.ts";
import { storedText } from "../../../support/storage/stored-text.ts";

const peers = await peersOfFile();

/** 1 MB with control and direction characters, not well-formed. */
const mark = "Überlang";
const long = `${mark}\u0000\n\u001b[31m\u202e\ud800${"x".repeat(1_000_000)}`;
/** As long as an identity provider's answer may be. */
const longOfIdp = long.slice(0, 200_000);
const cleaned = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\ud800]/u;

/** Changes what a peer answers to calls of its own paths, where it is JSON. */
const answering =
  (path: RegExp, change: (body: never) => unknown, status?: number): Fetch =>
  async (input, init) => {
    const response = await fetch(input, init);
    if (!path.test(new URL(String(input)).pathname) || (init?.method ?? "GET") === "DELETE") return response;
    const body = change((await response.json()) as never);
    return new Response(JSON.stringify(body), { status: status ?? response.status });
  };

interface Shipment {
  readonly shipment_state: object;
  readonly shipment_items: readonly { readonly product_data: readonly object[] }[];
}

const shipmentWith = (stateId: number | undefined) => (shipment: Shipment) => ({
  ...shipment,
  shipment_state: {
    ...shipment.shipment_state,
    ...(stateId && { shipment_state_id: stateId }),
    shipment_state_message: long,
  },
  shipment_items: shipment.shipment_items.map(item => ({
    ...item,
    product_data: item.product_data.map(key => ({ ...key, serial_number: long, firmware_version: long })),
  })),
});

/** What was stored or logged: nothing of it is longer than a message of 500 characters and its surroundings. */
async function expectBounded({ storage, lines }: TestConnector): Promise<void> {
  for (const line of [...(await storedText(storage)), ...lines]) {
    expect(line).not.toContain("x".repeat(501));
    expect(line.length).toBeLessThan(30_000);
  }
}

describe("texts of up to 1 MB with control characters that a peer reports", () => {
  test("are cut and cleaned as serial number, firmware version and state of a shipment", async () => {
    const connector = await testConnector(peers, { fetch: answering(/\/shipments\/./, shipmentWith(undefined)) });
    const body = orderBody();
    const { requestId } = await connector.orderAndRun(body);
    const { serial, firmware, mail } = await connector.keyRow(requestId);
    expect(mail.state).toBe("sent");
    for (const text of [serial, firmware]) {
      expect(text).toMatch(/^Überlang/);
      expect(text?.length).toBeLessThanOrEqual(64);
      expect(text).not.toMatch(cleaned);
    }
    const { delivery } = await connector.requestRow(requestId);
    expect(delivery?.shipment?.message?.length).toBeLessThanOrEqual(500);
    expect(delivery?.shipment?.message).not.toMatch(cleaned);
    await expectBounded(connector);
  });

  test("are cut and cleaned as the message of a shipment in error", async () => {
    const connector = await testConnector(peers, { fetch: answering(/\/shipments\/./, shipmentWith(99)) });
    const { requestId } = await connector.orderAndPoll();
    const { error_message } = await connector.read(requestId);
    expect(error_message).toMatch(/^The delivery service reports: Überlang/);
    expect(error_message?.length).toBeLessThan(600);
    expect(error_message).not.toMatch(cleaned);
    await expectBounded(connector);
  });

  test.each(["completed", "failed", "cancelled"])("are cut and cleaned of an authenticator that is %s", async state => {
    const response = (body: object) =>
      "state" in body ? { ...body, state, serial_number: long, firmware_version: long, error_message: long } : body;
    const connector = await testConnector(peers, { fetch: answering(/\/requests\/|authenticator/, response) });
    const { requestId } = await connector.order(onSiteBody());
    await peers.rfpr.enroll(idAt(requestId));
    await connector.runCredentials();
    await connector.runCredentials();
    const key = await connector.keyRow(requestId, "a-01");
    const texts = state === "completed" ? [key.serial, key.firmware] : [key.credentials[0]?.errorMessage];
    for (const text of texts) {
      expect(text).toMatch(/^Überlang/);
      expect(text?.length).toBeLessThanOrEqual(500);
      expect(text).not.toMatch(cleaned);
    }
    await expectBounded(connector);
  });

  test("are cut and cleaned as the refusal of an identity provider", async () => {
    const refused = () => ({ error: { code: "badRequest", message: longOfIdp } });
    const connector = await testConnector(peers);
    const { requestId } = await connector.orderAndPoll();
    const refusing = connector.anotherInstance({ fetch: answering(/\/fido2Methods$/, refused, 400) });
    await refusing.runCredentials();
    connector.advance(minutes(2));
    await refusing.runCredentials();
    const message = (await connector.keyRow(requestId)).credentials[0]?.retry?.lastError;
    expect(message).toContain(mark);
    expect(message?.length).toBeLessThan(700);
    expect(message).not.toMatch(cleaned);
    await expectBounded(refusing);
  });

  test.each([
    ["creation options", /creationOptions/i, { error: { code: "badRequest", message: longOfIdp } }],
    ["access token", /oauth2\/v2\.0\/token$/, { error: "invalid_client", error_description: longOfIdp }],
  ])("are cut and cleaned as the refusal of an identity provider's %s", async (_, path, refusal) => {
    const connector = await testConnector(peers, { fetch: answering(path, () => refusal, 400) });
    await expect(connector.order()).rejects.toSatisfy((error: Error) => error.message.length < 700);
    await expectBounded(connector);
  });
});
