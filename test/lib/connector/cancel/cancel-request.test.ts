import { describe, expect, test } from "vitest";
import { listRequests } from "../../../../lib/connector/api/list-requests.ts";
import { cancelRequest } from "../../../../lib/connector/cancel/cancel-request.ts";
import { Fault } from "../../../../lib/platform/fault.ts";
import { PeerFailure } from "../../../../lib/platform/peer-failure.ts";
import { days, hours, minutes } from "../../../../lib/platform/time.ts";
import type { FaultRule } from "../../../../local/peers/peer.ts";
import { withIdps, withPort } from "../../../support/connector/changed-peers.ts";
import { crashing, withTable } from "../../../support/connector/crashing.ts";
import { leaseElsewhere } from "../../../support/connector/in-a-state.ts";
import { authenticator, authenticatorsOf, idAt, mixedBody, onSiteBody } from "../../../support/connector/on-site.ts";
import {
  orderBody,
  peersOfFile,
  refusalOf,
  type TestConnector,
  testConnector,
  withoutPins,
} from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();
const deletions = () => peers.delivery.count("DELETE", /shipments\//);
const cancelled = "The request was cancelled.";

/** A connector that records which IdP states were compensated, and an order that the delivery service has not started. */
async function ordered(body: unknown = withoutPins(orderBody([2, 1])), state = 101) {
  const compensated: unknown[] = [];
  const connector = await testConnector(peers, {
    ports: withIdps(({ compensate }) => ({
      compensate: (handle, signal) => {
        compensated.push(handle);
        return compensate(handle, signal);
      },
    })),
  });
  const { requestId, shipmentId = "" } = await connector.order(body);
  if (shipmentId !== "") await peers.delivery.control(shipmentId, { state });
  const cancel = ({ context }: TestConnector = connector) => cancelRequest(requestId, context);
  const statesOf = async () => {
    const { state, shipment, authenticators = [] } = await connector.read(requestId);
    const keys = [...(shipment?.shipment_items ?? []), ...authenticators];
    return { state, keys: keys.map(key => key.credentials.map(credential => credential.state).join()) };
  };
  return { connector, requestId, shipmentId, compensated, cancel, statesOf };
}

const idsOfShipments = async () => (await peers.delivery.shipments()).map(({ id }) => id);

describe("a cancel", () => {
  test("deletes the shipment, compensates what the IdPs began and ends every key; a second one changes nothing", async () => {
    const { connector, requestId, shipmentId, compensated, cancel } = await ordered();
    const { request } = await cancel();
    expect(request).toMatchObject({ state: "cancelled", terminalAt: connector.now() });
    expect(await idsOfShipments()).not.toContain(shipmentId);
    expect(compensated).toHaveLength(3);
    const read = await connector.read(requestId);
    expect(read.shipment?.shipment_items).toMatchObject([
      { state: "cancelled", credentials: Array(2).fill({ state: "cancelled", error_message: cancelled }) },
      { state: "cancelled", credentials: [{ state: "cancelled", error_message: cancelled }] },
    ]);
    expect((await cancel()).request).toEqual(request);
    expect([deletions(), compensated.length]).toEqual([1, 3]);
    expect(connector.events("request_cancelled")).toMatchObject([{ keys: 2 }]);
    for (const queue of ["poll", "reconcile", "key"] as const) expect(await connector.queue(queue)).toEqual([]);
    const { entries } = await listRequests({ state: "cancelled" }, { top: 10 }, connector.context);
    expect(entries).toHaveLength(1);
    connector.advance(days(1));
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 1 });
    expect(connector.events("request_deleted")).toMatchObject([{ credentialRequestId: requestId }]);
  });

  test.each([
    [102, "in production"],
    [103, "shipped"],
    [99, "in error"],
  ])("is refused where the shipment is %i, %s: 409, and the request continues as before", async state => {
    const { connector, requestId, compensated, cancel } = await ordered(
      withoutPins(mixedBody([1], [authenticator(1)])),
      state,
    );
    const before = await connector.requestRow(requestId);
    expect(await refusalOf(cancel())).toMatchObject({
      status: 409,
      body: {
        error_message: "The delivery service can no longer delete the shipment.",
        error_data: { error_type: "conflict" },
      },
    });
    expect(await connector.requestRow(requestId)).toEqual(before);
    expect(compensated).toEqual([]);
    expect(authenticatorsOf(peers, requestId)).toMatchObject([{ state: "waiting" }]);
    expect(await connector.queue("poll")).toHaveLength(1);
    expect(await connector.queue("reconcile")).toEqual([]);
  });

  test("cancels authenticators that wait and leaves those that are enrolled, which continue to be activated", async () => {
    const { connector, requestId, compensated, cancel, statesOf } = await ordered(
      onSiteBody([authenticator(2), authenticator(1)]),
    );
    await peers.rfpr.enroll(idAt(requestId));
    await cancel();
    expect(authenticatorsOf(peers, requestId)).toMatchObject([{ state: "completed" }, { state: "cancelled" }]);
    expect(compensated).toHaveLength(1);
    expect(await statesOf()).toEqual({ state: "started", keys: ["processing,processing", "cancelled"] });
    await connector.runCredentials();
    expect(await statesOf()).toEqual({ state: "partial", keys: ["active,active", "cancelled"] });
    expect(await refusalOf(cancel())).toMatchObject({ status: 409, body: { error_message: "The request has ended." } });
  });

  test("leaves keys that are produced to be activated, without a word to the delivery service", async () => {
    const { connector, requestId, shipmentId, compensated, cancel, statesOf } = await ordered(
      mixedBody([1], [authenticator(1)]),
    );
    await peers.delivery.control(shipmentId, { ship: true });
    await connector.runShipments();
    await cancel();
    expect(deletions()).toBe(0);
    expect(compensated).toHaveLength(1);
    expect(await statesOf()).toEqual({ state: "started", keys: ["activation_pending", "cancelled"] });
    await connector.runCredentials();
    expect(await statesOf()).toEqual({ state: "partial", keys: ["active", "cancelled"] });
    expect(await connector.queue("clean")).toMatchObject([{ requestId }]);
  });

  test("is refused with 409 where every key is produced, and 404 where there is no such request", async () => {
    const { connector, shipmentId, cancel } = await ordered();
    await peers.delivery.control(shipmentId, { ship: true });
    await connector.runShipments();
    const produced = "Every key of the request has been produced.";
    expect(await refusalOf(cancel())).toMatchObject({ status: 409, body: { error_message: produced } });
    expect(await refusalOf(cancelRequest("unknown", connector.context))).toMatchObject({ status: 404 });
    const onSite = await ordered(onSiteBody());
    await peers.rfpr.enroll(idAt(onSite.requestId));
    expect(await refusalOf(onSite.cancel())).toMatchObject({ status: 409, body: { error_message: produced } });
    expect(await onSite.connector.queue("reconcile")).toEqual([]);
    await onSite.connector.runCredentials();
    expect(await onSite.statesOf()).toEqual({ state: "complete", keys: ["active"] });
  });

  test("waits for a job that has the lease of the request: 409 with Retry-After", async () => {
    const { connector, requestId, cancel } = await ordered();
    await leaseElsewhere(connector, requestId);
    expect(await refusalOf(cancel())).toMatchObject({ status: 409, headers: { "retry-after": "5" } });
    expect(deletions()).toBe(0);
    expect(connector.events("cancel_not_done")).toEqual([]);
  });

  test("is not continued by a job while another run has its lease", async () => {
    const { connector, requestId, cancel, statesOf } = await ordered();
    const until = await leaseElsewhere(connector, requestId);
    const loaded = await connector.load(requestId);
    const request = {
      ...loaded.request,
      cancelling: {},
      due: { queue: "reconcile", at: connector.now() },
    } as const;
    await connector.context.requests.save(loaded, { request });
    await connector.runCredentials();
    expect(deletions()).toBe(0);
    expect((await connector.requestRow(requestId)).lease).toEqual({ owner: "another", until });
    connector.advance(minutes(4));
    await cancel();
    expect((await statesOf()).state).toBe("cancelled");
  });

  test("is no longer in progress when its request has ended", async () => {
    const connector = await testConnector(peers);
    const { requestId } = await connector.orderAndPoll(withoutPins(orderBody()));
    const loaded = await connector.load(requestId);
    await connector.context.requests.save(loaded, { request: { ...loaded.request, cancelling: {} } });
    await connector.runCredentials();
    const ended = await connector.requestRow(requestId);
    expect(ended.state).toBe("complete");
    expect(ended).not.toHaveProperty("cancelling");
  });

  test("is refused while the request is being made, and later compensates what its create handler left", async () => {
    const connector = await testConnector(peers);
    const dying = crashing("delivery.createShipment", "before");
    const marked = crashing("credentialrequests.transact 2", "before");
    const lost = connector.anotherInstance(marked.options).order(mixedBody());
    await Promise.race([marked.died, lost]);
    const [{ requestId } = { requestId: "" }] = await connector.queue("reconcile");
    const cancel = () => cancelRequest(requestId, connector.context);
    expect(await refusalOf(cancel())).toMatchObject({ status: 409, headers: { "retry-after": "300" } });
    connector.advance(minutes(5));
    expect((await cancel()).request.state).toBe("cancelled");

    const unreconciled = connector.anotherInstance(dying.options).order();
    await Promise.race([dying.died, unreconciled]);
    const [second] = await connector.queue("reconcile");
    expect(await refusalOf(cancelRequest(second?.requestId ?? "", connector.context))).toMatchObject({
      status: 409,
      body: { error_message: "It is not known yet whether the shipment was ordered." },
    });
  });

  test("polls an authenticator that was enrolled after its create was interrupted, and mails its PIN", async () => {
    const connector = await testConnector(peers);
    const dying = crashing("credentialrequests.transact 3", "before");
    const lost = connector.anotherInstance(dying.options).order(mixedBody([1], [authenticator(1)]));
    await Promise.race([dying.died, lost]);
    const [{ requestId } = { requestId: "" }] = await connector.queue("reconcile");
    await peers.rfpr.enroll(idAt(requestId));
    connector.advance(minutes(6));
    expect((await cancelRequest(requestId, connector.context)).request.state).toBe("started");
    connector.advance(hours(1));
    await connector.runCredentials("timer");
    expect(await connector.read(requestId)).toMatchObject({
      state: "partial",
      authenticators: [{ state: "complete" }],
      shipment: { shipment_items: [{ state: "cancelled" }] },
    });
    const { recipient } = await connector.requestRow(requestId);
    expect(peers.mail.mails().filter(({ to }) => to.includes(recipient.email))).toHaveLength(1);
  });

  test("leaves a create that was aborted to the job, which removes an authenticator that arrived late", async () => {
    const puts: (() => Promise<Response>)[] = [];
    const connector = await testConnector(peers, {
      fetch: (input, init = {}) => {
        const { signal, ...late } = init;
        if (init.method === "PUT" && String(input).startsWith(peers.rfpr.url)) puts.push(() => fetch(input, late));
        return fetch(input, init);
      },
    });
    peers.rfpr.fail({ kind: "drop", method: "PUT", times: 100 });
    peers.rfpr.fail({ kind: "refuse", method: "DELETE", status: 503, times: 100 });
    await refusalOf(connector.order(onSiteBody()));
    peers.rfpr.clearFaults();
    const [{ requestId } = { requestId: "" }] = await connector.queue("reconcile");
    expect(await refusalOf(cancelRequest(requestId, connector.context))).toMatchObject({
      status: 409,
      headers: { "retry-after": "300" },
      body: { error_message: expect.stringContaining("ends by itself") },
    });
    expect((await puts[0]?.())?.status).toBe(201);
    connector.advance(minutes(6));
    await connector.runCredentials();
    expect((await connector.read(requestId)).state).toBe("failed");
    expect(authenticatorsOf(peers, requestId)).toEqual([]);
  });

  test("touches no shipment that was found by look-up and may be another's", async () => {
    const connector = await testConnector(peers);
    peers.delivery.fail({ kind: "drop", phase: "after", method: "POST" });
    await connector.order().catch(() => {});
    const [{ requestId } = { requestId: "" }] = await connector.queue("reconcile");
    const [found] = (await peers.delivery.shipments()).slice(-1);
    await peers.delivery.control(found?.id ?? "", { state: 101 });
    connector.advance(minutes(16));
    await connector.runCredentials();
    expect(await connector.requestRow(requestId)).toMatchObject({ delivery: { shipment: { tentative: true } } });
    expect(await refusalOf(cancelRequest(requestId, connector.context))).toMatchObject({ status: 409 });
    expect(deletions()).toBe(0);
  });
});

