import { describe, expect, onTestFinished, test } from "vitest";
import type { Fetch } from "../../../../lib/platform/call-peer.ts";
import { PeerFailure } from "../../../../lib/platform/peer-failure.ts";
import { between, days, hours, minutes, seconds } from "../../../../lib/platform/time.ts";
import type { FaultRule } from "../../../../local/peers/peer.ts";
import { changedKeys, withIdps, withPort } from "../../../support/connector/changed-peers.ts";
import { everyIdpOfFile, usersOf } from "../../../support/connector/in-a-state.ts";
import {
  type ConnectorOptions,
  graphAt,
  newUser,
  orderBody,
  peersOfFile,
  type TestConnector,
  testConnector,
  withoutPins,
} from "../../../support/connector/test-connector.ts";
import { deadAddress } from "../../../support/dead-address.ts";
import { altered, type Body } from "../api/bodies.ts";

const peers = await peersOfFile();
const everyIdp = everyIdpOfFile(peers);
const posts = () => peers.entra.count("POST", /fido2Methods$/);
const readBacks = () => peers.entra.count("GET", /fido2Methods$/);
const failing = (rule: FaultRule) => peers.entra.fail({ method: "POST", path: "fido2Methods$", ...rule });
const registrationsOf = (user: string) => peers.entra.registrations().filter(({ userId }) => userId === user).length;

interface Ready {
  readonly connector: TestConnector;
  readonly requestId: string;
  readonly users: readonly string[];
  /** The credential as read, the first one where no index is given. */
  credential(index?: number): Promise<Readonly<Record<string, unknown>>>;
}

/** A request whose responses have come: of one key without a PIN where no body is given. */
async function ready(options: ConnectorOptions = {}, body: Body = withoutPins(orderBody())): Promise<Ready> {
  const connector = await testConnector(peers, options);
  const { requestId } = await connector.orderAndPoll(body);
  return {
    connector,
    requestId,
    users: usersOf(body),
    credential: async (index = 0) => {
      const { shipment } = await connector.read(requestId);
      return shipment?.shipment_items[0]?.credentials[index] ?? {};
    },
  };
}

/** The calls of the connector, of which an activation is lost on its way if `isLost` returns true. */
const withLostActivation =
  (call: Fetch, isLost: () => boolean): Fetch =>
  async (url, init) => {
    if (init?.method === "POST" && /fido2Methods$/.test(String(url)) && isLost()) throw new TypeError("lost");
    return call(url, init);
  };

test("an activation that is answered with the id of another credential is read back, and then repeated", async () => {
  const { connector, users, credential } = await ready();
  const id = Buffer.alloc(32, 7).toString("base64url");
  failing({ kind: "nonsense", status: 201, body: { id } });
  await connector.runCredentials();
  expect(registrationsOf(users[0] ?? "")).toBe(0);
  expect(await credential()).toMatchObject({
    state: "activation_pending",
    error_message: expect.stringContaining("the id of another credential"),
  });
  connector.advance(minutes(1));
  await connector.runCredentials();
  expect({ posts: posts(), readBacks: readBacks() }).toEqual({ posts: 2, readBacks: 1 });
  expect(registrationsOf(users[0] ?? "")).toBe(1);
  expect(await credential()).toMatchObject({ state: "active" });
});

