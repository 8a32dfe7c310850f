import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { course, newSinkSecret } from "../support/connector/event-sinks.ts";
import type { HostProcess } from "../support/host/host-process.ts";
import type { HoldRule } from "../support/host/pausing-proxy.ts";
import { systemOfFile } from "../support/host/system.ts";
import { arrivals, firstArrivals, sinkSettings, startSending, untilDelivered } from "./events.ts";
import { atWrite, inCall, killAt, longLimits, type Point, pastLongLimitsMs } from "./kill-points.ts";
import { newOrder, type Order, placed, processCredentialRequests, processShipments } from "./orders.ts";
import { activationCalls, fulfilled, fulfilledKey, mailCalls, outcome, untilQuiet } from "./outcome.ts";
import { ofRequest, writes } from "./writes.ts";

const { system, proxy } = await systemOfFile();

/** An order, and where the host that works on it is killed. */
interface Case {
  readonly order: Order;
  readonly requestId: string;
  readonly shipmentId: string;
}

type Arrange = (of: Case) => Point;
type Job = (host: HostProcess) => Promise<void>;

const write =
  (phase: HoldRule["phase"], rule: Omit<HoldRule, "phase">): Arrange =>
  ({ requestId }) =>
    atWrite(proxy, phase, ofRequest(requestId, rule));
const shipmentCall: Arrange = ({ shipmentId }) =>
  inCall(system.peers.delivery, { method: "GET", path: `/v1/fpr/shipments/${shipmentId}$` });
const registration =
  (phase: "before" | "after"): Arrange =>
  ({ order }) =>
    inCall(system.peers.entra, { method: "POST", path: `/(${order.users.join("|")})/.*fido2Methods$`, phase });
const mailCall =
  (phase: "before" | "after"): Arrange =>
  () =>
    inCall(system.peers.mail, { method: "POST", path: "/emails:send$", phase });

/** Places an order, and brings it to where the job that is killed begins. */
async function prepared(host: HostProcess, job: Job, order: Order): Promise<Case> {
  const requestId = await placed(host, order);
  if (job === processCredentialRequests) await processShipments(host);
  const { delivery } = (await system.store.load(requestId))?.request.value ?? {};
  return { order, requestId, shipmentId: delivery?.shipment?.id ?? "" };
}

/** Has a host work on one order after another until it waits at the order's point, then kills it. Returns the orders. */
async function killedAt(
  settings: Readonly<Record<string, string>>,
  points: readonly (readonly [name: string, job: Job, arrange: Arrange, keys?: readonly number[] | undefined])[],
): Promise<ReadonlyMap<string, Case>> {
  const victim = await system.startHost({ through: proxy, settings, limits: longLimits });
  const cases = new Map<string, Case>();
  await killAt(
    victim,
    points.map(([name, job, arrange, keys]) => ({
      name,
      work: job,
      // The start of a timer is answered before the timer has ended.
      isTimer: job === startSending,
      arrange: async () => {
        const one = await prepared(victim, job, newOrder(keys));
        cases.set(name, one);
        return arrange(one);
      },
    })),
  );
  for (const peer of Object.values(system.peers)) peer.clearFaults();
  system.clock.advance(pastLongLimitsMs);
  return cases;
}

const idsOf = (cases: ReadonlyMap<string, Case>): string[] => [...cases.values()].map(({ requestId }) => requestId);

/** Activation calls of the order are 3 where missing. */
type Killed = readonly [name: string, job: Job, arrange: Arrange, activations?: number, keys?: readonly number[]];

