import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type Delivery, startDelivery } from "../../../../local/peers/delivery/delivery.ts";
import { createRequester, itemOf, type Sent, shipmentBody, TOKEN } from "./requester.ts";

const NEVER = 10_000_000;

let delivery: Delivery;
let requester: ReturnType<typeof createRequester>;

beforeEach(async () => {
  delivery = await startDelivery({ token: TOKEN, shipAfterMs: NEVER });
  requester = createRequester(delivery);
});

afterEach(() => delivery.close());

const ordered = async (...[keys, change]: Parameters<typeof requester.order>) => {
  const { shipment, customizations } = await requester.order(keys, change);
  return { id: shipment.shipment_id, customizations };
};
const stateOf = async (id: string) => (await requester.read(id)).shipment_state;
const keysOf = async (id: string) => (await requester.read(id)).shipment_items[0]?.product_data ?? [];
const status = async (method: string, path: string) => (await requester.call(method, path)).status;

describe("a shipment's control", () => {
  test("sets any state, which then stays", async () => {
    const { id } = await ordered([{}]);
    for (const state of [1, 6, 7, 8, 9, 99, 102, 101]) {
      const answer = await requester.control(`shipments/${id}`, { state });
      expect(await answer.json()).toEqual({ id, customerReference: "order-1", state, keys: [] });
      expect((await stateOf(id)).shipment_state_id).toBe(state);
      expect((await stateOf(id)).shipment_state_message).toMatch(/\w/);
      expect(await keysOf(id)).toEqual([]);
    }
  });

  test("ships at once, and programs keys for every state after that", async () => {
    const ids = [];
    for (const change of [{ ship: true }, { state: 103 }, { state: 104 }, { state: 105 }, { state: 106 }]) {
      const { id } = await ordered([{}]);
      ids.push(id);
      expect((await requester.control(`shipments/${id}`, change)).status).toBe(200);
      expect((await stateOf(id)).shipment_state_id).toBe(change.state ?? 103);
      expect(await keysOf(id)).toHaveLength(1);
    }
    const listed = await fetch(`${delivery.url}/_control/shipments`);
    expect(await listed.json()).toEqual(await delivery.shipments());
    const serials = (await delivery.shipments()).flatMap(({ keys }) => keys.map(({ serial }) => serial));
    expect(new Set(serials).size).toBe(ids.length);
  });

  test("names what is wrong with it", async () => {
    const { id } = await ordered([{}]);
    const answers = await Promise.all(
      [{ state: 2 }, { ship: false }, { sabotage: "kindly" }, { stat: 1 }].map(body =>
        requester.control(`shipments/${id}`, body),
      ),
    );
    expect(answers.map(answer => answer.status)).toEqual([400, 400, 400, 400]);
    expect(await answers[3]?.text()).toContain("stat: unknown field");
    expect((await requester.control("shipments/unknown", { ship: true })).status).toBe(404);
    await expect(delivery.control("unknown", { ship: true })).rejects.toThrow("no shipment unknown");
  });
});

describe("keys that are rotated", () => {
  test("are new in both sets; requests and responses on their way still open", async () => {
    const { id, customizations } = await ordered([{}]);
    await delivery.control(id, { ship: true });
    const early = await requester.credentialRequest();
    const before = await Promise.all([delivery.transportJwksUrl, delivery.signJwksUrl].map(requester.jwks));
    expect((await requester.control("rotate-keys", {})).status).toBe(204);
    const after = await Promise.all([delivery.transportJwksUrl, delivery.signJwksUrl].map(requester.jwks));
    const kids = (sets: typeof before, at: number) => sets[at]?.keys.map(({ kid }) => kid) ?? [];
    expect(kids(after, 0)).toHaveLength(2);
    expect(kids(after, 0).filter(kid => kids(before, 0).includes(kid))).toEqual([]);
    expect(kids(after, 1)).toHaveLength(4);
    expect(kids(after, 1)).toEqual(expect.arrayContaining(kids(before, 1)));

    const [key] = await keysOf(id);
    const sent = customizations[0]?.credentials[0] as Sent;
    await expect(requester.open(key?.fido_credential_responses[0] ?? "", sent)).resolves.toBeDefined();
    const answer = await requester.call("POST", "", shipmentBody(itemOf([{ credentials: [early] }])));
    expect(answer.status).toBe(201);
  });

  test("and forgotten are of no use any more", async () => {
    const { id, customizations } = await ordered([{}]);
    await delivery.control(id, { ship: true });
    const early = await requester.credentialRequest();
    await requester.control("rotate-keys", { forget: true });
    expect((await requester.jwks(delivery.signJwksUrl)).keys).toHaveLength(2);
    const [key] = await keysOf(id);
    const sent = customizations[0]?.credentials[0] as Sent;
    await expect(requester.open(key?.fido_credential_responses[0] ?? "", sent)).rejects.toThrow("no applicable key");
    const answer = await requester.call("POST", "", shipmentBody(itemOf([{ credentials: [early] }])));
    expect(answer.status).toBe(400);
  });
});