describe("an activation that fails for a transient reason", () => {
  test("because its connection is refused does not count as sent", async () => {
    const { connector, requestId, credential } = await ready();
    const away = connector.anotherInstance({ settings: graphAt(peers, deadAddress) });
    await away.runCredentials();
    expect(await credential()).toMatchObject({ state: "activation_pending", error_message: expect.any(String) });
    expect((await connector.keyRow(requestId)).credentials[0]?.triedAt).toBeUndefined();
    expect(away.events("activation_failed")).toMatchObject([
      { keyId: "s-01-001", index: 0, error: { name: "PeerFailure" } },
    ]);
  });

  test("because no access token is issued does not count as sent, and keeps its reason", async () => {
    const { connector, requestId, credential } = await ready();
    const later = connector.anotherInstance();
    peers.entra.fail({ kind: "refuse", status: 503, path: "/oauth2/", times: 100 });
    for (let run = 0; run < 2; run++) {
      await later.runCredentials();
      expect(await credential()).toMatchObject({
        state: "activation_pending",
        error_message: "A simulated fault",
      });
      expect((await connector.keyRow(requestId)).credentials[0]?.triedAt).toBeUndefined();
      connector.advance(hours(1));
    }
    peers.entra.clearFaults();
    await later.runCredentials();
    expect(await credential()).toMatchObject({ state: "active" });
    expect([posts(), readBacks()]).toEqual([1, 0]);
  });

  test("keeps its reason while it cannot be read back", async () => {
    const { connector, credential } = await ready();
    failing({ kind: "refuse", status: 403, times: 1, body: { error: { code: "Forbidden", message: "No right." } } });
    await connector.runCredentials();
    for (let run = 0; run < 2; run++) {
      peers.entra.fail({ kind: "refuse", method: "GET", path: "fido2Methods$", times: 3 });
      await connector.runCredentials();
      expect(await credential()).toMatchObject({
        state: "activation_pending",
        error_message: "The identity provider entra could not be queried for the credential after: No right.",
      });
      connector.advance(hours(1));
    }
  });

  test("is found to have succeeded also where Graph lists keys under GUIDs, from the first unanswered try on", async () => {
    peers.entra.settings({ methodIds: "guid" });
    onTestFinished(() => peers.entra.settings({ methodIds: "credential" }));
    const { connector, requestId, users, credential } = await ready();
    failing({ kind: "drop", phase: "after" });
    await connector.runCredentials();
    const first = (await connector.keyRow(requestId)).credentials[0]?.triedAt;
    // The list is a while behind: another try is made, and refused as one too many.
    peers.entra.fail({ kind: "refuse", status: 200, body: { value: [] }, method: "GET", path: "fido2Methods$" });
    connector.advance(hours(1));
    await connector.runCredentials();
    expect((await connector.keyRow(requestId)).credentials[0]?.triedAt).toBe(first);
    connector.advance(hours(1));
    await connector.runCredentials();
    expect(await credential()).toMatchObject({ state: "active" });
    expect(registrationsOf(users[0] ?? "")).toBe(1);
  });
});

test("an activation whose response is no longer stored ends failed and says so", async () => {
  const { connector, credential } = await ready();
  const host = connector.anotherInstance({ ports: withPort("responses", () => ({ get: async () => undefined })) });
  await host.runCredentials();
  expect(await credential()).toMatchObject({ state: "failed", error_message: "The key maker's response is lost." });
  expect(posts()).toBe(0);
});

