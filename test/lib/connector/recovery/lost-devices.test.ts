import { writeFileSync } from "node:fs";
import { beforeEach, describe, expect, test } from "vitest";
import { cancelRequest } from "../../../../lib/connector/cancel/cancel-request.ts";
import { isTerminal } from "../../../../lib/connector/model/states.ts";
import { SealError } from "../../../../lib/platform/crypto.ts";
import { PeerFailure } from "../../../../lib/platform/peer-failure.ts";
import { days, hours, minutes } from "../../../../lib/platform/time.ts";
import { idpFile } from "../../../../local/peers/all.ts";
import { changedKeys, withPort } from "../../../support/connector/changed-peers.ts";
import { everyIdpOfFile } from "../../../support/connector/in-a-state.ts";
import { idAt, onSiteBody } from "../../../support/connector/on-site.ts";
import {
  newUser,
  orderBody,
  peersOfFile,
  refusalOf,
  type TestConnector,
  testConnector,
  withoutPins,
} from "../../../support/connector/test-connector.ts";
import { altered } from "../api/bodies.ts";

const peers = await peersOfFile();
const everyIdp = everyIdpOfFile(peers);
const settings = { ...everyIdp, IDP_DEFAULT: "pingone" };

const begin = { method: "POST", path: "/devices$" } as const;
const removals = () => peers.pingone.count("DELETE", /\/devices\/[^/]+$/);
const orderFor = (user: string) => altered(orderBody(), { "shipment.shipment_items[0].credentials[0].user_id": user });

/** The states of a request whose create was refused, as its job finds it. */
async function stateOf(connector: TestConnector) {
  const [entry] = [...(await connector.queue("reconcile")), ...(await connector.queue("clean"))];
  return connector.read(entry?.requestId ?? "");
}

describe("a device that PingOne began without its answer being read", () => {
  let connector: TestConnector;
  /** The calls that began a device, to be made once more. */
  const started: { readonly url: string; readonly init: RequestInit }[] = [];
  beforeEach(async () => {
    started.length = 0;
    connector = await testConnector(peers, {
      settings,
      fetch: (input, init = {}) => {
        if (init.method === "POST" && String(input).endsWith("/devices")) started.push({ url: String(input), init });
        return fetch(input, init);
      },
    });
  });

  test("is removed at once, so that a user's limit is not used up by creates that failed", async () => {
    const user = newUser();
    for (let round = 0; round < 7; round++) {
      peers.pingone.fail({ kind: "drop", ...begin, phase: "after" });
      expect(await refusalOf(connector.order(orderFor(user)))).toMatchObject({ status: 503 });
    }
    expect(removals()).toBe(7);
    const { requestId } = await connector.order(orderFor(user));
    expect(await connector.read(requestId)).toMatchObject({ state: "started" });
  });

  test("is removed by a cancel, too, if its stored id does not open any more", async () => {
    const { requestId, shipmentId = "" } = await connector.order(orderFor(newUser()));
    await peers.delivery.control(shipmentId, { state: 101 });
    const unreadable = new SealError("The key version is not in this vault.");
    const withOtherVault = connector.anotherInstance({
      ports: withPort("sealer", () => ({ open: () => Promise.reject(unreadable) })),
    });
    await cancelRequest(requestId, withOtherVault.context);
    expect(await connector.read(requestId)).toMatchObject({ state: "cancelled" });
    expect(removals()).toBe(1);
    expect(withOtherVault.events("sealed_value_unreadable")).toHaveLength(1);
  });

  test("is removed by the job when PingOne began it after the connector had looked", async () => {
    const user = newUser();
    peers.pingone.fail({ kind: "drop", ...begin });
    expect(await refusalOf(connector.order(orderFor(user)))).toMatchObject({ status: 503 });
    expect(await stateOf(connector)).toMatchObject({
      state: "received",
      error_message: expect.stringMatching(/is not responding/),
    });
    const [{ requestId } = { requestId: "" }] = await connector.queue("reconcile");
    expect(await refusalOf(cancelRequest(requestId, connector.context))).toMatchObject({ status: 409 });
    // The call arrives late: the same device under the same nickname.
    const [
      {
        url,
        init: { signal: _, ...late },
      } = { url: "", init: {} },
    ] = started;
    expect((await fetch(url, late)).status).toBe(201);
    connector.advance(minutes(6));
    await connector.runCredentials();
    expect(await stateOf(connector)).toMatchObject({
      state: "failed",
      error_message: expect.stringMatching(/is not responding/),
    });
    expect(removals()).toBe(1);
  });

  test("is removed by the job after a crash, and no other device is", async () => {
    const user = newUser();
    const { requestId: kept } = await connector.order(orderFor(user));
    const dying = connector.anotherInstance({
      ports: ({ delivery }) => ({ delivery: { ...delivery, transportKeys: () => new Promise(() => {}) } }),
    });
    void dying.order(orderFor(user)).catch(() => {});
    await expect.poll(() => peers.pingone.count("POST", /\/devices$/)).toBe(2);
    connector.advance(minutes(6));
    await connector.runCredentials();
    expect(removals()).toBe(1);
    expect(await connector.read(kept)).toMatchObject({ state: "started" });
  });
});

