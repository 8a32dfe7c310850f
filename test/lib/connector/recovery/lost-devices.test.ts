import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { cancelRequest } from "../../../../lib/connector/cancel/cancel-request.ts";
import { SealError } from "../../../../lib/seal.ts";
import { minutes } from "../../../../lib/time.ts";
import { idpFile } from "../../../../local/peers/all.ts";
import {
  newUser,
  orderBody,
  peersOfFile,
  refusalOf,
  type TestConnector,
  testConnector,
} from "../../../support/connector/test-connector.ts";
import { altered } from "../api/v2/bodies.ts";

const peers = await peersOfFile();
const directory = mkdtempSync(join(tmpdir(), "lost-devices-"));
const path = join(directory, "idps.yaml");
writeFileSync(path, idpFile(peers));
afterAll(() => rmSync(directory, { recursive: true }));
const settings = { IDP_ENABLE_MULTI_IDP: "true", IDP_CONFIGURATION_PATH: path, IDP_DEFAULT: "pingone" };

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
    const withOtherVault = connector.anotherInstance({
      ports: ({ sealer }) => ({
        sealer: {
          ...sealer,
          open: async () => {
            throw new SealError("The key version is not in this vault.");
          },
        },
      }),
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
      error_message: expect.stringMatching(/does not answer/),
    });
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
      error_message: expect.stringMatching(/does not answer/),
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

test("a cancel leaves the device of a credential whose response has arrived, which is activated", async () => {
  const connector = await testConnector(peers, {
    settings,
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      if (init?.method !== "GET" || !/shipments\/[^/]+$/.test(String(url)) || !response.ok) return response;
      // Only the response for the first credential has arrived.
      return new Response((await response.text()).replace(/("fido_credential_responses":\["[^"]*"),"[^"]*"/, "$1"));
    },
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
  const changed = join(directory, "changed-idps.yaml");
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