describe("retryable_until", () => {
  const shortChallenge = { IDPA_FIDO_API_CHALLENGE_TIMEOUT_MINUTES: "62", DELIVERY_PRODUCTION_DAYS: "0" };
  const until = async (settings: Record<string, string>) => {
    const { connector, credential } = await ready({ settings });
    return between(connector.now(), String((await credential()).retryable_until));
  };
  test("is the time of the response and RFPR_RETRY_NUMBER_DAYS", async () => {
    const longChallenge = { IDPA_FIDO_API_CHALLENGE_TIMEOUT_MINUTES: "43200" };
    expect(await until(longChallenge)).toBe(days(14));
    expect(await until({ ...longChallenge, RFPR_RETRY_NUMBER_DAYS: "2" })).toBe(days(2));
  });

  test("is never beyond the identity provider's own challenge expiry", async () => {
    const left = await until(shortChallenge);
    expect(left).toBeLessThanOrEqual(minutes(63));
    expect(left).toBeGreaterThan(minutes(61));
  });

  const untilEnd = async (connector: TestConnector, credential: Ready["credential"]) =>
    connector.advance(between(connector.now(), String((await credential()).retryable_until)));

  test("ends a pending credential at its time, not at the next back-off, failed with the last reason", async () => {
    const { connector, requestId, credential } = await ready({ settings: { RFPR_RETRY_NUMBER_DAYS: "1" } });
    failing({ kind: "throttle", retryAfter: 3600, times: 1000 });
    for (let hour = 0; hour < 23.5; hour += 0.5) {
      await connector.runCredentials("timer");
      connector.advance(minutes(30));
    }
    expect(await credential()).toMatchObject({ state: "activation_pending" });
    await untilEnd(connector, credential);
    expect(await connector.runCredentials("timer")).toMatchObject({ processed: 1, failed: 1 });
    expect(await credential()).toMatchObject({
      state: "failed",
      error_message: expect.stringMatching(/^Not activated in time. A simulated fault/),
    });
    expect(await connector.read(requestId)).toMatchObject({ state: "failed" });
    expect(readBacks()).toBe(posts());
  });

  test("is the end also for one whose Retry-After reaches beyond it", async () => {
    const { connector, credential } = await ready({ settings: shortChallenge });
    failing({ kind: "throttle", retryAfter: 86_400 });
    await connector.runCredentials();
    await untilEnd(connector, credential);
    expect(await connector.runCredentials("timer")).toMatchObject({ failed: 1 });
    expect(posts()).toBe(1);
  });

  test.each([
    ["after", "active", undefined],
    ["before", "failed", "Not activated in time. IdP entra: registration unanswered"],
  ] as const)("reads an unanswered try back that was %s done", async (phase, state, message) => {
    const { connector, credential } = await ready();
    failing({ kind: "drop", phase });
    await connector.runCredentials();
    await untilEnd(connector, credential);
    await connector.runCredentials("timer");
    expect(await credential()).toMatchObject({ state });
    expect((await credential()).error_message).toBe(message);
    expect(posts()).toBe(1);
    expect(readBacks()).toBe(1);
  });
});

