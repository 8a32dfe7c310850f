import { beforeAll, describe, expect, test } from "vitest";
import type { HostProcess } from "../support/host/host-process.ts";
import type { Hold } from "../support/host/pausing-proxy.ts";
import { reconcileSoon, systemOfFile } from "../support/host/system.ts";
import { until } from "../support/until.ts";
import { atWrite, inCall, killAt, longLimits, type Point, pastLongLimitsMs } from "./kill-points.ts";
import { newOrder, type Order, processAll, requestOf, send } from "./orders.ts";
import {
  deliveryCalls,
  failed,
  fulfilled,
  neverConfirmed,
  neverSent,
  type Outcome,
  outcome,
  stepMs,
  untilQuiet,
} from "./outcome.ts";
import { writes } from "./writes.ts";

const { system, proxy } = await systemOfFile();
/**
 * The host that reconciles. It looks once and then fails the request, so that the test need not wait the three days of
 * decision C6.
 */
let reconciler: HostProcess;
/** The write that reaches storage when all is over. */
let late: Hold;

/** Where the host is killed, in the order of a create; what becomes of the order, and whether it was sent to the delivery service. */
const points: readonly (readonly [name: string, arrange: () => Point, end: Outcome, calls: 0 | 1])[] = [
  [
    "after it has stored the request, during a call of an IdP: the request fails and is never sent",
    () => inCall(system.peers.entra, { path: "creationOptions" }),
    failed(neverSent),
    0,
  ],
  [
    "after the IdPs have answered, before keys and order intent are stored: ends failed and never sent",
    () => atWrite(proxy, "request", writes.keysAndIntent),
    failed(neverSent),
    0,
  ],
  [
    "after keys and order intent are stored, before the delivery call: ends failed with what to check",
    () => atWrite(proxy, "response", writes.keysAndIntent),
    failed(neverConfirmed),
    0,
  ],
  [
    "in the delivery call, before the service has done it: ends failed with what to check",
    () => inCall(system.peers.delivery, { method: "POST", phase: "before" }),
    failed(neverConfirmed),
    1,
  ],
  [
    "in the delivery call, after the service has done it: the shipment is found and the order fulfilled",
    () => inCall(system.peers.delivery, { method: "POST", phase: "after" }),
    fulfilled,
    1,
  ],
  [
    "after the delivery call, before the shipment's row is written: the shipment is found and the order fulfilled",
    () => atWrite(proxy, "request", writes.shipmentRow),
    fulfilled,
    1,
  ],
  [
    "after the shipment's row is written, before `started` is: the shipment is found and the order fulfilled",
    () => atWrite(proxy, "request", writes.started),
    fulfilled,
    1,
  ],
  [
    "after `started` is written, before the index row of reconciling is deleted: the order is fulfilled",
    () => atWrite(proxy, "response", writes.started),
    fulfilled,
    1,
  ],
];

interface Taken {
  readonly order: Order;
  readonly requestId: string;
}

/** By the name of the point. */
const taken = new Map<string, Taken>();
const beforeWrite = "before keys and order intent are stored, which reach storage when it is over";

/** Rows of the index that name a request which was never stored. */
async function strayRows(): Promise<number> {
  let rows = 0;
  for await (const { requestId } of system.store.due("reconcile"))
    if ((await system.store.load(requestId)) === undefined) rows++;
  return rows;
}
let strayAtFirst = 0;

beforeAll(async () => {
  const reconcilerLimits = { ...reconcileSoon, reconcileForMs: 0 };
  const [victim] = await Promise.all([
    system.startHost({ through: proxy, limits: longLimits }),
    system.startHost({ limits: reconcilerLimits }).then(host => {
      reconciler = host;
    }),
  ]);
  const orders = new Map([...points.map(([name]) => name), beforeWrite].map(name => [name, newOrder()]));
  const toKill = (name: string, arrange: () => Point, order = orders.get(name) ?? newOrder()) => ({
    name,
    arrange,
    work: (host: HostProcess) => send(host, order),
  });
  await killAt(victim, [
    toKill("before it has stored the request", () => atWrite(proxy, "request", writes.request)),
    ...points.map(([name, arrange]) => toKill(name, arrange)),
    toKill(beforeWrite, () => {
      late = proxy.hold({ phase: "request", ...writes.keysAndIntent });
      return { reached: () => late.untilHeld(), cut: () => {} };
    }),
  ]);
  for (const [name, order] of orders) taken.set(name, { order, requestId: await requestOf(order, system) });
  strayAtFirst = await strayRows();
  system.clock.advance(pastLongLimitsMs);
  await untilQuiet(reconciler, system, ...[...taken.values()].map(({ requestId }) => requestId));
});

/** What became of the order of a point, once nothing is left to do. */
function endOf(name: string): Promise<Outcome> {
  const { order, requestId } = taken.get(name) ?? { order: newOrder(), requestId: "" };
  return outcome(order, requestId, { hosts: [reconciler], system });
}

describe("a host that is killed while it creates a request", () => {
  test("before it has stored the request: there is no request, and its index row goes", async () => {
    expect(strayAtFirst).toBe(1);
    await until(
      async () => {
        system.clock.advance(stepMs);
        await processAll(reconciler);
        return (await strayRows()) === 0;
      },
      () => "the index row stays",
    );
  });

  test.each(points)("%s", async (name, _, end) => {
    expect(await endOf(name)).toEqual(end);
  });

  test(`${beforeWrite}: stays failed and never sent`, async () => {
    const end = await endOf(beforeWrite);
    expect(end).toEqual(failed(neverSent));
    const arriving = proxy.hold({ phase: "response", ...writes.keysAndIntent });
    late.release();
    await arriving.untilHeld();
    arriving.drop();
    await untilQuiet(reconciler, system, taken.get(beforeWrite)?.requestId ?? "");
    expect(await endOf(beforeWrite)).toEqual(end);
  });

  test("sends no order to the delivery service, or sends it again, when it is reconciled", () => {
    expect(deliveryCalls(system)).toBe(points.filter(([, , , calls]) => calls === 1).length);
  });
});
