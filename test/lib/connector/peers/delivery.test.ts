import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { CredentialRequest } from "../../../../lib/connector/model/request.ts";
import { type SecurityKey, shipmentKeyId } from "../../../../lib/connector/model/security-key.ts";
import type { CreationOptions } from "../../../../lib/connector/model/webauthn.ts";
import { bindingOf, bindResponse } from "../../../../lib/connector/peers/bind-response.ts";
import { connectDelivery, type DeliveryService } from "../../../../lib/connector/peers/delivery.ts";
import type { DeliveryOrder } from "../../../../lib/connector/peers/delivery-wire.ts";
import {
  decodeCredentialResponse,
  decodePinResponse,
  encodeCredentialRequest,
  encodePinRequest,
  type KeyRequests,
  makeResponseKey,
} from "../../../../lib/connector/peers/exchange-messages.ts";
import type { PublicKey } from "../../../../lib/connector/peers/jwks.ts";
import { days, plus } from "../../../../lib/platform/time.ts";
import { type Delivery as SimulatedDelivery, startDelivery } from "../../../../local/peers/delivery/delivery.ts";
import { failureOf, kindOf, oddPeer, type TestTools, testTools } from "../../../support/connector/peer-tools.ts";
import { deadAddress } from "../../../support/dead-address.ts";

let service: SimulatedDelivery;
let tools: TestTools;
let delivery: DeliveryService;

const token = "delivery-token";

beforeEach(async () => {
  service = await startDelivery({ token, shipAfterMs: 60_000 });
  tools = testTools();
  delivery = connect();
});

afterEach(() => service.close());

function connect(changes: Partial<Parameters<typeof connectDelivery>[0]> = {}): DeliveryService {
  const { url: baseUrl, signJwksUrl, transportJwksUrl } = service;
  const readToken = async () => token;
  return connectDelivery({
    ...tools,
    baseUrl,
    signJwksUrl,
    transportJwksUrl,
    token: readToken,
    timeLimitMs: 20_000,
    ...changes,
  });
}

const options: CreationOptions = {
  rp: { id: "login.example", name: "Example" },
  user: { id: "dXNlcg", name: "jan@example.com", displayName: "Jan" },
  challenge: randomBytes(32).toString("base64url"),
  pubKeyCredParams: [{ type: "public-key", alg: -7 }],
};
const challenge = { options, origin: "https://login.example", idpState: {} };

/** An order of one item, with a security key for each of the encrypted requests. */
function orderOf(
  requests: readonly KeyRequests[],
  item: Partial<SecurityKey>,
  { recipient, shipment }: Pick<CredentialRequest, "recipient" | "shipment"> = defaults,
): DeliveryOrder {
  const keys = requests.map((_, index) => ({
    id: shipmentKeyId(0, index),
    provisioning: "shipped",
    productId: 1,
    inventoryProductId: 15,
    ...item,
  }));
  return {
    request: { id: "order-1", recipient, shipment } as CredentialRequest,
    keys: keys as unknown as SecurityKey[],
    encrypted: new Map(requests.map((each, index) => [shipmentKeyId(0, index), each])),
  };
}

const defaults = {
  recipient: {
    email: "jan@example.com",
    firstName: "Jan",
    lastName: "Lindberg",
    company: "",
    telephone: "+1 (555)",
    externalId: "jan",
  },
  shipment: {
    deliveryType: 1,
    mailingAddress: { streetLine1: "1 Main St", city: "Dedham", region: "MA", postalCode: "02026", countryCode: "US" },
  },
} as const;

/** An order of one key with one credential and a PIN, and what opens its responses. */
async function newOrder() {
  const [credentialKey, pinKey] = await Promise.all([makeResponseKey(), makeResponseKey()]);
  const transportKeys = await delivery.transportKeys();
  const route = (responseKey: PublicKey) => ({ transportKeys, responseKey, random: tools.random });
  const requests = {
    pinRequest: await encodePinRequest(6, route(pinKey.publicJwk)),
    credentialRequests: [await encodeCredentialRequest(challenge, route(credentialKey.publicJwk))],
  };
  const order = orderOf([requests], { name: "Desk key" });
  return { order, credentialKey: credentialKey.privateJwk, pinKey: pinKey.privateJwk };
}