describe("an activation that is not answered", () => {
  test("is not taken for another key without a serial number, which has the same user and name", async () => {
    const user = newUser();
    const body: Body = withoutPins(orderBody([1, 1]));
    for (const item of body.shipment.shipment_items) {
      item.name = "Key";
      item.credentials[0].user_id = user;
    }
    let sent = 0;
    const lost = withLostActivation(changedKeys(({ serial_number: _, ...key }) => key).fetch, () => ++sent === 2);
    const { connector, requestId } = await ready({ fetch: lost }, body);
    await connector.runCredentials();
    connector.advance(minutes(1));
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    expect(registrationsOf(user)).toBe(2);
  });

  test("is recorded before it is sent: a create handler that dies in the call is read back by the next run", async () => {
    const killed = withIdps(({ activate }) => ({
      activate: async (...call) => {
        await activate(...call);
        throw new Error("killed");
      },
    }));
    const { connector, requestId, credential } = await ready({ ports: killed });
    await connector.runCredentials();
    expect(connector.events("work_failed")).toHaveLength(1);
    expect((await connector.keyRow(requestId)).credentials[0]?.triedAt).toBe(connector.now());
    const host = connector.anotherInstance({ ports: () => ({}) });
    await host.runCredentials();
    expect(await credential()).toMatchObject({ state: "activation_pending" });
    host.advance(seconds(180));
    await host.runCredentials();
    expect(await credential()).toMatchObject({ state: "active" });
    expect([posts(), readBacks()]).toEqual([1, 1]);
  });

  test("is found by the name of a key with several users where Graph lists keys under GUIDs", async () => {
    peers.entra.settings({ methodIds: "guid" });
    onTestFinished(() => peers.entra.settings({ methodIds: "credential" }));
    const { connector, users, credential } = await ready({}, withoutPins(orderBody([2])));
    failing({ kind: "drop", phase: "after", times: 2 });
    await connector.runCredentials();
    connector.advance(minutes(1));
    await connector.runCredentials();
    for (const index of [0, 1]) expect(await credential(index)).toMatchObject({ state: "active" });
    expect([posts(), ...users.map(registrationsOf)]).toEqual([2, 1, 1]);
  });

  test("is not found by the registration of the same person under another name on the key", async () => {
    peers.entra.settings({ methodIds: "guid" });
    onTestFinished(() => peers.entra.settings({ methodIds: "credential" }));
    const others: unknown[] = [];
    const { connector, requestId } = await ready(
      {
        ports: withIdps(({ isRegistered }) => ({
          isRegistered: async (state, query, signal) => {
            others.push(query.others);
            return isRegistered?.(state, query, signal);
          },
        })),
      },
      withoutPins(orderBody([2])),
    );
    failing({ kind: "drop", phase: "before", times: 1 });
    await connector.runCredentials();
    connector.advance(minutes(1));
    await connector.runCredentials();
    const [first, second] = (await connector.keyRow(requestId)).credentials;
    expect([first?.state, second?.state]).toEqual(["active", "active"]);
    expect(others).toEqual([[second?.credentialId, second?.registrationId]]);
  });

  test("is not sent while it cannot be read back", async () => {
    const { connector, credential } = await ready();
    failing({ kind: "drop", phase: "before" });
    await connector.runCredentials();
    peers.entra.fail({ kind: "refuse", method: "GET", path: "fido2Methods$", times: 3 });
    await connector.runCredentials();
    expect(await credential()).toMatchObject({
      state: "activation_pending",
      error_message: expect.stringContaining("could not be queried"),
    });
    expect(connector.events("read_back_failed")).toMatchObject([{ idp: "entra", error: { name: "PeerFailure" } }]);
    peers.entra.fail({ kind: "throttle", method: "GET", path: "fido2Methods$", retryAfter: 900 });
    await connector.runCredentials("on_demand");
    connector.advance(seconds(899));
    expect(await connector.runCredentials("on_demand")).toMatchObject({ processed: 0 });
    expect(posts()).toBe(1);
    connector.advance(seconds(1));
    await connector.runCredentials();
    expect(await credential()).toMatchObject({ state: "active" });
  });

  test("and then refused is believed only after a second read-back at least a minute later", async () => {
    const { connector, users, credential } = await ready();
    failing({ kind: "drop", phase: "before" });
    await connector.runCredentials();
    peers.entra.setUser(users[0] ?? "", "blocked");
    await connector.runCredentials();
    expect(await credential()).toMatchObject({
      state: "activation_pending",
      error_message: expect.stringContaining("restriction policy"),
    });
    expect([posts(), readBacks()]).toEqual([2, 1]);
    connector.advance(seconds(60) - 1);
    await connector.runCredentials("on_demand");
    expect([posts(), readBacks()]).toEqual([2, 1]);
    connector.advance(1);
    await connector.runCredentials("timer");
    expect(await credential()).toMatchObject({
      state: "failed",
      error_message: expect.stringContaining("restriction policy"),
    });
    expect([posts(), readBacks()]).toEqual([2, 2]);
  });

  test("and then refused is active where the first one arrives late", async () => {
    let calls = 0;
    const { connector, users, credential } = await ready({
      ports: withIdps(({ activate }) => ({
        activate: async (...call) => {
          if (++calls === 1) throw new PeerFailure("IdP entra", "registration", "unanswered");
          await activate(...call);
          throw new PeerFailure("IdP entra", "registration", "refused", { detail: "The challenge was used." });
        },
      })),
    });
    await connector.runCredentials();
    await connector.runCredentials();
    expect(await credential()).toMatchObject({ state: "activation_pending", error_message: "The challenge was used." });
    connector.advance(seconds(60));
    await connector.runCredentials();
    expect(await credential()).toMatchObject({ state: "active" });
    expect(calls).toBe(2);
    expect(registrationsOf(users[0] ?? "")).toBe(1);
  });

  test("and then refused stays in doubt while the second read-back is not answered", async () => {
    const { connector, users, credential } = await ready();
    failing({ kind: "drop", phase: "before" });
    await connector.runCredentials();
    peers.entra.setUser(users[0] ?? "", "blocked");
    await connector.runCredentials();
    connector.advance(seconds(60));
    peers.entra.fail({ kind: "refuse", method: "GET", path: "fido2Methods$", times: 3 });
    await connector.runCredentials();
    expect(await credential()).toMatchObject({
      state: "activation_pending",
      error_message: expect.stringMatching(/could not be queried for the credential after its refusal: .*policy/),
    });
    await connector.runCredentials();
    expect(await credential()).toMatchObject({
      state: "failed",
      error_message: expect.stringContaining("restriction policy"),
    });
    expect(posts()).toBe(2);
  });

  test("and then refused ends failed, and may be registered, if no read-back is answered until retryable_until", async () => {
    const { connector, users, credential } = await ready();
    failing({ kind: "drop", phase: "before" });
    await connector.runCredentials();
    peers.entra.setUser(users[0] ?? "", "blocked");
    await connector.runCredentials();
    connector.advance(days(15));
    peers.entra.fail({ kind: "refuse", method: "GET", path: "fido2Methods$", times: 3 });
    await connector.runCredentials();
    expect(await credential()).toMatchObject({
      state: "failed",
      may_be_registered: true,
    });
  });

  describe("at an identity provider whose read-back does not tell", () => {
    const blind = { ports: withIdps(() => ({ isRegistered: async () => undefined })) };
    test("is sent once more", async () => {
      const { connector, credential } = await ready(blind);
      failing({ kind: "drop", phase: "before" });
      await connector.runCredentials();
      await connector.runCredentials();
      expect(await credential()).toMatchObject({ state: "active" });
      expect(posts()).toBe(2);
    });

    test("ends failed by a refusal, and may be registered", async () => {
      const { connector, credential } = await ready(blind);
      failing({ kind: "drop", phase: "after" });
      await connector.runCredentials();
      await connector.runCredentials();
      connector.advance(seconds(60));
      await connector.runCredentials();
      expect(await credential()).toMatchObject({
        state: "failed",
        may_be_registered: true,
        error_message: expect.stringMatching(/^It may have been registered: check at the .*already registered/),
      });
      expect(posts()).toBe(2);
    });
  });
});