describe("a cancel whose delivery call fails", () => {
  test("because the service does not know the shipment: nothing is cancelled, and the request continues", async () => {
    const { connector, requestId, compensated, cancel } = await ordered();
    const before = await connector.requestRow(requestId);
    peers.delivery.fail({ kind: "refuse", status: 404, body: { code: "not_found", message: "?" }, method: "DELETE" });
    expect(await refusalOf(cancel())).toMatchObject({ status: 409 });
    expect(await connector.requestRow(requestId)).toEqual(before);
    expect([compensated.length, deletions()]).toEqual([0, 1]);
    expect(await connector.queue("poll")).toHaveLength(1);
    await cancel();
    expect(await connector.read(requestId)).toMatchObject({ state: "cancelled" });
  });

  test.each<[string, FaultRule, number]>([
    ["the connection is lost before it was done", { kind: "drop" }, 2],
    ["the connection is lost after it was done", { kind: "drop", phase: "after" }, 1],
    ["the service fails after it has done it", { kind: "refuse", status: 500, phase: "after" }, 1],
    ["it answers 503", { kind: "refuse", status: 503 }, 2],
  ])("because %s: it is read back, and made again only where the shipment is there", async (_, fault, calls) => {
    const { connector, requestId, shipmentId, cancel } = await ordered();
    peers.delivery.fail({ ...fault, method: "DELETE" });
    await cancel();
    expect(await connector.read(requestId)).toMatchObject({ state: "cancelled" });
    expect(await idsOfShipments()).not.toContain(shipmentId);
    expect(deletions()).toBe(calls);
  });

  test("because the service answers 200 with an error is read back: nothing is cancelled while the shipment exists", async () => {
    const { connector, requestId, shipmentId, compensated, cancel } = await ordered();
    const body = { code: "locked", message: "The shipment is in production" };
    peers.delivery.fail({ kind: "refuse", status: 200, method: "DELETE", body, times: 2 });
    expect(await refusalOf(cancel())).toMatchObject({ status: 503 });
    expect(connector.events("shipment_not_deleted")).toMatchObject(
      Array(2).fill({ shipmentId, error: { name: "PeerFailure" } }),
    );
    expect(await connector.read(requestId)).toMatchObject({ state: "started" });
    expect(compensated).toEqual([]);
  });

  test("because the service refuses while storage is away is not answered as dropped: 503, because the job tries it again", async () => {
    const { connector, requestId, cancel } = await ordered();
    peers.delivery.fail({ kind: "refuse", status: 409, method: "DELETE", body: { code: "locked", message: "?" } });
    const isAway = () => deletions() > 0;
    const awayAfterRefusal = connector.anotherInstance({
      tables: withTable("credentialrequests", table => ({
        transact: (...args) =>
          isAway() ? Promise.reject(new Fault("unavailable", "no storage")) : table.transact(...args),
        replace: (...args) =>
          isAway() ? Promise.reject(new Fault("unavailable", "no storage")) : table.replace(...args),
      })),
    });
    expect(await refusalOf(cancel(awayAfterRefusal))).toMatchObject({ status: 503 });
    expect(awayAfterRefusal.events("cancel_not_released")).toMatchObject([{ error: { name: "Fault" } }]);
    connector.advance(minutes(5));
    await connector.runCredentials("timer");
    expect(await connector.read(requestId)).toMatchObject({ state: "cancelled" });
  });

  test("continues by the job where the service then says that it is too late: the request continues as before", async () => {
    const { connector, requestId, shipmentId, cancel, statesOf } = await ordered();
    peers.delivery.fail({ kind: "drop", method: "DELETE", times: 2 });
    expect(await refusalOf(cancel())).toMatchObject({ status: 503 });
    await peers.delivery.control(shipmentId, { ship: true });
    connector.advance(minutes(2));
    await connector.runCredentials("timer");
    expect(await connector.requestRow(requestId)).not.toHaveProperty("cancelling");
    connector.advance(hours(1));
    await connector.runShipments("timer");
    await connector.runCredentials();
    expect(await statesOf()).toMatchObject({ state: "complete" });
  });
});