/** Lets the service answer the next calls with any body. */
const answer = (body: unknown, times = 1) => service.fail({ kind: "nonsense", body, times });
const orders = () => service.count("POST", /shipments$/);

describe("the delivery service", () => {
  test("accepts an order, ships it, and returns signed responses that belong to the request", async () => {
    const { order, credentialKey, pinKey } = await newOrder();
    const { shipmentId } = await delivery.createShipment(order);
    expect(await delivery.getShipment(shipmentId)).toMatchObject({
      shipmentId,
      customerReference: "order-1",
      requestedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      state: { id: 101, message: "Received" },
      items: [{ productId: 1, inventoryProductId: 15, quantity: 1, keys: [] }],
    });

    await service.control(shipmentId, { ship: true });
    const { state, items } = await delivery.getShipment(shipmentId);
    expect(state.id).toBe(103);
    const [key] = items[0]?.keys ?? [];
    expect(key).toMatchObject({ serial: expect.stringMatching(/^\d+$/), firmware: "5.7.4" });
    const find = (kid: string) => delivery.signingKey(kid);
    const attestation = await decodeCredentialResponse(key?.credentials[0] ?? "", credentialKey, find);
    expect(bindResponse(attestation, bindingOf(challenge))).toBeUndefined();
    expect(await decodePinResponse(key?.pinResponse ?? "", pinKey, find)).toMatch(/^\d{6}$/);
  });

  test("receives every member of docs/peers/delivery.md that has a value, and no other", async () => {
    const { url, calls } = await oddPeer(() => ({ status: 200, body: { shipment_id: "abc" } }));
    const odd = connect({ baseUrl: `${url}/` });
    const keys = [{ pinRequest: "PIN", credentialRequests: ["A", "B"] }, { credentialRequests: ["C"] }];
    const recipient = { ...defaults.recipient, email: "e@x.example", firstName: "F", lastName: "L", company: "C" };
    const mailingAddress = { streetLine1: "1", city: "D", postalCode: " ", countryCode: "US" };
    const least = { deliveryType: 1, customerReference: "ref", mailingAddress } as const;
    const full = {
      ...least,
      resellerOrganizationId: "reseller",
      addressValidationBypass: false,
      mailingAddress: { ...mailingAddress, streetLine2: "2", region: "MA" },
    };
    await odd.createShipment(orderOf(keys, { customizationId: "X", name: "Desk" }, { recipient, shipment: full }));
    const unnamed = { ...recipient, company: "", firstName: " " };
    await odd.createShipment(orderOf(keys, { name: "" }, { recipient: unnamed, shipment: least }));
    const wireRecipient = {
      recipient_email: "e@x.example",
      recipient_lastname: "L",
      recipient_telephone: "+1 (555)",
    };
    const wireAddress = { street_line1: "1", city: "D", postal_code: " ", country_code_2: "US" };
    const wireItem = {
      product_id: 1,
      inventory_product_id: 15,
      product_quantity: 2,
      product_customizations: [
        { fido_pin_request: "PIN", fido_credential_requests: ["A", "B"] },
        { fido_credential_requests: ["C"] },
      ],
    };
    const wire = {
      delivery_type: 1,
      customer_reference: "ref",
      recipient: wireRecipient,
      mailing_address: wireAddress,
      shipment_items: [wireItem],
    };
    expect(calls.map(({ body }) => JSON.parse(String(body)))).toEqual([
      {
        ...wire,
        reseller_organization_id: "reseller",
        address_validation_bypass: false,
        recipient: { ...wireRecipient, recipient_company: "C", recipient_firstname: "F" },
        mailing_address: { ...wireAddress, street_line2: "2", region: "MA" },
        shipment_items: [{ ...wireItem, customization_id: "X", fc_additional_data: { key_name: "Desk" } }],
      },
      wire,
    ]);
    const call = ["POST", "/v1/fpr/shipments", "Bearer delivery-token"];
    expect(calls.map(({ method, path, headers }) => [method, path, headers.authorization])).toEqual([call, call]);
  });

  test("refuses with its own code and message", async () => {
    const { order } = await newOrder();
    const recipient = { ...order.request.recipient, lastName: "x".repeat(21) };
    const tooLong = { ...order, request: { ...order.request, recipient } };
    expect(await failureOf(delivery.createShipment(tooLong))).toMatchObject({
      kind: "refused",
      status: 400,
      code: "validation_error",
      detail: expect.stringContaining("recipient_lastname"),
    });
    expect(await failureOf(delivery.getShipment("unknown"))).toMatchObject({ kind: "missing", code: "not_found" });
    const wrong = connect({ token: async () => "wrong" });
    expect(await failureOf(wrong.getShipment("x"))).toMatchObject({ kind: "unauthorized", code: "unauthorized" });
  });

  test.each([
    [{ code: "not_found", message: null }, "missing"],
    [{ error: "no such page" }, "unreachable"],
  ])("does not know a shipment only by a 404 of its own: %j", async (body, kind) => {
    service.fail({ kind: "refuse", status: 404, body, times: 3 });
    expect(await kindOf(delivery.getShipment("x"))).toBe(kind);
  });
});