describe("a device with unusable creation options that PingOne does not remove", () => {
  test.each<[string, (options: string) => string, string]>([
    ["are not readable", () => "{", "the object is missing or cannot be read"],
    [
      "are of another relying party",
      options => JSON.stringify({ ...JSON.parse(options), rp: { id: "other.example" } }),
      "The relying party of this IdP is other.example; its configuration has another default-relying-party.",
    ],
  ])(
    "is removed by the job if they %s, and the create is refused as the administrator's fault",
    async (_, spoil, why) => {
      const connector = await testConnector(peers, {
        settings,
        fetch: async (url, init) => {
          const response = await fetch(url, init);
          if (init?.method !== "POST" || !String(url).endsWith("/devices")) return response;
          const created = (await response.json()) as { publicKeyCredentialCreationOptions: string };
          const publicKeyCredentialCreationOptions = spoil(created.publicKeyCredentialCreationOptions);
          return Response.json({ ...created, publicKeyCredentialCreationOptions }, { status: 201 });
        },
      });
      peers.pingone.fail({ kind: "refuse", method: "DELETE", status: 500, times: 1000 });
      expect(await refusalOf(connector.order(orderFor(newUser())))).toMatchObject({
        status: 400,
        body: {
          error_code: "idp_error",
          error_message: `The creation options of the identity provider pingone are not usable: ${why}`,
        },
      });
      expect(connector.events("idp_options_refused")).toMatchObject([{ idp: "pingone", detail: why }]);
      expect(await stateOf(connector)).toMatchObject({ state: "received" });

      peers.pingone.clearFaults();
      const before = removals();
      connector.advance(minutes(6));
      await connector.runCredentials();
      expect(removals()).toBe(before + 1);
      expect(await stateOf(connector)).toMatchObject({ state: "failed", error_message: expect.stringContaining(why) });
    },
  );
});

test("a device of an order that is never confirmed is left, because the shipment may exist", async () => {
  const connector = await testConnector(peers, { settings });
  peers.delivery.fail({ kind: "drop", method: "POST" });
  await refusalOf(connector.order(orderFor(newUser())));
  connector.advance(days(4));
  await connector.runCredentials();
  expect(await stateOf(connector)).toMatchObject({ state: "failed" });
  expect(removals()).toBe(0);
});

