import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type Delivery, startDelivery } from "../../../../local/peers/delivery/delivery.ts";
import { ADDRESS, createRequester, credentialPayload, itemOf, RECIPIENT, shipmentBody, TOKEN } from "./requester.ts";

let delivery: Delivery;
let requester: ReturnType<typeof createRequester>;

beforeEach(async () => {
  delivery = await startDelivery({ token: TOKEN, shipAfterMs: 0 });
  requester = createRequester(delivery);
});

afterEach(() => delivery.close());

describe("a shipment", () => {
  test("is 101 at creation, then 102, then 103 with its keys, as time goes by", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: new Date("2026-01-31T10:00:00Z") });
    onTestFinished(() => void vi.useRealTimers());
    delivery.settings({ shipAfterMs: 2000 });
    const { answer, shipment } = await requester.order([{}]);
    const { shipment_id: id } = shipment;
    expect(answer.status).toBe(201);
    expect(shipment).toEqual({
      shipment_id: expect.stringMatching(/^[A-Za-z0-9_-]{22}$/),
      shipment_request_date: "2026-01-31T10:00:00.000Z",
      customer_reference: "order-1",
      shipment_state: { shipment_state_id: 101, shipment_state_message: "Received" },
      recipient: RECIPIENT,
      mailing_address: ADDRESS,
      shipment_items: [{ product_id: 1, inventory_product_id: 15, product_quantity: 1, product_data: [] }],
    });
    vi.setSystemTime(Date.now() + 999);
    expect((await requester.read(id)).shipment_state.shipment_state_id).toBe(101);
    vi.setSystemTime(Date.now() + 1);
    expect(await requester.read(id)).toMatchObject({
      shipment_state: { shipment_state_id: 102 },
      shipment_items: [{ product_data: [] }],
    });
    vi.setSystemTime(Date.now() + 999);
    expect((await requester.read(id)).shipment_state.shipment_state_id).toBe(102);
    vi.setSystemTime(Date.now() + 1);
    expect(await requester.read(id)).toMatchObject({
      shipment_state: { shipment_state_id: 103, shipment_state_message: "Shipped" },
      shipment_items: [{ product_data: [{ serial_number: expect.stringMatching(/^\d{8}$/) }] }],
    });
  });

  test("is never shown as shipped without its keys, whenever its time comes", async () => {
    onTestFinished(() => void vi.restoreAllMocks());
    let now = 0;
    vi.spyOn(Date, "now").mockImplementation(() => now++);
    for (let shipAfterMs = 40; shipAfterMs < 46; shipAfterMs++) {
      now = 0;
      delivery.settings({ shipAfterMs });
      const { shipment } = await requester.order([{}]);
      for (let state = 0; state < 103; ) {
        const seen = await requester.read(shipment.shipment_id);
        state = seen.shipment_state.shipment_state_id;
        expect(seen.shipment_items[0]?.product_data, String(shipAfterMs)).toHaveLength(state < 103 ? 0 : 1);
      }
    }
  });

  test("of which one key cannot be programmed ends in a processing error", async () => {
    const request = await requester.credentialRequest();
    const payload = credentialPayload({ ...request.responseKey, d: undefined }, request.challenge);
    payload.public_key.pubKeyCredParams = [{ type: "public-key", alg: -257 }];
    const jwe = await requester.seal(payload);
    const good = { credentials: [await requester.credentialRequest()] };
    const item = itemOf([good, { credentials: [{ ...request, jwe }] }]);
    const answer = await requester.call("POST", "", shipmentBody(item));
    expect(answer.status).toBe(201);
    const { shipment_id } = (await answer.json()) as { shipment_id: string };
    expect(await requester.read(shipment_id)).toMatchObject({
      shipment_state: { shipment_state_id: 8 },
      shipment_items: [{ product_data: [] }],
    });
  });
});

