import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { FaultRule } from "../../local/peers/peer.ts";
import { course, newSinkSecret } from "../support/connector/event-sinks.ts";
import { resetPeers } from "../support/connector/reset-peers.ts";
import type { HostProcess } from "../support/host/host-process.ts";
import type { HoldRule } from "../support/host/pausing-proxy.ts";
import { systemOfFile } from "../support/host/system.ts";
import { until } from "../support/until.ts";
import { firstArrivals, sinkSettings, untilDelivered } from "./events.ts";
import { longLimits, pastLongLimitsMs } from "./kill-points.ts";
import { newOrder, type Order, placed, processCredentialRequests, processShipments } from "./orders.ts";
import { activationCalls, fulfilled, fulfilledKey, mailCalls, outcome, untilQuiet } from "./outcome.ts";
import { ofRequest, writes } from "./writes.ts";

const { system, proxy } = await systemOfFile();
/** The host that is stopped. The proxy is in front of its tables only. */
let sleeper: HostProcess;
let other: HostProcess;

beforeAll(async () => {
  [sleeper, other] = await Promise.all([system.startHost({ through: proxy, limits: longLimits }), system.startHost()]);
});

beforeEach(() => resetPeers(system.peers));

/** Where a host is stopped, and what happens before it goes on. */
interface Point {
  reached(): Promise<void>;
  /** The paused exchange continues while the host is still stopped. */
  release(): Promise<void>;
}

const pausedWrite = (phase: HoldRule["phase"], write: Omit<HoldRule, "phase">): Point => {
  const hold = proxy.hold({ phase, ...write });
  return { reached: () => hold.untilHeld(), release: async () => hold.release() };
};

const hanging = (name: "entra" | "mail" | "delivery", rule: Omit<FaultRule, "kind">): Point => {
  const peer = system.peers[name];
  const others = peer.hanging();
  peer.fail({ kind: "hang", ...rule });
  return {
    reached: () => peer.untilHanging(others + 1),
    release: async () => {
      peer.release();
      await until(
        () => peer.requests().every(({ status }) => status !== null),
        () => "the call is not answered",
      );
    },
  };
};

/** Stops a host at a point of its job, does other work meanwhile, and lets the job go on to its end. */
async function stopAt(
  point: Point,
  [host, job]: readonly [HostProcess, (host: HostProcess) => Promise<void>],
  meanwhile: () => Promise<void>,
): Promise<void> {
  const ended = job(host);
  await point.reached();
  host.signal("SIGSTOP");
  try {
    await meanwhile();
    await point.release();
  } finally {
    host.signal("SIGCONT");
  }
  await ended;
}

/** An order, and where the host that works on it is stopped. */
interface Case {
  readonly order: Order;
  readonly requestId: string;
}
type Job = (host: HostProcess) => Promise<void>;
type Arrange = (of: Case) => Point | Promise<Point>;

const write =
  (phase: HoldRule["phase"], rule: Omit<HoldRule, "phase">): Arrange =>
  ({ requestId }) =>
    pausedWrite(phase, ofRequest(requestId, rule));
const registering =
  (phase: "before" | "after"): Arrange =>
  ({ order }) =>
    hanging("entra", { method: "POST", path: `/(${order.users.join("|")})/.*fido2Methods$`, phase });
const mailing =
  (phase: "before" | "after"): Arrange =>
  () =>
    hanging("mail", { method: "POST", path: "/emails:send$", phase });
const polling: Arrange = async ({ requestId }) => {
  const { delivery } = (await system.store.load(requestId))?.request.value ?? {};
  return hanging("delivery", { method: "GET", path: `/v1/fpr/shipments/${delivery?.shipment?.id}$` });
};

test("a host that is stopped between its attempt and the call makes no call that its lease would not outlast", async () => {
  const order = newOrder();
  const requestId = await placed(other, order);
  await processShipments(other);
  // The host has no token yet, because this is its first work: it must ask for one in between.
  const point = hanging("entra", { path: "oauth2/v2.0/token$" });
  const ended = processCredentialRequests(sleeper);
  await point.reached();
  sleeper.signal("SIGSTOP");
  const { lease } = (await system.store.load(requestId))?.keys[0]?.value ?? {};
  const latest = Date.parse(lease?.until ?? "") - longLimits.idpCallMs;
  system.clock.advance(latest - Date.now() + 1);
  await point.release();
  sleeper.signal("SIGCONT");
  await ended;
  expect(activationCalls({ ...order, users: order.users.slice(0, 1) }, system)).toBe(0);

  await untilQuiet(other, system, requestId);
  expect(await outcome(order, requestId, { hosts: [other, sleeper], system })).toEqual(fulfilled);
  expect(activationCalls(order, system)).toBe(3);
});