describe("the customer", () => {
  test("finds shipments by their exact reference, newest first, in pages", async () => {
    const references = ["order-7", "order-77", "order-7", "order-7"];
    const ids: string[] = [];
    for (const customer_reference of references) ids.push((await ordered([{}], { customer_reference })).id);
    const found = async (query: string) => {
      const answer = await requester.call("GET", `?search_field=customer_reference&search=order-7${query}`);
      const page = (await answer.json()) as {
        count: number;
        total_count: number;
        shipments: { shipment_id: string }[];
      };
      return { ...page, shipments: page.shipments.map(({ shipment_id }) => shipment_id) };
    };
    const wanted = [ids[3], ids[2], ids[0]];
    expect(await found("")).toEqual({ count: 3, total_count: 3, shipments: wanted });
    expect(await found("&limit=2&offset=1")).toEqual({ count: 2, total_count: 3, shipments: wanted.slice(1) });
    const first = await requester.call("GET", "?search_field=customer_reference&search=order-77");
    expect(await first.json()).toMatchObject({ shipments: [await requester.read(ids[1] as string)] });
  });

  test("gets 400 for an invalid search, 404 if the service cannot search", async () => {
    for (const query of ["", "?search=x", "?search_field=recipient&search=x"])
      expect(await status("GET", query), query).toBe(400);
    for (const limit of ["0", "101", "x"])
      expect(await status("GET", `?search_field=customer_reference&search=x&limit=${limit}`), limit).toBe(400);
    expect((await requester.control("settings", { search: false })).status).toBe(204);
    expect(await status("GET", "?search_field=customer_reference&search=x")).toBe(404);
  });
});

test("the settings change when shipments leave", async () => {
  const { id } = await ordered([{}]);
  expect((await requester.control("settings", { shipAfterMs: -1 })).status).toBe(400);
  expect((await requester.control("settings", { shipAfterMs: 0 })).status).toBe(204);
  expect((await stateOf(id)).shipment_state_id).toBe(103);
  delivery.settings({ shipAfterMs: NEVER });
  expect((await stateOf(id)).shipment_state_id).toBe(103);
});

test("a restarted service knows its keys, shipments, serial numbers and root", async () => {
  const folder = mkdtempSync(join(tmpdir(), "delivery-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const options = { token: TOKEN, shipAfterMs: NEVER, statePath: join(folder, "delivery.json") };
  const first = await startDelivery(options);
  const before = createRequester(first);
  const { shipment, customizations } = await before.order([{ pinLength: 6 }]);
  const { shipment: other } = await before.order([{}]);
  await first.control(shipment.shipment_id, { ship: true });
  const programmed = await before.read(shipment.shipment_id);
  const keys = await before.jwks(first.transportJwksUrl);
  await first.close();

  const second = await startDelivery(options);
  onTestFinished(() => second.close());
  const after = createRequester(second);
  expect(second.attestationRoot).toBe(first.attestationRoot);
  expect(await after.jwks(second.transportJwksUrl)).toEqual(keys);
  expect(await after.read(shipment.shipment_id)).toEqual(programmed);
  const jwe = programmed.shipment_items[0]?.product_data[0]?.fido_pin_response ?? "";
  await expect(after.open(jwe, customizations[0]?.pin as Sent)).resolves.toMatchObject({ type: "pin_response" });
  await second.control(other.shipment_id, { ship: true });
  const serials = (await second.shipments()).flatMap(key => key.keys.map(({ serial }) => serial));
  expect(new Set(serials).size).toBe(2);
});
