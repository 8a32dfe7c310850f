import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { resetPeers } from "../support/connector/reset-peers.ts";
import type { HostProcess } from "../support/host/host-process.ts";
import { type PausingProxy, startPausingProxy } from "../support/host/pausing-proxy.ts";
import { reconcileSoon, startTestSystem, type TestSystem } from "../support/host/system.ts";
import { until } from "../support/until.ts";
import { newOrder, type Order, processAll, requestOf, send } from "./orders.ts";
import { deliveryCalls, failed, fulfilled, outcome, stepMs, untilQuiet } from "./outcome.ts";
import { writes } from "./writes.ts";

const neverSent = "The request was interrupted and never sent to the delivery service.";
const neverConfirmed =
  "The delivery service never confirmed the shipment. Look there for the customer reference before ordering again.";

let system: TestSystem;
let proxy: PausingProxy;
let host: HostProcess;
/**
 * The host that reconciles. It looks once and then fails the request, so that the test need not wait the three days of
 * decision C6.
 */
let reconciler: HostProcess;

beforeAll(async () => {
  system = await startTestSystem();
  proxy = await startPausingProxy(system.storage.tableUrl);
  const reconcilerSettings = { ...reconcileSoon, RECONCILE_DAYS: "0" };
  [host, reconciler] = await Promise.all([startHost(), system.startHost({ settings: reconcilerSettings })]);
});

afterAll(async () => {
  await proxy.close();
  await system.close();
});

beforeEach(() => resetPeers(system.peers));

const startHost = () => system.startHost({ through: proxy });

/** Sends an order, kills the host as soon as the point is reached, and starts another one. */
async function killed(order: Order, point: Promise<void>): Promise<void> {
  const answer = send(host, order).then(
    ({ status }) => `answered ${status}`,
    () => "unanswered",
  );
  await point;
  await host.kill();
  expect(await answer).toBe("unanswered");
  host = await startHost();
}

/** As `killed`, for an order that was stored by then. */
async function killedAt(point: Promise<void>): Promise<Taken> {
  const order = newOrder();
  await killed(order, point);
  return { order, requestId: await requestOf(order, system) };
}

interface Taken {
  readonly order: Order;
  readonly requestId: string;
}

/** Runs the jobs until nothing is left to do. Returns the outcome of the order. */
async function outcomeAfterReconciling({ order, requestId }: Taken) {
  await untilQuiet(reconciler, system, requestId);
  return outcome(order, requestId, { hosts: [reconciler, host], system });
}

describe("a host that is killed while it creates a request", () => {
  test("before it has stored the request: there is no request, and its index row goes", async () => {
    const hold = proxy.hold({ phase: "request", ...writes.request });
    await killed(newOrder(), hold.untilHeld());
    hold.drop();
    const left = async () => {
      let rows = 0;
      for await (const _ of system.store.due("reconcile")) rows++;
      return rows;
    };
    expect(await left()).toBe(1);
    await until(
      async () => {
        system.clock.advance(stepMs);
        await processAll(reconciler);
        return (await left()) === 0;
      },
      () => "the index row stays",
    );
  });

  test("after it has stored the request, during a call of an IdP: the request fails and is never sent", async () => {
    system.peers.entra.fail({ kind: "hang", path: "creationOptions" });
    const taken = await killedAt(system.peers.entra.untilHanging());
    expect(await outcomeAfterReconciling(taken)).toEqual(failed(neverSent));
    expect(deliveryCalls(system)).toBe(0);
  });

  test("after the IdPs have answered, before keys and mark are stored: ends failed and never sent", async () => {
    const hold = proxy.hold({ phase: "request", ...writes.keysAndMark });
    const taken = await killedAt(hold.untilHeld());
    hold.drop();
    expect(await outcomeAfterReconciling(taken)).toEqual(failed(neverSent));
    expect(deliveryCalls(system)).toBe(0);
  });

  test("before keys and mark are stored, which reach storage when it is over: stays failed and never sent", async () => {
    const hold = proxy.hold({ phase: "request", ...writes.keysAndMark });
    const taken = await killedAt(hold.untilHeld());
    const end = await outcomeAfterReconciling(taken);
    expect(end).toEqual(failed(neverSent));
    const late = proxy.hold({ phase: "response", ...writes.keysAndMark });
    hold.release();
    await late.untilHeld();
    late.drop();
    expect(await outcomeAfterReconciling(taken)).toEqual(end);
  });

  test("after keys and mark are stored, before the delivery call: ends failed with what to check", async () => {
    const hold = proxy.hold({ phase: "response", ...writes.keysAndMark });
    const taken = await killedAt(hold.untilHeld());
    hold.drop();
    expect(await outcomeAfterReconciling(taken)).toEqual(failed(neverConfirmed));
    expect(deliveryCalls(system)).toBe(0);
  });

  test("in the delivery call, before the service has done it: ends failed with what to check", async () => {
    system.peers.delivery.fail({ kind: "hang", method: "POST", phase: "before" });
    const taken = await killedAt(system.peers.delivery.untilHanging());
    expect(await outcomeAfterReconciling(taken)).toEqual(failed(neverConfirmed));
    expect(deliveryCalls(system)).toBe(1);
  });

  test("in the delivery call, after the service has done it: the shipment is found and the order fulfilled", async () => {
    system.peers.delivery.fail({ kind: "hang", method: "POST", phase: "after" });
    const taken = await killedAt(system.peers.delivery.untilHanging());
    expect(await outcomeAfterReconciling(taken)).toEqual(fulfilled);
    expect(deliveryCalls(system)).toBe(1);
  });

  test("after the delivery call, before the shipment's row is written: the shipment is found and the order fulfilled", async () => {
    const hold = proxy.hold({ phase: "request", ...writes.shipmentRow });
    const taken = await killedAt(hold.untilHeld());
    hold.drop();
    expect(await outcomeAfterReconciling(taken)).toEqual(fulfilled);
    expect(deliveryCalls(system)).toBe(1);
  });

  test("after the shipment's row is written, before `started` is: the shipment is found and the order fulfilled", async () => {
    const hold = proxy.hold({ phase: "request", ...writes.started });
    const taken = await killedAt(hold.untilHeld());
    hold.drop();
    expect(await outcomeAfterReconciling(taken)).toEqual(fulfilled);
    expect(deliveryCalls(system)).toBe(1);
  });

  test("after `started` is written, before the index row of reconciling is deleted: the order is fulfilled", async () => {
    const hold = proxy.hold({ phase: "response", ...writes.started });
    const taken = await killedAt(hold.untilHeld());
    hold.drop();
    expect(await outcomeAfterReconciling(taken)).toEqual(fulfilled);
    expect(deliveryCalls(system)).toBe(1);
  });
});