describe("a host that is stopped past its lease, while another finishes its work", () => {
  const lateRegistration = "in the activation, before the IdP has done it: one registration";
  const lateMail = "in the mail call, before the mail service has taken it: at most the same mail once more";
  /** A mail call does not name its request, so these come first, for orders of one key. */
  const points: readonly (readonly [name: string, job: Job, arrange: Arrange, keys?: readonly number[]])[] = [
    [lateMail, processCredentialRequests, mailing("before"), [1]],
    [
      "in the mail call, after the mail service has taken it: one mail by one call",
      processCredentialRequests,
      mailing("after"),
      [1],
    ],
    [
      "before its claim of the mail is stored: the claim is refused and no mail sent",
      processCredentialRequests,
      write("request", writes.mailTry),
    ],
    [
      "while storage's response to its lease of the mail is paused: no mail is sent",
      processCredentialRequests,
      write("response", writes.mailTry),
    ],
    [
      "before its try is stored: the try is refused and no call is made",
      processCredentialRequests,
      write("request", writes.activationTry),
    ],
    [
      "while storage's response to its attempt is paused: no call is made",
      processCredentialRequests,
      write("response", writes.activationTry),
    ],
    [
      "in the activation, after the IdP has done it: one registration by one call",
      processCredentialRequests,
      registering("after"),
    ],
    [
      "before the activation's result is stored: the result is refused, the other has found it at the IdP",
      processCredentialRequests,
      write("request", writes.activation),
    ],
    [lateRegistration, processCredentialRequests, registering("before")],
    ["in a poll: what it learned too late changes nothing", processShipments, polling],
  ];
  const cases = new Map<string, Case>();
  const caseOf = (name: string) => cases.get(name) as Case;
  const endOf = (name: string) => {
    const { order, requestId } = caseOf(name);
    return outcome(order, requestId, { hosts: [other, sleeper], system });
  };
  /** Calls of the mail service for all orders, and of the IdP by point. */
  let mailed: number;
  let activations: ReadonlyMap<string, number>;

  // One host waits at all points when it is stopped, because work of a host is what such a test costs.
  beforeAll(async () => {
    resetPeers(system.peers);
    const reached: Point[] = [];
    const ended: Promise<void>[] = [];
    for (const [name, job, arrange, keys] of points) {
      const order = newOrder(keys);
      const one = { order, requestId: await placed(other, order) };
      cases.set(name, one);
      if (job === processCredentialRequests) await processShipments(other);
      const point = await arrange(one);
      const end = job(sleeper);
      ended.push(end);
      reached.push(point);
      // Work that ends before the point will never reach it.
      await Promise.race([point.reached(), end.then(() => Promise.reject(new Error(`${name}: not reached`)))]);
    }
    sleeper.signal("SIGSTOP");
    const finish = () => untilQuiet(other, system, ...[...cases.values()].map(({ requestId }) => requestId));
    try {
      system.clock.advance(pastLongLimitsMs);
      await finish();
      for (const { release } of reached) await release();
    } finally {
      sleeper.signal("SIGCONT");
    }
    await Promise.all(ended);
    await finish();
    mailed = mailCalls(system);
    activations = new Map(points.map(([name]) => [name, activationCalls(caseOf(name).order, system)]));
  });

  const ends = points.flatMap(([name, , , keys]) =>
    name === lateMail ? [] : [[name, keys === undefined ? fulfilled : fulfilledKey] as const],
  );
  test.each(ends)("%s", async (name, expected) => {
    expect(await endOf(name)).toEqual(expected);
    // Only the call that reached the IdP too late is repeated.
    const credentials = caseOf(name).order.users.length;
    expect(activations.get(name)).toBe(name === lateRegistration ? credentials + 1 : credentials);
  });

  test(lateMail, async () => {
    const { mails, ...end } = await endOf(lateMail);
    expect({ ...end, mails: [1] }).toEqual(fulfilledKey);
    expect([1, 2]).toContain(mails[0]);
    const sent = system.peers.mail.mails().filter(({ to }) => to.includes(caseOf(lateMail).order.email));
    expect(new Set(sent.map(({ operationId, text }) => `${operationId} ${text}`)).size).toBe(1);
  });

  test("calls the mail service once for each key, and twice only where it had not taken the mail", () => {
    const keys = points.reduce((sum, [, , , own = [2, 1]]) => sum + own.length, 0);
    expect(mailed).toBe(keys + 1);
  });
});

describe("a host that is stopped past its lease while it sends events, while another continues", () => {
  let stopped: HostProcess;
  let next: HostProcess;
  const hangingSink = (phase: "before" | "after"): Point => {
    const { sink } = system.peers;
    sink.fail({ kind: "hang", phase });
    return { reached: () => sink.untilHanging(), release: async () => sink.release() };
  };

  beforeAll(async () => {
    system.peers.vault.set("event-sink-1", newSinkSecret());
    const settings = sinkSettings(system);
    [stopped, next] = await Promise.all([
      system.startHost({ through: proxy, settings }),
      system.startHost({ settings }),
    ]);
  });

  test.each([
    ["before its lease is stored", () => pausedWrite("request", writes.deliveryLease)],
    ["while storage's response to its lease is paused", () => pausedWrite("response", writes.deliveryLease)],
    ["in the call, before the sink has the event", () => hangingSink("before")],
    ["in the call, after the sink has the event", () => hangingSink("after")],
    ["before the answer of the sink is stored", () => pausedWrite("request", writes.deliveryResult)],
    ["while storage's response to the result is paused", () => pausedWrite("response", writes.deliveryResult)],
  ] as const)("%s: every event is delivered, in order", async (_, arrange) => {
    const requestId = await placed(next, newOrder([1]));
    await stopAt(arrange(), [stopped, processShipments], async () => {
      await untilQuiet(next, system, requestId);
      await untilDelivered(next, system, requestId);
    });
    await untilDelivered(next, system, requestId);
    expect(firstArrivals(system, requestId)).toEqual(course);
    const row = await system.tables.table("credentialrequests").get(requestId, "delivery:1");
    expect(row).toMatchObject({ done: course.length });
    expect(row).not.toHaveProperty("lease");
  });
});