test("an activation that AM itself answers with 404 ends failed and not in doubt", async () => {
  const body = altered(withoutPins(orderBody()), { "shipment.shipment_items[0].credentials[0].idp_id": "aic" });
  const { connector, credential } = await ready({ settings: everyIdp }, body);
  const answer = { code: 404, reason: "Not Found", message: "The realm is gone." };
  peers.aic.fail({ kind: "refuse", status: 404, body: answer, method: "POST", path: "/authenticate$" });
  await connector.runCredentials();
  expect(await credential()).toMatchObject({ state: "failed", error_message: "The realm is gone." });
  expect(await credential()).not.toHaveProperty("may_be_registered");
});

describe("an activation that was done and is answered with a failure", () => {
  const bodyAt = (idp: string) =>
    altered(withoutPins(orderBody()), { "shipment.shipment_items[0].credentials[0].idp_id": idp });
  /** The IdPs that can read back, the place of their activation, and their answer to a second one. */
  const kinds = [
    { idp: "entra", path: "fido2Methods$", again: "already registered" },
    { idp: "pingone", path: "/devices/[^/]+$", again: "active already" },
  ] as const;
  const faults: readonly FaultRule[] = [
    { kind: "throttle", retryAfter: 1 },
    ...[400, 401, 403, 404, 409, 503].map(status => ({ kind: "nonsense", status, body: {} }) as const),
  ];
  const cases = kinds.flatMap(kind => faults.map(fault => ({ ...kind, ...fault, name: fault.kind })));

  test.each(cases)("is found to be active: $idp, $name $status", async ({ idp, path, again: _, name: __, ...rule }) => {
    const { connector, credential } = await ready({ settings: everyIdp }, bodyAt(idp));
    const before = peers[idp].registrations().length;
    peers[idp].fail({ ...rule, method: "POST", path, phase: "after" });
    await connector.runCredentials();
    expect(await credential()).toMatchObject({ state: "activation_pending", error_message: expect.any(String) });
    connector.advance(minutes(1));
    await connector.runCredentials();
    expect(await credential()).toMatchObject({ state: "active" });
    expect(peers[idp].registrations()).toHaveLength(before + 1);
  });

  test.each(kinds)("by a gateway that sent it twice is found to be active: $idp", async ({ idp, path, again }) => {
    const twice: Fetch = async (url, init) => {
      const isActivation = init?.method === "POST" && new RegExp(path).test(String(url));
      if (isActivation) await fetch(url, init);
      return fetch(url, init);
    };
    const { connector, credential } = await ready({ settings: everyIdp, fetch: twice }, bodyAt(idp));
    await connector.runCredentials();
    expect(await credential()).toMatchObject({
      state: "activation_pending",
      error_message: expect.stringContaining(again),
    });
    connector.advance(minutes(1));
    await connector.runCredentials();
    expect(await credential()).toMatchObject({ state: "active" });
  });
});