describe("an order", () => {
  test.each([
    [{ kind: "drop", phase: "after" }, "unanswered"],
    [{ kind: "refuse", phase: "after", status: 502 }, "unanswered"],
    [{ kind: "nonsense", phase: "after" }, "unanswered"],
    [{ kind: "throttle" }, "throttled"],
  ] as const)("is sent once with any outcome: %o is %s", async (fault, kind) => {
    const { order } = await newOrder();
    service.fail(fault);
    expect(await kindOf(delivery.createShipment(order))).toBe(kind);
    expect(orders()).toBe(1);
    expect(await service.shipments()).toHaveLength(kind === "throttled" ? 0 : 1);
  });

  test("is sent once also if its token is refused and the vault has another one by then", async () => {
    const { order } = await newOrder();
    const tokens = ["former", token];
    const slow = connect({
      token: async () => tokens.shift() ?? token,
      fetch: (...call) => {
        tools.advance(10_000);
        return tools.fetch(...call);
      },
    });
    expect(await failureOf(slow.createShipment(order))).toMatchObject({ kind: "unauthorized", status: 401 });
    expect(orders()).toBe(1);
  });

  test.each(["", "../other", "a/b", ".", "x".repeat(129), 7, null])(
    "answered with an id that cannot be one is unanswered: %j",
    async shipment_id => {
      const { order } = await newOrder();
      service.fail({ kind: "nonsense", phase: "after", body: { shipment_id } });
      expect(await kindOf(delivery.createShipment(order))).toBe("unanswered");
    },
  );

  test("was not sent if no process listens or there is no token", async () => {
    const { order } = await newOrder();
    expect(await kindOf(connect({ baseUrl: deadAddress }).createShipment(order))).toBe("unreachable");
    const noToken = connect({ token: () => Promise.reject(new Error("the vault is away")) });
    expect(await kindOf(noToken.createShipment(order))).toBe("unreachable");
    const stuck = connect({ token: () => new Promise(() => {}), timeLimitMs: 20 });
    expect(await kindOf(stuck.createShipment(order))).toBe("unreachable");
    expect(orders()).toBe(0);
  });

  test("is not sent after notAfter, also if the token took that long", async () => {
    const { order } = await newOrder();
    const notAfter = plus(tools.now(), 10_000);
    const slowToken = async () => {
      tools.advance(10_001);
      return token;
    };
    expect(await kindOf(connect({ token: slowToken }).createShipment(order, { notAfter }))).toBe("unreachable");
    expect(orders()).toBe(0);
    const inTime = { notAfter: tools.now() };
    expect(await delivery.createShipment(order, inTime)).toEqual({ shipmentId: expect.any(String) });
  });

  test("has one time limit for everything", async () => {
    const { order } = await newOrder();
    service.fail({ kind: "hang" });
    expect(await kindOf(connect({ timeLimitMs: 50 }).createShipment(order))).toBe("unanswered");
  });
});

