import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { FaultRule } from "../../local/peers/peer.ts";
import { course, newSinkSecret } from "../support/connector/event-sinks.ts";
import { resetPeers } from "../support/connector/reset-peers.ts";
import type { HostProcess } from "../support/host/host-process.ts";
import type { HoldRule } from "../support/host/pausing-proxy.ts";
import { quick, systemOfFile } from "../support/host/system.ts";
import { until } from "../support/until.ts";
import { firstArrivals, sinkSettings, untilDelivered } from "./events.ts";
import { newOrder, placed, processCredentialRequests, processShipments } from "./orders.ts";
import { activationCalls, fulfilled, mailCalls, outcome, untilQuiet } from "./outcome.ts";
import { writes } from "./writes.ts";

const { system, proxy } = await systemOfFile();
/** The host that is stopped. The proxy is in front of its tables only. */
let sleeper: HostProcess;
let other: HostProcess;

beforeAll(async () => {
  [sleeper, other] = await Promise.all([system.startHost({ through: proxy }), system.startHost()]);
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
  peer.fail({ kind: "hang", ...rule });
  return {
    reached: () => peer.untilHanging(),
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

/** One host is stopped in a job past its lease, the other finishes the work, then the first goes on to the end of its job. */
async function stoppedIn(job: (host: HostProcess) => Promise<void>, arrange: () => Point) {
  const order = newOrder();
  const requestId = await placed(other, order);
  if (job === processCredentialRequests) await processShipments(other);
  const finish = () => untilQuiet(other, system, requestId);
  await stopAt(arrange(), [sleeper, job], finish);
  await finish();
  return { end: await outcome(order, requestId, { hosts: [other, sleeper], system }), order };
}

const activation = (phase: HoldRule["phase"]) => pausedWrite(phase, writes.activationTry);
const registering = (phase: "before" | "after") => hanging("entra", { method: "POST", path: "fido2Methods$", phase });

describe("a host that is stopped past its lease, while another finishes its work", () => {
  const polling = () => hanging("delivery", { method: "GET", path: "/v1/fpr/shipments/" });
  test("in a poll: what it learned too late changes nothing", async () => {
    const { end, order } = await stoppedIn(processShipments, polling);
    expect(end).toEqual(fulfilled);
    expect([activationCalls(order, system), mailCalls(system)]).toEqual([3, 2]);
  });

  test("in the activation, before the IdP has done it: one registration", async () => {
    expect((await stoppedIn(processCredentialRequests, () => registering("before"))).end).toEqual(fulfilled);
  });

  test.each([
    ["before its try is stored: the try is refused and no call is made", () => activation("request")],
    ["while storage's response to its attempt is paused: no call is made", () => activation("response")],
    ["in the activation, after the IdP has done it: one registration by one call", () => registering("after")],
    [
      "before the activation's result is stored: the result is refused, the other has found it at the IdP",
      () => pausedWrite("request", writes.activation),
    ],
  ])("%s", async (_, arrange) => {
    const { end, order } = await stoppedIn(processCredentialRequests, arrange);
    expect(end).toEqual(fulfilled);
    expect(activationCalls(order, system)).toBe(3);
  });

  test.each([
    [
      "before its claim of the mail is stored: the claim is refused and no mail sent",
      () => pausedWrite("request", writes.mailTry),
    ],
    [
      "while storage's response to its lease of the mail is paused: no mail is sent",
      () => pausedWrite("response", writes.mailTry),
    ],
    [
      "in the mail call, after the mail service has taken it: one mail by one call",
      () => hanging("mail", { method: "POST", phase: "after" }),
    ],
  ])("%s", async (_, arrange) => {
    expect((await stoppedIn(processCredentialRequests, arrange)).end).toEqual(fulfilled);
    expect(mailCalls(system)).toBe(2);
  });

  test("in the mail call, before the mail service has taken it: at most the same mail once more", async () => {
    const { end, order } = await stoppedIn(processCredentialRequests, () =>
      hanging("mail", { method: "POST", phase: "before" }),
    );
    const [first = 0, second] = end.mails;
    expect({ ...end, mails: [Math.min(first, 1), second] }).toEqual(fulfilled);
    expect(first).toBeLessThanOrEqual(2);
    const mails = system.peers.mail.mails().filter(({ to }) => to.includes(order.email));
    expect(new Set(mails.map(({ operationId, text }) => `${operationId} ${text}`)).size).toBe(2);
  });
});

test("a host that is stopped between its attempt and the call makes no call that its lease would not outlast", async () => {
  // Has no token yet, so that it must ask for one in between.
  const fresh = await system.startHost();
  const order = newOrder();
  const requestId = await placed(other, order);
  await processShipments(other);
  const point = hanging("entra", { path: "oauth2/v2.0/token$" });
  const ended = processCredentialRequests(fresh);
  await point.reached();
  fresh.signal("SIGSTOP");
  const { lease } = (await system.store.load(requestId))?.keys[0]?.value ?? {};
  const latest = Date.parse(lease?.until ?? "") - 1000 * Number(quick.IDP_TIMEOUT_SECONDS);
  system.clock.advance(latest - Date.now() + 1);
  await point.release();
  fresh.signal("SIGCONT");
  await ended;
  expect(activationCalls({ ...order, users: order.users.slice(0, 1) }, system)).toBe(0);

  await untilQuiet(other, system, requestId);
  expect(await outcome(order, requestId, { hosts: [other, fresh], system })).toEqual(fulfilled);
  expect(activationCalls(order, system)).toBe(3);
  await fresh.kill();
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
    const delivery = JSON.parse(String(row?.value));
    expect(delivery).toMatchObject({ done: course.length });
    expect(delivery).not.toHaveProperty("lease");
  });
});