describe("credentials of one key", () => {
  test("are activated one after another in the order of the array", async () => {
    const { connector, users } = await ready({}, withoutPins(orderBody([5])));
    await connector.runCredentials();
    const order = peers.entra.registrations().filter(({ userId }) => users.includes(userId));
    expect(order.map(({ userId }) => userId)).toEqual(users);
    expect(connector.events("credential_ended")).toMatchObject(
      users.map((_, index) => ({ keyId: "s-01-001", index, outcome: "activated", idp: "entra" })),
    );
  });

  test("roll up over the items: complete, partial and failed ones make a partial request", async () => {
    const blocked = [newUser(), newUser()];
    const body = altered(orderBody([1, 2, 1]), {
      "shipment.shipment_items[1].credentials[0].user_id": blocked[0],
      "shipment.shipment_items[2].credentials[0].user_id": blocked[1],
    });
    const { connector, requestId } = await ready({}, body);
    for (const user of blocked) peers.entra.setUser(user, "blocked");
    const counts = { activated: 0, failed: 0, pending: 0, deferred: 0 };
    expect(await connector.runCredentials()).toEqual({ ...counts, processed: 4, activated: 2, pending: 2 });
    connector.advance(minutes(1));
    expect(await connector.runCredentials()).toEqual({ ...counts, processed: 2, failed: 2 });
    const { state, shipment } = await connector.read(requestId);
    expect(state).toBe("partial");
    expect(shipment?.shipment_items.map(item => item.state)).toEqual(["complete", "partial", "failed"]);
    expect((await connector.requestRow(requestId)).terminalAt).toBe(connector.now());
    expect(await connector.queue("key")).toEqual([]);
    expect(await connector.queue("poll")).toEqual([]);
  });

  test("of an identity provider that has vanished stay due with that message until retryable_until, and then end", async () => {
    const { connector, requestId, credential } = await ready();
    const without = connector.anotherInstance({
      ports: () => ({ idps: { defaultId: "entra", get: () => undefined } }),
    });
    expect(await without.runCredentials()).toMatchObject({ processed: 1, pending: 1 });
    expect(await credential()).toMatchObject({
      state: "activation_pending",
      error_message: "The identity provider entra is no longer configured.",
    });
    const { retryableUntil = "" } = (await connector.keyRow(requestId)).credentials[0] ?? {};
    connector.advance(between(connector.now(), retryableUntil) - 1);
    expect(await without.runCredentials("timer")).toMatchObject({ processed: 1, pending: 1 });
    connector.advance(1);
    expect(await without.runCredentials("timer")).toMatchObject({ processed: 1, failed: 1 });
    expect(await credential()).toMatchObject({
      state: "failed",
      error_message: "Not activated in time. The identity provider entra is no longer configured.",
    });
    expect(await connector.queue("key")).toEqual([]);
  });
});

describe("signing keys that cannot be read", () => {
  test("keep a credential pending with a message and do not hold back other keys", async () => {
    const { connector, requestId, credential } = await ready({}, withoutPins(orderBody([1, 1])));
    const later = connector.anotherInstance();
    peers.delivery.fail({ kind: "refuse", path: "sign", times: 3 });
    await later.runCredentials();
    expect(await credential()).toMatchObject({ state: "activation_pending", error_message: expect.any(String) });
    expect((await connector.keyRow(requestId, "s-02-001")).state).toBe("complete");
    expect(later.events("work_failed")).toEqual([]);
    expect(later.events("signing_keys_unread")).toMatchObject([{ keyId: "s-01-001", index: 0 }]);
    connector.advance(minutes(1));
    await later.runCredentials("timer");
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
  });
});