describe("a shipment is refused with validation_error", () => {
  const refused = async (body: unknown) => {
    const answer = await requester.call("POST", "", body);
    expect(answer.status).toBe(400);
    const error = (await answer.json()) as { code: string; message: string };
    expect(error).toEqual({ code: "validation_error", message: expect.any(String) });
    return error.message;
  };
  const item = async () => itemOf([{ credentials: [await requester.credentialRequest()] }]);

  test("where a field is longer than the service's limit, and taken at the limit", async () => {
    const limits = {
      recipient: { recipient_firstname: 15, recipient_lastname: 20, recipient_company: 20, recipient_email: 80 },
      mailing_address: { street_line1: 60, street_line2: 60, city: 60 },
    };
    const body = shipmentBody(await item());
    for (const [part, fields] of Object.entries(limits))
      for (const [field, limit] of Object.entries(fields)) {
        const filled = (length: number) => ({
          ...body,
          [part]: { ...body[part as keyof typeof limits], [field]: "x".repeat(length) },
        });
        expect(await refused(filled(limit + 1))).toContain(`${part}.${field}: must be at most ${limit} characters`);
        expect((await requester.call("POST", "", filled(limit))).status, field).toBe(201);
      }
    expect(await refused({ ...body, customer_reference: "x".repeat(51) })).toContain("customer_reference");
    expect((await requester.call("POST", "", { ...body, customer_reference: "x".repeat(50) })).status).toBe(201);
  });

  test("if the body is not JSON, lacks members or has unknown ones", async () => {
    expect(await refused("{")).toContain("not JSON");
    expect(await refused({ shipment_items: [] })).toMatch(/recipient.*mailing_address.*shipment_items/);
    expect(await refused({ ...shipmentBody(await item()), surprise: 1 })).toContain("surprise: unknown field");
    const recipient = { ...RECIPIENT, recipient_firstname: "" };
    expect(await refused({ ...shipmentBody(await item()), recipient })).toContain("needs a company or a name");
  });

  test("where the keys are not as many as their requests", async () => {
    expect(await refused(shipmentBody({ ...(await item()), product_quantity: 2 }))).toContain(
      "one product_customizations",
    );
  });

  test("if a request cannot be opened or is of another kind than its field requires", async () => {
    const credential = await requester.credentialRequest();
    const { d: _, ...responseKey } = credential.responseKey;
    const good = credentialPayload(responseKey, credential.challenge);
    const withJwe = (jwe: string, field = "fido_credential_requests") =>
      shipmentBody({
        ...itemOf([{ credentials: [credential] }]),
        product_customizations: [
          { fido_credential_requests: [credential.jwe], [field]: field.endsWith("s") ? [jwe] : jwe },
        ],
      });
    const cases: readonly [string, string][] = [
      ["garbage", "no compact JWE"],
      [`${credential.jwe.slice(0, -8)}AAAAAAAA`, "cannot be decrypted"],
      [await requester.seal(good, { kid: "unknown" }), "kid names no transport key"],
      [await requester.seal(good, { alg: "ECDH-ES+A128KW" }), "alg must be"],
      [await requester.seal(good, { enc: "A128GCM" }), "enc must be A256GCM"],
      [await requester.seal(good, { jku: "https://evil.example" }), "header jku is not allowed"],
      [(await requester.pinRequest(6)).jwe, "type: "],
      [
        await requester.seal(credentialPayload(credential.responseKey, credential.challenge)),
        "response_key.d: unknown field",
      ],
      [await requester.seal(credentialPayload({ ...responseKey, crv: "P-256" }, credential.challenge)), "P-384"],
      [await requester.seal({ ...good, origin: "nowhere" }), "URL"],
    ];
    for (const [jwe, reason] of cases) {
      const message = await refused(withJwe(jwe));
      expect(message).toContain("shipment_items.0.product_customizations.0.fido_credential_requests.0");
      expect(message).toContain(reason);
    }
    // The wording after the path depends on whether a file of this process has configured zod.
    expect(await refused(withJwe((await requester.pinRequest(3)).jwe, "fido_pin_request"))).toMatch(/pin\.length: .*4/);
    const direct = await requester.seal(good, { alg: "ECDH-ES" });
    expect((await requester.call("POST", "", withJwe(direct))).status).toBe(201);
  });
});
