import { describe, expect, test } from "vitest";
import { hours } from "../../../../lib/platform/time.ts";
import {
  newUser,
  onChallenge,
  orderBody,
  peersOfFile,
  testConnector,
} from "../../../support/connector/test-connector.ts";
import { storedText } from "../../../support/storage/stored-text.ts";
import { altered, type Body } from "../api/bodies.ts";

const peers = await peersOfFile();

/** What must be found nowhere, and where it was found. */
const found = (secrets: readonly string[], places: readonly string[]) =>
  secrets.filter(secret => places.some(place => place.includes(secret)));

describe("what is kept and logged of a request", () => {
  test("never contains a PIN, a private key, a challenge, a token, or in the log a recipient's data", async () => {
    const privateKeys: string[] = [];
    const challenges: string[] = [];
    const connector = await testConnector(peers, {
      ports: (context, clock) => ({
        sealer: {
          ...context.sealer,
          seal: (plaintext, place) => {
            const { d } = JSON.parse(plaintext) as { d?: string };
            if (d !== undefined) privateKeys.push(d);
            return context.sealer.seal(plaintext, place);
          },
        },
        ...onChallenge(({ options }) => void challenges.push(options.challenge.slice(0, 64)))(context, clock),
      }),
    });
    const [company, name] = ["Difference Ltd", "Zuse-Lovelace"];
    const body = altered(orderBody([2, 1]), { "recipient.company": company, "recipient.last_name": name });
    // Long enough not to be met by chance.
    for (const item of body.shipment.shipment_items) item.pin_request.length = 12;
    const { requestId, shipmentId } = await connector.order(body);

    // Everything that goes wrong is logged, too: each step fails once before it succeeds.
    peers.delivery.fail({ kind: "refuse", status: 500, path: "shipments/", times: 3 });
    await connector.runShipments();
    connector.advance(hours(1));
    await peers.delivery.control(shipmentId ?? "", { sabotage: "other-request" });
    await connector.runShipments();
    connector.advance(hours(2));
    await peers.delivery.control(shipmentId ?? "", { sabotage: null });
    await connector.runShipments();
    peers.entra.fail({ kind: "drop", method: "POST", phase: "after" });
    peers.entra.fail({ kind: "refuse", method: "POST", status: 500 });
    peers.mail.fail({ kind: "refuse", method: "POST", status: 400 });
    peers.mail.fail({ kind: "drop", method: "POST" });
    for (let hour = 0; hour < 4; hour++) {
      await connector.runCredentials();
      connector.advance(hours(1));
    }
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });

    const keys = (await peers.delivery.shipments()).find(({ id }) => id === shipmentId)?.keys ?? [];
    const pins = keys.map(({ pin = "" }) => pin);
    expect([pins.length, privateKeys.length, challenges.length]).toEqual([2, 5, 3]);
    for (const pin of pins) expect(peers.mail.mails().some(({ text }) => text?.includes(pin))).toBe(true);
    const tokens = [peers.vault.get("delivery-api-token") ?? "", peers.vault.get("idp-entra-client-secret") ?? ""];
    expect(tokens.every(token => token.length > 20)).toBe(true);

    const stored = await storedText(connector.storage);
    expect(stored.length).toBeGreaterThan(5);
    expect(found([...pins, ...privateKeys, ...challenges, ...tokens], stored)).toEqual([]);

    const people = [
      company,
      name,
      body.recipient.email,
      body.recipient.telephone,
      body.shipment.mailing_address.street_line1,
    ];
    const users = body.shipment.shipment_items.flatMap((item: Body) =>
      item.credentials.map((one: Body) => one.user_id),
    );
    expect(connector.lines.length).toBeGreaterThan(6);
    expect(found([...pins, ...privateKeys, ...challenges, ...tokens, ...people, ...users], connector.lines)).toEqual(
      [],
    );
  });

  test("has the responses as they came, in a blob, and only its name in the row", async () => {
    const connector = await testConnector(peers);
    const { requestId } = await connector.orderAndPoll(orderBody([3]));
    const key = await connector.keyRow(requestId);
    const copy = await connector.context.responses.get(key.responses ?? "");
    expect(copy?.credentials).toHaveLength(3);
    const jwe = /^[\w-]+\.[\w-]*\.[\w-]+\.[\w-]+\.[\w-]+$/;
    const responses = [...(copy?.credentials ?? []), copy?.pinResponse ?? ""];
    expect(responses.filter(response => !jwe.test(response))).toEqual([]);
    const rows = (await storedText(connector.storage)).filter(text => text.startsWith("credentialrequests"));
    expect(found(responses, rows)).toEqual([]);
  });
});

describe("the size of one request", () => {
  /** User ids as long as they may be, in letters of three bytes each. */
  const longUser = (): string => {
    const user = newUser();
    return `${"ネ".repeat(255 - user.length)}${user}`;
  };

  test("20 credentials a key and 100 a request fit, with user ids as long as they may be", async () => {
    const connector = await testConnector(peers);
    const body: Body = orderBody(Array<number>(5).fill(20));
    for (const item of body.shipment.shipment_items)
      for (const credential of item.credentials) credential.user_id = longUser();
    const { requestId } = await connector.orderAndPoll(body);
    const { shipment } = await connector.read(requestId);
    const states = shipment?.shipment_items.flatMap(({ credentials }) => credentials.map(({ state }) => state));
    expect(states).toEqual(Array(100).fill("activation_pending"));
    const copies = (await connector.load(requestId)).keys.map(key => key.responses ?? "");
    const sizes = await Promise.all(
      copies.map(async copy => JSON.stringify(await connector.context.responses.get(copy)).length),
    );
    expect(Math.max(...sizes)).toBeGreaterThan(65_536);
  });
});