describe("the device of a credential that is not made", () => {
  const limit = 5;
  const onSiteOf = (user: string, credentials: readonly object[] = [{ user_id: user }]) =>
    onSiteBody([{ credentials: credentials.map(each => ({ user_id: user, ...each })) }], user);

  test.each<[string, (id: string) => unknown]>([
    ["is declined on site", id => peers.rfpr.control(id, { decline: "" })],
    ["fails on site", id => peers.rfpr.control(id, { fail: "" })],
    ["has no room on its authenticator", id => peers.rfpr.enroll(id, { fails: [0] })],
  ])("is removed if it %s, so that a user's limit is not used up", async (_, end) => {
    const connector = await testConnector(peers, { settings });
    const user = newUser();
    for (let round = 0; round <= limit; round++) {
      const { requestId } = await connector.order(onSiteOf(user));
      await end(idAt(requestId));
      await connector.runCredentials();
      expect(isTerminal((await connector.read(requestId)).state)).toBe(true);
    }
  });

  /** Polls three times within a day, beside a shipment that the delivery service knows. */
  const pollThreeTimes = async (connector: TestConnector) => {
    for (const _ of [1, 2, 3]) {
      connector.advance(hours(12));
      await connector.runShipments("timer");
    }
  };
  const connectorWithKnownShipment = async () => {
    const connector = await testConnector(peers, { settings });
    const { shipmentId = "" } = await connector.order(withoutPins(orderBody()));
    await peers.delivery.control(shipmentId, { state: 101 });
    return connector;
  };

  test("is removed if its shipment was deleted at the delivery service", async () => {
    const connector = await connectorWithKnownShipment();
    const user = newUser();
    for (let round = 0; round <= limit; round++) {
      const { requestId, shipmentId = "" } = await connector.order(withoutPins(orderFor(user)));
      await peers.delivery.control(shipmentId, { delete: true });
      await pollThreeTimes(connector);
      expect(await connector.read(requestId)).toMatchObject({ state: "cancelled" });
    }
  });

  test.each([
    ["is left, and its credential ends, if PingOne refuses the removal", [403], "cancelled"],
    ["is waited for if PingOne refuses the removal of one and does not answer for another", [403, 500], "started"],
  ])("%s after the shipment was deleted", async (_, statuses, state) => {
    const connector = await connectorWithKnownShipment();
    const body = altered(orderBody([2]), {
      "shipment.shipment_items[0].credentials[0].user_id": newUser(),
      "shipment.shipment_items[0].credentials[1].user_id": newUser(),
    });
    const { requestId, shipmentId = "" } = await connector.order(withoutPins(body));
    await peers.delivery.control(shipmentId, { delete: true });
    connector.advance(hours(12));
    await connector.runShipments("timer");
    connector.advance(hours(12));
    await connector.runShipments("timer");
    const [first = 0, others = first] = statuses;
    peers.pingone.fail({ kind: "refuse", method: "GET", path: "/devices/", status: first });
    peers.pingone.fail({ kind: "refuse", method: "GET", path: "/devices/", status: others, times: 1000 });
    connector.advance(hours(12));
    await connector.runShipments("timer");
    expect(await connector.read(requestId)).toMatchObject({ state });
    expect(removals()).toBe(0);
  });

  test("is removed after an outage of PingOne, and ends its credential then", async () => {
    const connector = await connectorWithKnownShipment();
    const onSite = await connector.order(onSiteOf(newUser()));
    const shipped = await connector.order(withoutPins(orderFor(newUser())));
    peers.rfpr.control(idAt(onSite.requestId), { decline: "Not needed" });
    await peers.delivery.control(shipped.shipmentId ?? "", { delete: true });
    peers.pingone.fail({ kind: "refuse", method: "GET", path: "/devices/", status: 500, times: 1000 });
    await pollThreeTimes(connector);
    await connector.runCredentials("timer");
    const message = "The enrollment has ended. What pingone began for it will be removed when pingone answers.";
    expect(await connector.read(onSite.requestId)).toMatchObject({
      state: "started",
      authenticators: [{ credentials: [{ state: "processing", error_message: message }] }],
    });
    expect(await connector.read(shipped.requestId)).toMatchObject({ state: "started" });
    expect(removals()).toBe(0);
    peers.pingone.clearFaults();
    connector.advance(hours(6));
    await connector.runJobs();
    expect(removals()).toBe(2);
    expect(await connector.read(onSite.requestId)).toMatchObject({
      state: "cancelled",
      authenticators: [{ credentials: [{ error_message: "Not needed" }] }],
    });
    expect(await connector.read(shipped.requestId)).toMatchObject({ state: "cancelled" });
  });

  test.each([
    ["fails", 500],
    ["has answered 429", 429],
  ])(
    "is not waited for if another credential of the security key is to be activated: PingOne %s",
    async (_, status) => {
      const connector = await testConnector(peers, { settings });
      const { requestId } = await connector.order(onSiteOf(newUser(), [{}, { idp_id: "entra", user_id: newUser() }]));
      await peers.rfpr.enroll(idAt(requestId), { fails: [0] });
      peers.pingone.fail({ kind: "refuse", method: "GET", path: "/devices/", status, times: 1000 });
      if (status === 429) {
        const throttled = new PeerFailure("IdP pingone", "compensate", "throttled", { status, retryAfterSeconds: 90 });
        connector.context.peerLimits.of("IdP pingone").pauseAfter(throttled);
      }
      await connector.runCredentials();
      expect(await connector.read(requestId)).toMatchObject({
        state: "partial",
        authenticators: [{ credentials: [{ state: "failed" }, { state: "active" }] }],
      });
    },
  );

  test("is not asked for by a run after three failures, and not waited for after the end of the challenge", async () => {
    const connector = await testConnector(peers, { settings, limits: { callsAtOnce: 1 } });
    const users = [newUser(), newUser(), newUser(), newUser()];
    for (const user of users) await connector.order(onSiteOf(user, [{}, { user_id: newUser() }]));
    peers.pingone.fail({ kind: "refuse", method: "GET", path: "/devices/", status: 500, times: 1000 });
    connector.advance(days(180));
    await connector.runCredentials("timer");
    expect(connector.events("compensation_failed")).toHaveLength(3);
    expect(connector.events("peer_stopped")).toMatchObject([{ peer: "IdP pingone" }]);
    expect(await connector.queue("clean")).toHaveLength(users.length);
  });

  const activation = { method: "POST", path: "/devices/[^/]+$" } as const;

  test.each<[string, (connector: TestConnector) => Promise<unknown>]>([
    [
      "is not programmed before its challenge expires",
      async connector => {
        connector.advance(days(180));
        await connector.runShipments();
      },
    ],
    [
      "is refused at its activation",
      async connector => {
        peers.pingone.fail({ kind: "refuse", ...activation, status: 400 });
        await connector.runJobs();
        connector.advance(minutes(1));
        await connector.runCredentials();
      },
    ],
    [
      "is refused after an attempt without an answer",
      async connector => {
        peers.pingone.fail({ kind: "drop", ...activation });
        await connector.runJobs();
        peers.pingone.fail({ kind: "refuse", ...activation, status: 400 });
        await connector.runCredentials();
        expect(await connector.queue("key")).toHaveLength(1);
        connector.advance(minutes(2));
        await connector.runCredentials();
      },
    ],
    [
      "is not activated in time",
      async connector => {
        peers.pingone.fail({ kind: "refuse", ...activation, status: 500, times: 1000 });
        await connector.runJobs();
        connector.advance(days(14));
        await connector.runCredentials();
        peers.pingone.clearFaults();
      },
    ],
  ])("is removed if a shipped one %s, so that a user's limit is not used up", async (_, end) => {
    const connector = await testConnector(peers, { settings });
    const user = newUser();
    for (let round = 0; round <= limit; round++) {
      const { requestId } = await connector.order(withoutPins(orderFor(user)));
      await end(connector);
      expect(await connector.read(requestId)).toMatchObject({ state: "failed" });
    }
  });

  test("is left if the activation may have succeeded: no look-up is answered until the end of the retries", async () => {
    const connector = await testConnector(peers, { settings });
    const user = newUser();
    const { requestId } = await connector.order(withoutPins(orderFor(user)));
    peers.pingone.fail({ kind: "drop", ...activation, phase: "after" });
    await connector.runJobs();
    peers.pingone.fail({ kind: "refuse", method: "GET", path: "/devices/", status: 500, times: 3 });
    connector.advance(days(14));
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({
      state: "failed",
      shipment: {
        shipment_items: [
          {
            credentials: [{ may_be_registered: true }],
          },
        ],
      },
    });
    expect(removals()).toBe(0);
    expect(peers.pingone.registrations(user)).toHaveLength(1);
  });

  test("is not waited for if PingOne does not answer when the challenge of a shipped one expires", async () => {
    const connector = await testConnector(peers, { settings });
    const { requestId } = await connector.order(withoutPins(orderFor(newUser())));
    peers.pingone.fail({ kind: "refuse", method: "GET", path: "/devices/", status: 500, times: 1000 });
    connector.advance(days(180));
    await connector.runShipments("timer");
    expect(await connector.read(requestId)).toMatchObject({ state: "failed" });
    expect(connector.events("compensation_failed")).toHaveLength(1);
  });
});