describe("a cancel that waits for an IdP", () => {
  test.each([
    ["although the job polls the authenticators that it has cancelled meanwhile", false],
    ["although a poll that began before the cancel reads what it has cancelled", true],
  ])("is finished by the job, %s", async (_, isPolledMeanwhile) => {
    let isAway = true;
    const compensated: unknown[] = [];
    const connector = await testConnector(peers, {
      ports: withIdps(() => ({
        compensate: async handle => {
          if (isAway) throw new PeerFailure("IdP entra", "compensation", "unreachable");
          compensated.push(handle);
        },
      })),
    });
    const { requestId } = await connector.order(onSiteBody([authenticator(1)]));
    const cancel = async () =>
      expect(await refusalOf(cancelRequest(requestId, connector.context))).toMatchObject({ status: 503 });
    const polling = connector.anotherInstance({
      ports: withPort("rfpr", ({ get }) => ({
        get: async id => {
          await cancel();
          return get(id);
        },
      })),
    });
    await (isPolledMeanwhile ? polling.runCredentials() : cancel());
    connector.advance(minutes(10));
    await connector.runCredentials("timer");
    expect(await connector.read(requestId)).toMatchObject({ state: "started" });
    isAway = false;
    connector.advance(hours(1));
    await connector.runCredentials("timer");
    expect(compensated).toHaveLength(1);
    expect(await connector.read(requestId)).toMatchObject({
      state: "cancelled",
      authenticators: [{ credentials: [{ state: "cancelled", error_message: cancelled }] }],
    });
    for (const queue of ["key", "reconcile"] as const) expect(await connector.queue(queue)).toEqual([]);
  });
});

