import { exportJWK, generateKeyPair, type JWK } from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import { findShipmentOwner } from "../../../../lib/connector/collect/decode-shipment.ts";
import type { KeyResponses } from "../../../../lib/connector/model/security-key.ts";
import { makeResponseKey } from "../../../../lib/connector/peers/exchange-messages.ts";
import { openSealed, pinResponseKeyPurpose, responseKeyPurpose } from "../../../../lib/connector/storage/sealed.ts";
import { hours, minutes } from "../../../../lib/platform/time.ts";
import { sealResponse } from "../../../../local/peers/security-key/exchange-format.ts";
import { unanswered } from "../../../support/connector/in-a-state.ts";
import {
  orderBody,
  peersOfFile,
  type TestConnector,
  testConnector,
} from "../../../support/connector/test-connector.ts";
import type { Body } from "../api/bodies.ts";

const peers = await peersOfFile();

const damaged = (jwe: string): string => {
  const [header, key, iv, text = "", tag] = jwe.split(".");
  return [header, key, iv, text.slice(0, 100), tag].join(".");
};

/** A request whose order had no response, and whose shipment was found by look-up. */
async function tentativelyLinked(connector: TestConnector, body: Body) {
  const requestId = await unanswered(connector, peers, { taken: true, body });
  connector.advance(minutes(16));
  await connector.runCredentials("timer");
  const { delivery } = await connector.requestRow(requestId);
  expect(delivery).toMatchObject({ shipment: { tentative: true, id: expect.any(String) } });
  return { requestId, shipmentId: delivery?.shipment?.id ?? "" };
}

async function runForHours(connector: TestConnector): Promise<void> {
  for (let hour = 0; hour < 20; hour += 5) {
    connector.advance(hours(5));
    await connector.runJobs();
  }
}

describe("a tentatively linked shipment", () => {
  test("is confirmed by responses that open with the keys of the request at other positions, and completes when they are corrected", async () => {
    const connector = await testConnector(peers);
    const { requestId, shipmentId } = await tentativelyLinked(connector, orderBody([1, 1]));
    await peers.delivery.control(shipmentId, { sabotage: "swapped" });
    await connector.runShipments("timer");
    const { delivery } = await connector.requestRow(requestId);
    expect(delivery).toMatchObject({ shipment: { id: shipmentId } });
    expect(delivery?.shipment?.tentative).toBeUndefined();
    await peers.delivery.control(shipmentId, { sabotage: null });
    await runForHours(connector);
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    expect(connector.events("shipment_link_rejected")).toEqual([]);
  });
});

describe("the owner of a shipment", () => {
  let connector: TestConnector;
  let loaded: Awaited<ReturnType<TestConnector["load"]>>;
  let ownKeys: readonly JWK[];
  let ownPinKey: JWK;
  let otherKey: JWK;
  let signKey: JWK;

  beforeAll(async () => {
    connector = await testConnector(peers);
    const { requestId } = await connector.order(orderBody([2]));
    loaded = await connector.load(requestId);
    const [key] = loaded.keys;
    const open = async (sealed: string | undefined, purpose: string): Promise<JWK> => {
      const context = { requestId, keyId: key?.id ?? "", purpose };
      const { d: _, ...publicJwk } = (await openSealed<JWK>(sealed ?? "", context, connector.context)) ?? {};
      return publicJwk;
    };
    ownKeys = await Promise.all(
      (key?.credentials ?? []).map(({ responseKey }, index) => open(responseKey, responseKeyPurpose(index))),
    );
    ownPinKey = await open(key?.pinResponseKey, pinResponseKeyPurpose);
    otherKey = (await makeResponseKey()).publicJwk;
    const { privateKey } = await generateKeyPair("ES384", { extractable: true });
    signKey = { ...(await exportJWK(privateKey)), kid: "s1" };
  });

  const responseTo = (recipient: JWK | undefined) => sealResponse({ v: 1 }, { recipient: recipient ?? {}, signKey });
  const withoutKid = ({ kid: _, ...key }: JWK): JWK => key;

  const ownerOf = (responses: KeyResponses, state = 103) => {
    const items = [{ productId: 1, inventoryProductId: 1, quantity: 1, keys: [responses] }];
    return findShipmentOwner(loaded, { id: "s", state: { id: state }, items } as never, connector.context);
  };

  test("is another request if every response is encrypted to a key that is not of this request", async () => {
    const other = await responseTo(otherKey);
    expect(await ownerOf({ credentials: [other, other], pinResponse: other })).toBe("another_request");
    expect(await ownerOf({ credentials: ["", other], pinResponse: "purged" })).toBe("another_request");
  });

  test("is this request if one response decrypts with a key of it, at whatever position", async () => {
    const [other, own] = await Promise.all([responseTo(otherKey), responseTo(ownKeys[1])]);
    expect(await ownerOf({ credentials: [own, other] })).toBe("this_request");
    expect(await ownerOf({ credentials: [other, other, other, other, own] })).toBe("this_request");
  });

  test("is this request if only the PIN response decrypts with a key of it", async () => {
    const [other, pinResponse] = await Promise.all([responseTo(otherKey), responseTo(ownPinKey)]);
    expect(await ownerOf({ credentials: [other, other], pinResponse })).toBe("this_request");
  });

  test("is this request if a response decrypts with a key of it that the key maker names in its own way", async () => {
    const own = await responseTo({ ...ownKeys[1], kid: "key-7" });
    expect(await ownerOf({ credentials: [own, own] })).toBe("this_request");
  });

  test("is unknown if a response beside those of another request is malformed, damaged or names no key", async () => {
    const [other, own, unnamed] = await Promise.all([
      responseTo(otherKey),
      responseTo(ownKeys[0]),
      responseTo(withoutKid(otherKey)),
    ]);
    for (const unproven of ["garbage", damaged(own), unnamed])
      expect(await ownerOf({ credentials: [other, unproven] })).toBe("unknown");
  });

  test("is unknown while there are no responses of credentials, or the state of the shipment does not allow them", async () => {
    const [other, own] = await Promise.all([responseTo(otherKey), responseTo(ownKeys[0])]);
    expect(await ownerOf({ credentials: ["", ""], pinResponse: other })).toBe("unknown");
    expect(await ownerOf({ credentials: [other, other] }, 102)).toBe("unknown");
    expect(await ownerOf({ credentials: [own, own] }, 102)).toBe("unknown");
  });
});