test("a cancel leaves the device of a credential whose response has arrived, which is activated", async () => {
  const connector = await testConnector(peers, {
    settings,
    // Only the response for the first credential has arrived.
    ...changedKeys(key => ({ ...key, fido_credential_responses: key.fido_credential_responses.slice(0, 1) })),
  });
  const { requestId, shipmentId = "" } = await connector.order(orderBody([2]));
  await connector.runShipments();
  // The service can delete the shipment again.
  await peers.delivery.control(shipmentId, { state: 101 });
  await cancelRequest(requestId, connector.context);
  expect(removals()).toBe(1);
  await connector.runCredentials();
  const [item] = (await connector.read(requestId)).shipment?.shipment_items ?? [];
  expect(item?.credentials.map(({ state }) => state)).toEqual(["active", "cancelled"]);
});

test("a cancel does not wait for a device if its identity provider was of another kind when the request was created", async () => {
  const connector = await testConnector(peers, { settings: { ...settings, IDP_DEFAULT: "entra" } });
  const { requestId, shipmentId = "" } = await connector.order();
  await peers.delivery.control(shipmentId, { state: 101 });
  const changed = `${everyIdp.IDP_CONFIGURATION_PATH}.changed`;
  writeFileSync(
    changed,
    idpFile(peers)
      .replace(/^entra:/m, "former:")
      .replace(/^pingone:/m, "entra:"),
  );
  const other = connector.anotherInstance({ settings: { IDP_CONFIGURATION_PATH: changed } });
  await cancelRequest(requestId, other.context);
  expect(await connector.read(requestId)).toMatchObject({ state: "cancelled" });
});