describe("cancels that wait for a pre-registration API that does not answer", () => {
  test("are tried three times by a run of the job, and all by a later one", async () => {
    let calls = 0;
    const connector = await testConnector(peers, {
      limits: { callsAtOnce: 1 },
      ports: withPort("rfpr", () => ({
        cancel: async () => {
          calls++;
          throw new PeerFailure("pre-registration API", "cancel authenticator", "unanswered");
        },
      })),
    });
    for (let order = 0; order < 5; order++) {
      const { requestId } = await connector.order(onSiteBody([authenticator(1)]));
      expect(await refusalOf(cancelRequest(requestId, connector.context))).toMatchObject({ status: 503 });
    }
    connector.advance(minutes(2));
    calls = 0;
    await connector.runCredentials("timer");
    expect(calls).toBe(3);
    connector.advance(minutes(10));
    await connector.anotherInstance({ ports: () => ({}) }).runCredentials("timer");
    expect(await connector.queue("reconcile")).toEqual([]);
  });
});

test("a cancel during which Key Vault is unavailable is answered with 503 and continued by the job", async () => {
  const { connector, requestId, cancel, statesOf } = await ordered();
  const unavailable = new Fault("unavailable", "Key Vault is not available at the moment.", { retryAfterSeconds: 5 });
  const host = connector.anotherInstance({
    ports: withPort("sealer", () => ({ open: () => Promise.reject(unavailable) })),
  });
  expect(await refusalOf(cancel(host))).toMatchObject({ status: 503, headers: { "retry-after": "5" } });
  expect(host.events("cancel_not_done")).toMatchObject([{ credentialRequestId: requestId }]);
  await connector.runCredentials();
  expect((await statesOf()).state).toBe("cancelled");
});

