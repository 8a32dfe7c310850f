import { beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { FaultRule } from "../../local/peers/peer.ts";
import { resetPeers } from "../support/connector/reset-peers.ts";
import type { HostProcess } from "../support/host/host-process.ts";
import { reconcileSoon, systemOfFile } from "../support/host/system.ts";
import { until } from "../support/until.ts";
import { newOrder, type Order, placed, processAll, requestOf, send, underReference } from "./orders.ts";
import { deliveryCalls, failed, fulfilled, neverConfirmed, neverSent, outcome, stepMs, untilQuiet } from "./outcome.ts";
import { createUnrelatedShipment } from "./unrelated-shipments.ts";
import { writes } from "./writes.ts";

const intentMaxAgeSeconds = 20;

const { system, proxy } = await systemOfFile({}, { orderIntentMaxAgeMs: 1000 * intentMaxAgeSeconds });
/** The host that creates. The proxy is in front of its tables only. */
let creator: HostProcess;
/**
 * The host that reconciles. It looks once and then fails the request, so that the test need not wait the three days of
 * decision C6.
 */
let reconciler: HostProcess;
/** A host by whose clock nothing is overdue. */
let patient: HostProcess;

beforeAll(async () => {
  [creator, reconciler, patient] = await Promise.all([
    system.startHost({ through: proxy }),
    system.startHost({ limits: { ...reconcileSoon, reconcileForMs: 0 } }),
    system.startHost(),
  ]);
});

beforeEach(() => resetPeers(system.peers));

/**
 * Orders without a response of the delivery service, which has created the shipment (`after`) or not (`before`). The
 * caller's response has the id.
 */
async function unanswered(order: Order, phase: "before" | "after"): Promise<string> {
  const rule: FaultRule = { kind: "drop", method: "POST", path: "^/v1/fpr/shipments$", phase };
  system.peers.delivery.fail(rule);
  const { status, body } = await send(creator, order);
  const { error_code, error_data } = body as {
    error_code: string;
    error_data: { error_type: string; credential_request_id: string };
  };
  expect({ status, error_code, error_type: error_data.error_type }).toEqual({
    status: 500,
    error_code: "api_error",
    error_type: "internal",
  });
  return error_data.credential_request_id;
}

/** Lets the reconciling host work until nothing is left to do. Returns the outcome of the order. */
async function reconciled(order: Order, requestId: string) {
  await untilQuiet(reconciler, system, requestId);
  return outcome(order, requestId, { hosts: [reconciler, creator], system });
}

/** Lets the stored order intent of the request become too old. */
async function untilIntentTooOld(requestId: string): Promise<void> {
  const { sentAt = "" } = (await system.store.load(requestId))?.request.value.delivery ?? {};
  system.clock.advance(Date.parse(sentAt) + intentMaxAgeSeconds * 1000 - Date.now() + 1);
}

/**
 * Stops the host that creates at a point until another one has reconciled its request, which the rest of the create
 * must not change. Returns the outcome of the order and the status of the create.
 */
async function stoppedUntilReconciled(
  reached: () => Promise<void>,
  release: () => void,
  beforeReconciling: (requestId: string) => Promise<void> = async () => {},
) {
  const order = newOrder();
  const answer = send(creator, order);
  await reached();
  creator.signal("SIGSTOP");
  const requestId = await requestOf(order, system);
  await beforeReconciling(requestId);
  const end = await reconciled(order, requestId).finally(() => {
    release();
    creator.signal("SIGCONT");
  });
  const { status } = await answer;
  expect(await reconciled(order, requestId)).toEqual(end);
  return { end, status };
}

describe("a create handler that is delayed", () => {
  test("by an IdP, but not for long: is left alone by the jobs", async () => {
    system.peers.entra.fail({ kind: "hang", path: "creationOptions" });
    const answer = send(creator, newOrder());
    await system.peers.entra.untilHanging();
    await processAll(patient);
    system.peers.entra.release();
    expect((await answer).status).toBe(201);
  });

  test("by the delivery service, but not for long: is left alone by the jobs", async () => {
    system.peers.delivery.fail({ kind: "hang", method: "POST" });
    const order = newOrder();
    const answer = send(creator, order);
    await system.peers.delivery.untilHanging();
    await processAll(patient);
    system.peers.delivery.release();
    expect((await answer).status).toBe(201);
    expect(system.peers.delivery.count("GET", /^\/v1\/fpr\/shipments$/)).toBe(0);
  });

  test("by storage's response to its order intent for longer than its maximum age: orders nothing and removes the intent", async () => {
    const hold = proxy.hold({ phase: "response", ...writes.keysAndIntent });
    const order = newOrder();
    const answer = send(creator, order);
    await hold.untilHeld();
    const requestId = await requestOf(order, system);
    await untilIntentTooOld(requestId);
    hold.release();
    expect((await answer).status).toBe(503);
    const end = await outcome(order, requestId, { hosts: [reconciler, creator], system });
    expect(end).toEqual(failed("The delivery service is not responding; nothing was ordered."));
    expect(deliveryCalls(system)).toBe(0);
  });

  test("until its request was compensated: orders nothing", async () => {
    const { entra } = system.peers;
    entra.fail({ kind: "hang", path: "creationOptions" });
    const { end, status } = await stoppedUntilReconciled(() => entra.untilHanging(), entra.release);
    expect([end, status]).toEqual([failed(neverSent), 503]);
    expect(deliveryCalls(system)).toBe(0);
  });

  test("by storage's response to its order intent until its request failed: orders nothing", async () => {
    const hold = proxy.hold({ phase: "response", ...writes.keysAndIntent });
    const { end, status } = await stoppedUntilReconciled(() => hold.untilHeld(), hold.release, untilIntentTooOld);
    expect([end, status]).toEqual([failed(neverConfirmed), 503]);
    expect(deliveryCalls(system)).toBe(0);
  });

  test("in the delivery call until its shipment was found and fulfilled: nothing is doubled", async () => {
    const { delivery } = system.peers;
    delivery.fail({ kind: "hang", method: "POST", phase: "after" });
    const { end, status } = await stoppedUntilReconciled(() => delivery.untilHanging(), delivery.release);
    expect(end).toEqual(fulfilled);
    expect([201, 500]).toContain(status);
    expect(deliveryCalls(system)).toBe(1);
  });
});

describe("an unanswered delivery call", () => {
  test("leaves the request received with a message until it is reconciled", async () => {
    const order = newOrder();
    const requestId = await unanswered(order, "before");
    const seeker = await system.startHost({ limits: reconcileSoon });
    const read = async () => {
      await processAll(seeker);
      const { body } = await seeker.call("GET", `/v2/credential-requests/${requestId}`);
      return (body as { data: { state: string; error_message: string } }).data;
    };
    const message = "The delivery service has not confirmed the shipment; it is being looked up.";
    expect(await read()).toMatchObject({ state: "received", error_message: message });
    await until(
      async () => {
        system.clock.advance(stepMs);
        return (await read()) !== undefined && system.peers.delivery.count("GET", /^\/v1\/fpr\/shipments$/) >= 2;
      },
      () => "the shipment is not looked up twice",
    );
    expect(await read()).toMatchObject({ state: "received", error_message: message });
    expect(await reconciled(order, requestId)).toEqual(failed(neverConfirmed));
    expect(deliveryCalls(system)).toBe(1);
  });

  test("links the one shipment that is the order's own, among others of the same reference", async () => {
    const order = newOrder();
    const requestId = await unanswered(order, "after");
    await createUnrelatedShipment(order, requestId, system, { email: "somebody.else@example.com" });
    await createUnrelatedShipment(order, requestId, system, { city: "Boston" });
    await createUnrelatedShipment(order, requestId, system, { items: 1 });
    const [own] = await system.peers.delivery
      .shipments()
      .then(all => all.filter(s => s.customerReference === requestId));
    const { shipments, mails, ...end } = await reconciled(order, requestId);
    expect({ ...end, shipments: 1, mails: mails.slice(0, 2) }).toEqual(fulfilled);
    expect(mails.slice(2)).toEqual([0, 0, 0, 0, 0]);
    expect(shipments).toBe(4);
    expect(await system.store.requestOfShipment(own?.id ?? "")).toBe(requestId);
  });

  test("links no shipment of another recipient", async () => {
    const order = newOrder();
    const requestId = await unanswered(order, "before");
    const unrelated = await createUnrelatedShipment(order, requestId, system, { email: "somebody.else@example.com" });
    const end = await reconciled(order, requestId);
    expect(end).toEqual({ ...failed(neverConfirmed), shipments: 1, mails: [0, 0] });
    expect(system.peers.delivery.count("GET", new RegExp(`/${unrelated}$`))).toBe(0);
  });

  test("links no shipment that was created more than five minutes before the order intent", async () => {
    const order = newOrder();
    const requestId = await unanswered(order, "before");
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - 330_000 });
    onTestFinished(() => void vi.useRealTimers());
    const unrelated = await createUnrelatedShipment(order, requestId, system);
    vi.useRealTimers();
    const end = await reconciled(order, requestId);
    expect(end).toEqual({ ...failed(neverConfirmed), shipments: 1, mails: [0, 0] });
    expect(system.peers.delivery.count("GET", new RegExp(`/${unrelated}$`))).toBe(0);
  });

  test("links no shipment that belongs to another request, but the other candidate", async () => {
    const order = underReference("twins", newOrder());
    const first = await placed(creator, order);
    const second = await unanswered(order, "before");
    const { errors } = await reconciled(order, second);
    expect(errors).toEqual([neverConfirmed]);

    const third = await unanswered(order, "after");
    await reconciled(order, third);
    const owners = [];
    for (const { id } of await system.peers.delivery.shipments()) owners.push(await system.store.requestOfShipment(id));
    expect(owners.filter(owner => [first, second, third].includes(owner ?? ""))).toEqual([first, third]);
    expect((await system.store.load(third))?.request.value.state).toBe("complete");
  });

  test("links none of two shipments that may both be the order's own", async () => {
    const order = underReference("ambiguous", newOrder());
    const ids = [await unanswered(order, "after"), await unanswered(order, "after")];
    for (const requestId of ids) {
      const { errors, state } = await reconciled(order, requestId);
      expect({ errors, state }).toEqual({ errors: [neverConfirmed], state: "failed" });
    }
    expect(system.peers.delivery.count("GET", /^\/v1\/fpr\/shipments\/./)).toBe(0);
  });

  test("releases an adopted shipment whose responses do not open with the request's keys, and ends failed", async () => {
    const order = newOrder();
    const requestId = await unanswered(order, "before");
    const unrelated = await createUnrelatedShipment(order, requestId, system);
    const end = await reconciled(order, requestId);
    expect(system.peers.delivery.count("GET", new RegExp(`/${unrelated}$`))).toBe(1);
    expect(end).toEqual({ ...failed(neverConfirmed), shipments: 1, mails: [0, 0] });
    expect(await system.store.requestOfShipment(unrelated)).toBeUndefined();
  });
});