describe("a shipment", () => {
  test("is read again after a temporary failure", async () => {
    const { order } = await newOrder();
    const { shipmentId } = await delivery.createShipment(order);
    service.fail({ kind: "refuse", status: 502 });
    service.fail({ kind: "drop" });
    expect((await delivery.getShipment(shipmentId)).shipmentId).toBe(shipmentId);
  });

  test("is not read from an answer with another shipment, but from one with its id in another case", async () => {
    answer({ shipment_id: "ABC", shipment_state: { shipment_state_id: 99 } }, 4);
    expect(await delivery.getShipment("abc")).toMatchObject({ state: { id: 99 } });
    expect(await failureOf(delivery.getShipment("abd"))).toMatchObject({
      kind: "unanswered",
      detail: "The response cannot be read: shipment_id",
    });
  });

  test.each([
    ["2026-01-31T10:00:00Z", "2026-01-31T10:00:00.000Z"],
    ["2026-01-31T10:00:00.123456", "2026-01-31T10:00:00.123Z"],
    ["2026-01-31 10:00:00", "2026-01-31T10:00:00.000Z"],
    ["2026-01-31T10:00:00+02:00", "2026-01-31T08:00:00.000Z"],
    ["2026-01-31T10:00:00+0200", "2026-01-31T08:00:00.000Z"],
    ["2026-01-31", "2026-01-31T00:00:00.000Z"],
  ])("was requested at %s: in UTC where no zone is given, also on a machine in another one", async (written, time) => {
    vi.stubEnv("TZ", "America/New_York");
    onTestFinished(() => void vi.unstubAllEnvs());
    answer({ shipment_id: "abc", shipment_state: { shipment_state_id: 103 }, shipment_request_date: written });
    expect((await delivery.getShipment("abc")).requestedAt).toBe(time);
  });

  test("may differ from the documentation as long as it has id and state", async () => {
    const least = { shipment_id: "abc", shipment_state: { shipment_state_id: "103" } };
    const states: unknown[] = [
      least,
      { ...least, recipient: null, mailing_address: "?", customer_reference: null, shipment_request_date: "yesterday" },
      {
        ...least,
        shipment_state: { shipment_state_id: 7, shipment_state_message: "Bad\naddress" },
        shipment_items: [
          { product_data: null },
          {
            product_id: "1",
            product_data: [
              { serial_number: 30000001, fido_credential_responses: ["A", null, "C"], fido_pin_response: "" },
              { serial_number: "2", firmware_version: null, fido_pin_response: "P" },
            ],
          },
        ],
      },
    ];
    for (const state of states) answer(state);
    const read = () => delivery.getShipment("abc");
    expect(await read()).toMatchObject({ shipmentId: "abc", state: { id: 103 }, items: [] });
    const { customerReference, requestedAt } = await read();
    expect([customerReference, requestedAt]).toEqual([undefined, undefined]);
    const { state, items } = await read();
    expect(state).toEqual({ id: 7, message: "Bad address" });
    expect(items).toEqual([
      { productId: undefined, inventoryProductId: undefined, quantity: 0, keys: [] },
      {
        productId: 1,
        inventoryProductId: undefined,
        quantity: 2,
        keys: [
          { serial: "30000001", credentials: ["A", "", "C"] },
          { serial: "2", pinResponse: "P", credentials: [] },
        ],
      },
    ]);
  });

  test("is unanswered without a readable state", async () => {
    answer({ shipment_id: "abc", shipment_state: {} }, 3);
    expect(await kindOf(delivery.getShipment("abc"))).toBe("unanswered");
  });

  test("is deleted while it is open, then refused, and missing after it was deleted", async () => {
    const { order } = await newOrder();
    const { shipmentId } = await delivery.createShipment(order);
    await service.control(shipmentId, { state: 102 });
    expect(await failureOf(delivery.deleteShipment(shipmentId))).toMatchObject({ kind: "refused", status: 409 });
    await service.control(shipmentId, { state: 7 });
    await delivery.deleteShipment(shipmentId);
    expect(await service.shipments()).toEqual([]);
    expect(await kindOf(delivery.deleteShipment(shipmentId))).toBe("missing");
  });

  test.each([{ kind: "refuse", status: 500 }, { kind: "nonsense" }] as const)(
    "is not deleted twice for one call that is not answered: %j",
    async fault => {
      service.fail(fault);
      expect(await kindOf(delivery.deleteShipment("x"))).toBe("unanswered");
      expect(service.count("DELETE", /./)).toBe(1);
    },
  );

  test("is read by its id only, for any id", async () => {
    await failureOf(delivery.getShipment("a/../b?c#d"));
    expect(service.requests().at(-1)?.path).toBe("/v1/fpr/shipments/a/../b?c#d");
  });
});