describe("a cancel of a request that is removed meanwhile", () => {
  test("fails, and logs no cancelled request", async () => {
    const { connector, requestId, cancel } = await ordered(onSiteBody([authenticator(1)]));
    const other = connector.anotherInstance({
      ports: withPort("requests", ({ save, remove }) => ({
        save: async (loaded, changes, options) => {
          if (changes.request?.state === "cancelled") await remove(await connector.load(requestId));
          return save(loaded, changes, options);
        },
      })),
    });
    await expect(cancel(other)).rejects.toThrow("removed while it was cancelled");
    expect(connector.events("request_cancelled")).toEqual([]);
    expect(other.events("request_cancelled")).toEqual([]);
  });
});

describe("a cancel that dies on the way", () => {
  test("is done by the job, whichever call it stopped before", async () => {
    const steps = new Set<string>();
    for (let step = 0; ; step++) {
      const { connector, requestId, shipmentId, statesOf, cancel } = await ordered(
        withoutPins(mixedBody([1], [authenticator(1)])),
      );
      const dying = crashing(step, "before", "all");
      const died = await Promise.race([dying.died, cancel(connector.anotherInstance(dying.options))]);
      if (typeof died !== "string") break;
      steps.add(died.replace(/^\d+: /, ""));
      connector.advance(minutes(4));
      await connector.runCredentials("timer");
      if ((await connector.requestRow(requestId)).state !== "cancelled") {
        // Before the cancel is recorded, no call is made.
        expect(died).toMatch(/^[01]: (due\.upsert|credentialrequests\.replace)$/);
        expect(await statesOf()).toMatchObject({ state: "started" });
        await cancel();
      }
      expect(await statesOf(), died).toEqual({ state: "cancelled", keys: ["cancelled", "cancelled"] });
      expect(await idsOfShipments()).not.toContain(shipmentId);
      expect(authenticatorsOf(peers, requestId)).toMatchObject([{ state: "cancelled" }]);
    }
    for (const call of ["delivery.deleteShipment", "rfpr.cancel", "idp.compensate", "credentialrequests.transact"])
      expect(steps).toContain(call);
  });

  test("takes hold of no request that another cancel has ended meanwhile", async () => {
    const { connector, requestId, cancel } = await ordered();
    const late = crashing("credentialrequests.replace", "before");
    const second = cancel(connector.anotherInstance(late.options));
    await late.died;
    await cancel();
    const ended = await connector.load(requestId);
    late.goOn();
    expect(await refusalOf(second)).toMatchObject({ status: 409, headers: { "retry-after": "5" } });
    expect(await connector.load(requestId)).toEqual(ended);
    expect(deletions()).toBe(1);
  });

  test("ends a request once where a job continues with it while it is still at work", async () => {
    const { connector, requestId, statesOf, cancel } = await ordered();
    const late = crashing("idp.compensate", "before", "all");
    const first = cancel(connector.anotherInstance(late.options));
    await late.died;
    connector.advance(minutes(4));
    await connector.runCredentials("timer");
    expect(await statesOf()).toMatchObject({ state: "cancelled" });
    const ended = await connector.load(requestId);
    late.goOn();
    await first;
    expect(await connector.load(requestId)).toEqual(ended);
    expect(await connector.queue("clean")).toHaveLength(1);
  });
});
