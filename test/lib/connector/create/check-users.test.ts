import { afterEach, describe, expect, test } from "vitest";
import { minutes } from "../../../../lib/platform/time.ts";
import {
  idpsOf,
  newUser,
  orderBody,
  peersOfFile,
  refusalOf,
  testConnector,
} from "../../../support/connector/test-connector.ts";
import { altered } from "../api/bodies.ts";

const peers = await peersOfFile();
afterEach(() => peers.entra.settings({ policy: {}, readsUsers: true, readsPolicies: true }));

const users = /\/users\/[^/]+$/;
const policies = /\/policies\//;
const ordered = () => peers.delivery.count("POST", /shipments$/);
const checks = () => [peers.entra.count("GET", users), peers.entra.count("GET", policies)];

test("a create that the tenant's policy forbids is refused before it is ordered, with the switch to change", async () => {
  peers.entra.settings({ policy: { isSelfServiceRegistrationAllowed: false } });
  const connector = await testConnector(peers);
  const message = expect.stringMatching(
    /^The identity provider entra would refuse the credential: shipment.*user_id cannot get a passkey: set "Allow self-service set up" to Yes in the Microsoft Entra admin center/,
  );
  const body = { error_code: "idp_error", error_message: message };
  expect(await refusalOf(connector.order())).toMatchObject({ status: 400, body });
  expect(ordered()).toBe(0);
  const [{ requestId } = { requestId: "" }] = await connector.queue("clean");
  expect(await connector.read(requestId)).toMatchObject({ state: "failed", error_message: message });
});

describe("a check of users beside a create", () => {
  test("is one call for each user, and one a minute for the policy", async () => {
    const connector = await testConnector(peers);
    const [one, two] = [newUser(), newUser()];
    const keys = [[one, two], [one]].map(users => users.map(user_id => ({ user_id })));
    const order = () =>
      connector.order(
        altered(orderBody([2, 1]), {
          "shipment.shipment_items[0].credentials": keys[0],
          "shipment.shipment_items[1].credentials": keys[1],
        }),
      );
    await order();
    expect(checks()).toEqual([2, 1]);
    await order();
    expect(checks()).toEqual([4, 1]);
    connector.advance(minutes(1));
    await order();
    expect(checks()).toEqual([6, 2]);
  });

  test("runs while creation options are requested", async () => {
    const connector = await testConnector(peers);
    peers.entra.fail({ kind: "hang", path: "creationOptions" });
    peers.entra.fail({ kind: "hang", path: users.source });
    peers.entra.fail({ kind: "hang", path: policies.source });
    const order = connector.order();
    await peers.entra.untilHanging(3);
    peers.entra.release();
    await order;
    expect(ordered()).toBe(1);
  });

  test.each([
    ["the users cannot be read", users],
    ["the policy cannot be read", policies],
  ])("does not prevent the order if %s", async (_, path) => {
    for (const fault of [{ kind: "refuse", status: 500 }, { kind: "drop" }, { kind: "nonsense" }] as const) {
      const connector = await testConnector(peers);
      peers.entra.fail({ ...fault, path: path.source, times: 3 });
      await connector.order();
    }
    expect(ordered()).toBe(3);
  });

  test("is not waited for longer than its time", async () => {
    const connector = await testConnector(peers, { limits: { userCheckMs: 200 } });
    peers.entra.fail({ kind: "hang", path: policies.source });
    await connector.order();
    expect(ordered()).toBe(1);
    expect(peers.entra.hanging()).toBe(1);
  });

  test("logs a missing permission once, and does not prevent the order", async () => {
    peers.entra.settings({ readsUsers: false, readsPolicies: false });
    const connector = await testConnector(peers);
    await connector.order(orderBody([2]));
    await connector.order();
    expect(ordered()).toBe(2);
    expect(connector.events("idp_right_missing")).toMatchObject([
      {
        idp: "entra",
        reasons: [expect.stringMatching(/User.Read.All$/), expect.stringMatching(/AuthenticationMethod$/)],
      },
    ]);
  });

  test("that fails by a bug ends the create without an order", async () => {
    const connector = await testConnector(peers, {
      ports: context => ({ idps: idpsOf(context, () => ({ checkUser: () => Promise.reject(new Error("a bug")) })) }),
    });
    await expect(connector.order()).rejects.toThrow("a bug");
    expect(ordered()).toBe(0);
    expect(await connector.queue("reconcile")).toEqual([]);
  });
});