describe("a search by reference", () => {
  const since = "2026-01-01T00:00:00.000Z";
  const ids = (found: Awaited<ReturnType<DeliveryService["findByReference"]>>) =>
    found.map(({ shipmentId }) => shipmentId);

  test("finds exactly the shipments with the reference, newest first, with recipient and address", async () => {
    const { order } = await newOrder();
    const ids: string[] = [];
    for (const customerReference of ["a & b", "other", "a & b"]) {
      const request = { ...order.request, shipment: { ...defaults.shipment, customerReference } };
      ids.unshift((await delivery.createShipment({ ...order, request })).shipmentId);
    }
    expect(await delivery.findByReference("a & b", since)).toMatchObject([
      {
        shipmentId: ids[0],
        recipient: { recipient_email: "jan@example.com", recipient_lastname: "Lindberg" },
        mailingAddress: { city: "Dedham", country_code_2: "US" },
      },
      { shipmentId: ids[2] },
    ]);
    expect(await delivery.findByReference("none", since)).toEqual([]);
  });

  test.each([404, 405, 501])("finds none if the service has no such search and responds %d", async status => {
    service.fail({ kind: "refuse", status, times: 9 });
    expect(await delivery.findByReference("a", since)).toEqual([]);
  });

  test("fails with any other failure, which may be temporary", async () => {
    service.fail({ kind: "refuse", status: 500, times: 9 });
    expect(await kindOf(delivery.findByReference("a", since))).toBe("unanswered");
  });

  interface Listing {
    readonly totalCount?: number | null;
    /** The page size of a service that ignores `limit`. */
    readonly perPage?: number;
    /** Changes the shipment at an index. */
    readonly change?: (index: number) => object;
  }
  /** A service with shipments of which every second one has the reference `ours`, and the queries that it got. */
  async function listing(total: number, { totalCount = total, perPage, change = () => ({}) }: Listing = {}) {
    const queries: string[] = [];
    const { url } = await oddPeer(({ query }) => {
      const [from, limit] = [Number(query.get("offset")), Number(query.get("limit"))];
      queries.push(`${limit} from ${from}`);
      const shipments = Array.from({ length: Math.max(0, Math.min(perPage ?? limit, total - from)) }, (_, n) => ({
        shipment_id: `s${from + n}`,
        customer_reference: (from + n) % 2 === 0 ? "ours" : "theirs",
        shipment_state: { shipment_state_id: 101 },
        ...change(from + n),
      }));
      return { status: 200, body: { count: shipments.length, total_count: totalCount, shipments } };
    });
    return { queries, find: () => connect({ baseUrl: url }).findByReference("ours", since) };
  }

  test("asks for pages of 10 until the end, and returns only shipments with the reference", async () => {
    const { queries, find } = await listing(25);
    expect(ids(await find())).toHaveLength(13);
    expect(queries).toEqual(["10 from 0", "10 from 10", "10 from 20"]);
  });

  test.each([4, 50, 100])("reads all pages of a service that has %i shipments in each", async perPage => {
    expect(ids(await (await listing(250, { perPage })).find())).toHaveLength(125);
  });

  test("ends at an empty page, with any total count", async () => {
    const found = await (await listing(100, { totalCount: 5000 })).find();
    expect(ids(found)).toHaveLength(50);
  });

  test("reads 1,000 shipments, and finds none if there are more", async () => {
    expect(ids(await (await listing(1000)).find())).toHaveLength(500);
    const { queries, find } = await listing(1001);
    expect(await find()).toEqual([]);
    expect(queries).toHaveLength(100);
  });

  /** Times of a list that is newest first, one day apart; `newer` of them are after `since`. */
  const newestFirst = (newer: number) => (index: number) => ({
    shipment_request_date: plus(since, days(newer - index)),
  });

  test.each([
    [1, 1],
    [9, 1],
    [10, 2],
    [19, 2],
  ])(
    "that is newest first ends at the first page with an older shipment: %i newer ones, pages %i",
    async (newer, pages) => {
      const { queries, find } = await listing(5000, { change: newestFirst(newer) });
      const newerIds = Array.from({ length: newer }, (_, index) => `s${index}`).filter((_, index) => index % 2 === 0);
      const found = await find();
      expect(ids(found).slice(0, newerIds.length)).toEqual(newerIds);
      expect(queries).toHaveLength(pages);
    },
  );

  test.each<[string, (index: number) => object | undefined]>([
    ["has a shipment without a time", index => (index === 2 ? { shipment_request_date: null } : undefined)],
    ["has a shipment that is not readable", index => (index === 2 ? { shipment_state: null } : undefined)],
    ["has a later shipment after an earlier one", index => (index === 2 ? newestFirst(1)(-1) : undefined)],
    ["is oldest first", index => newestFirst(0)(30 - index)],
    ["has equal times only", () => newestFirst(0)(1)],
  ])("goes on to the end of a list that %s", async (_, odd) => {
    const { queries, find } = await listing(30, { change: index => odd(index) ?? newestFirst(1)(index) });
    const found = await find();
    expect(ids(found)).toContain("s28");
    expect(queries).toHaveLength(3);
  });

  test("ends after a page if the service does not say how many shipments there are", async () => {
    expect(ids(await (await listing(8, { totalCount: null })).find())).toHaveLength(4);
  });

  /** A page of 10 shipments whose responses have `length` characters each: the largest that the connector orders. */
  const largest = (length: number) => {
    const data = { fido_pin_response: "p".repeat(2000), fido_credential_responses: Array(2).fill("c".repeat(length)) };
    const shipment_items = [{ product_id: 1, product_quantity: 50, product_data: Array(50).fill(data) }];
    return listing(10, { change: () => ({ shipment_items }) });
  };

  test("reads a page of the largest shipments, and returns them without responses", async () => {
    const shipments = Array(5).fill({ items: [{ productId: 1, quantity: 50, keys: [] }] });
    expect(await (await largest(20_000)).find()).toMatchObject(shipments);
  });

  test("fails if a page has more than 24 MiB", async () => {
    expect(await kindOf((await largest(26_000)).find())).toBe("unanswered");
  });
});

describe("the service's keys", () => {
  test("are read without a token", async () => {
    const noToken = connect({ token: () => Promise.reject(new Error("the vault is away")) });
    expect(await noToken.transportKeys()).toHaveLength(2);
  });

  test("are found by their id after a rotation", async () => {
    const { order, pinKey } = await newOrder();
    await delivery.signingKey("any");
    await service.rotateKeys();
    const { shipmentId } = await delivery.createShipment(order);
    await service.control(shipmentId, { ship: true });
    const { items } = await delivery.getShipment(shipmentId);
    tools.advance(60_000);
    const pin = await decodePinResponse(items[0]?.keys[0]?.pinResponse ?? "", pinKey, kid => delivery.signingKey(kid));
    expect(pin).toMatch(/^\d{6}$/);
  });

  test("are not mixed between the two uses", async () => {
    const [transport] = await delivery.transportKeys();
    expect(await delivery.signingKey(transport?.kid ?? "")).toBeUndefined();
  });
});