describe("a host that is killed while it works on orders", () => {
  /**
   * In the order of the work. A mail call does not name its request, so these come first, for orders of one key: no other
   * key is mailed meanwhile.
   */
  const points: readonly Killed[] = [
    [
      "in the call, before the mail service has taken it: the mail is unknown there and sent by a second call",
      processCredentialRequests,
      mailCall("before"),
      1,
      [1],
    ],
    [
      "in the call, after the mail service has taken it: the mail is found there and not sent again",
      processCredentialRequests,
      mailCall("after"),
      1,
      [1],
    ],
    ["while the PIN is fetched: every key gets its mail", processCredentialRequests, shipmentCall],
    [
      "after the mail's try is recorded, before the mail service is called: every key gets its mail by one call",
      processCredentialRequests,
      write("response", writes.mailTry),
    ],
    [
      "after the mail, before `sent` is stored: the mail is found there and not sent again",
      processCredentialRequests,
      write("request", writes.mailSent),
    ],
    [
      "after the activation's try is recorded, before the IdP is called: every credential is registered by one call",
      processCredentialRequests,
      write("response", writes.activationTry),
    ],
    [
      "in the call, before the IdP has done it: the credential is not found there and registered by a second call",
      processCredentialRequests,
      registration("before"),
      4,
    ],
    [
      "in the call, after the IdP has done it: the credential is found there and not registered again",
      processCredentialRequests,
      registration("after"),
    ],
    [
      "after the call, before its result is stored: the credential is found there and not registered again",
      processCredentialRequests,
      write("request", writes.activation),
    ],
    ["during a poll's call of the delivery service: the next host completes the order", processShipments, shipmentCall],
    [
      "before the result of a poll is stored: the order is fulfilled by the next host",
      processShipments,
      write("request", writes.pollResult),
    ],
    [
      "after the result of a poll is stored, before its index row goes: the order is fulfilled and the row goes",
      processShipments,
      write("response", writes.pollResult),
    ],
  ];
  let cases: ReadonlyMap<string, Case>;
  let next: HostProcess;

  beforeAll(async () => {
    cases = await killedAt(
      {},
      points.map(([name, job, arrange, _, keys]) => [name, job, arrange, keys]),
    );
    next = await system.startHost();
    await untilQuiet(next, system, ...idsOf(cases));
  });
  afterAll(() => next.kill());

  const ends = points.map(
    ([name, , , activations = 3, keys]) => [name, activations, keys === undefined ? fulfilled : fulfilledKey] as const,
  );
  test.each(ends)("%s", async (name, activations, expected) => {
    const { order, requestId } = cases.get(name) as Case;
    expect(await outcome(order, requestId, { hosts: [next], system })).toEqual(expected);
    expect(activationCalls(order, system)).toBe(activations);
  });

  test("sends only the mail again that the mail service had not taken", () => {
    expect(mailCalls(system)).toBe(2 * (points.length - 2) + 2 + 1);
  });
});

describe("a host that is killed while it records or sends events", () => {
  /** Everything that is left of an order, by the next host. */
  const finishedBy = async (host: HostProcess, requestId: string) => {
    await untilQuiet(host, system, requestId);
    await untilDelivered(host, system, requestId);
    return firstArrivals(system, requestId);
  };

  let recording: ReadonlyMap<string, Case>;
  let sending: ReadonlyMap<string, Case>;
  let next: HostProcess;
  const records: readonly (readonly [name: string, phase: HoldRule["phase"]])[] = [
    ["before the row of the events is stored", "request"],
    ["after the row of the events is stored", "response"],
  ];
  const hangingSink = (phase: "before" | "after") => () => inCall(system.peers.sink, { phase });
  /** A call of a sink waits for at most 15 seconds, so those come last. */
  const sends: readonly (readonly [name: string, arrange: Arrange, times: number])[] = [
    ["after its lease is stored, before the call", write("response", writes.deliveryLease), 1],
    ["before the answer of the sink is stored", write("request", writes.deliveryResult), 2],
    ["after the answer of the sink is stored", write("response", writes.deliveryResult), 1],
    ["in the call, before the sink has the event", hangingSink("before"), 1],
    ["in the call, after the sink has the event", hangingSink("after"), 2],
  ];

  beforeAll(async () => {
    system.peers.vault.set("event-sink-1", newSinkSecret());
    const sinks = sinkSettings(system);
    sending = await killedAt(
      sinks,
      sends.map(([name, arrange]) => [name, startSending, arrange, [1]]),
    );
    next = await system.startHost({ settings: sinks });
    for (const requestId of idsOf(sending)) await untilDelivered(next, system, requestId);
    recording = await killedAt(
      sinks,
      records.map(([name, phase]) => [name, processShipments, write(phase, writes.eventRow), [1]]),
    );
  });

  test.each(records)("%s: the next host sends every event, in order", async name => {
    expect(await finishedBy(next, (recording.get(name) as Case).requestId)).toEqual(course);
  });

  test.each(sends)("%s: the next host continues after the lease, with the same id", async (name, _, times) => {
    const { requestId } = sending.get(name) as Case;
    const started = arrivals(system, requestId).filter(({ type }) => type === "request.started");
    expect(started).toHaveLength(times);
    expect(new Set(started.map(({ id }) => id)).size).toBe(1);
    expect(await finishedBy(next, requestId)).toEqual(course);
  });
});
