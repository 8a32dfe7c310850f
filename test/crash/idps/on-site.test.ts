import { beforeAll, describe, expect, test } from "vitest";
import type { LoadedRequest } from "../../../lib/connector/deps.ts";
import type { Body } from "../../lib/connector/api/v2/bodies.ts";
import { authenticator, authenticatorsOf, idAt, mixedBody, onSiteBody } from "../../support/connector/on-site.ts";
import type { HostProcess } from "../../support/host/host-process.ts";
import type { HoldRule } from "../../support/host/pausing-proxy.ts";
import { atWrite, inCall, type PeerCall, type Point, type WorkToKill } from "../kill-points.ts";
import { processCredentialRequests } from "../orders.ts";
import { deliveryCalls, neverSent, stepMs, untilQuiet } from "../outcome.ts";
import { writes } from "../writes.ts";
import { type Lane, laneOfFile } from "./idp-lanes.ts";

const laneNow = laneOfFile({
  IDP_DEFAULT: "pingone",
  ENROLLMENT_POLL_AFTER_SECONDS: "0.2",
  ENROLLMENT_POLL_MAX_SECONDS: "0.2",
});

type Arrange = (lane: Lane) => Point;
const onLane = (work: (lane: Lane) => Promise<void>): Promise<void> => work(laneNow());
const called = ({ system }: Lane, peer: "enrollment" | "rfpr" | "pingone" | "delivery" | "mail", call: PeerCall) =>
  inCall(system.peers[peer], call);
const pausedWrite = ({ proxy }: Lane, phase: HoldRule["phase"], write: Omit<HoldRule, "phase">) =>
  atWrite(proxy, phase, write);
const killed = (lane: Lane, work: WorkToKill["work"], point: Point, which?: "host" | "reconciler") =>
  lane.killed([{ name: "the work", work, arrange: () => point }], which);
const create = (body: Body) => (host: HostProcess) => host.call("POST", "/v2/credential-requests", body);
/** Where the keys lie in storage already, the order intent is written alone. */
const intent = { path: /\/credentialrequests\(.*RowKey='request'/, body: /sentAt/ };
const put = { method: "PUT", path: "/authenticator-requests/" };

/**
 * The stored request that mails to the body's recipient; one that waits to be reconciled or enrolled is in the index.
 */
async function stored({ system }: Lane, body: Body): Promise<LoadedRequest> {
  for (const queue of ["reconcile", "key", "poll"] as const)
    for await (const { requestId } of system.store.due(queue)) {
      const loaded = await system.store.load(requestId);
      if (loaded !== undefined && loaded.request.value.recipient.email === body.recipient.email) return loaded;
    }
  throw new Error("no index row names the request");
}

/** What became of the request when all is quiet; the agent enrolls what waits. */
async function outcomeAfterReconciling({ system }: Lane, host: HostProcess, requestId: string) {
  const { rfpr, pingone, delivery, mail } = system.peers;
  rfpr.settings({ eager: true });
  await untilQuiet(host, system, requestId);
  rfpr.settings({ eager: false });
  const loaded = await system.store.load(requestId);
  if (loaded === undefined) throw new Error("the request is gone");
  const { request, keys } = loaded;
  const users = keys.flatMap(({ value }) => value.credentials.map(({ userId }) => userId));
  return {
    state: request.value.state,
    why: request.value.errorMessage,
    leased: [request, ...keys].filter(({ value }) => value.lease !== undefined).length,
    atEnrollment: authenticatorsOf(system.peers, requestId).map(({ state }) => state),
    shipments: (await delivery.shipments()).filter(({ customerReference }) => customerReference === requestId).length,
    registrations: users.map(user => pingone.registrations(user).length),
    mails: mail.mails().filter(({ to }) => to.includes(request.value.recipient.email)).length,
  };
}

const neverStarted = {
  state: "failed",
  why: "The request was interrupted before it was started.",
  leased: 0,
  atEnrollment: [],
  shipments: 0,
  registrations: [0, 0],
  mails: 0,
};
const all = { state: "complete", why: undefined, leased: 0, registrations: [1, 1], mails: 2 };
const removals = ({ system }: Lane) => system.peers.pingone.count("DELETE", /\/devices\//);

describe("a host that is killed while it creates a request of authenticators", () => {
  test.each<[string, Arrange]>([
    [
      "while it gets the pre-registration API's token",
      lane => called(lane, "enrollment", { method: "POST", path: "/token$" }),
    ],
    ["in the hand-over, after it is done", lane => called(lane, "rfpr", { ...put, phase: "after" })],
    ["before the start is stored", lane => pausedWrite(lane, "request", writes.startedOnSite)],
  ])("%s: nothing can be enrolled, and known devices are compensated", async (_, arrange) => {
    await onLane(async lane => {
      const body = onSiteBody([authenticator(), authenticator()]);
      await killed(lane, create(body), arrange(lane));
      const { request, keys } = await stored(lane, body);
      const known = keys.filter(({ value }) => value.credentials[0]?.idpState !== undefined).length;
      expect(await outcomeAfterReconciling(lane, await lane.reconciler(), request.value.id)).toEqual(neverStarted);
      expect(removals(lane)).toBe(known);
    });
  });

  test.each<[string, Arrange]>([
    [
      "in the removal of a device, before it is done",
      lane => called(lane, "pingone", { method: "DELETE", path: "/devices/" }),
    ],
    [
      "in the removal of a device, after it is done",
      lane => called(lane, "pingone", { method: "DELETE", path: "/devices/", phase: "after" }),
    ],
    [
      "in the removal of an authenticator, after it is done",
      lane => called(lane, "rfpr", { method: "DELETE", path: "a-01$", phase: "after" }),
    ],
  ])("and then one that compensates it, %s: the next host does", async (_, arrange) => {
    await onLane(async lane => {
      const body = onSiteBody([authenticator(), authenticator()]);
      await killed(lane, create(body), called(lane, "rfpr", { ...put, path: "a-02", phase: "after" }));
      const { request } = await stored(lane, body);
      const point = arrange(lane);
      const working = async (host: HostProcess) => {
        for (;;) {
          await processCredentialRequests(host);
          lane.system.clock.advance(stepMs);
        }
      };
      await killed(lane, working, point, "reconciler");
      expect(await outcomeAfterReconciling(lane, await lane.reconciler(), request.value.id)).toEqual(neverStarted);
      expect(removals(lane)).toBeGreaterThanOrEqual(2);
    });
  });
});

describe("a host that is killed around a write of a request of authenticators", () => {
  test("before the sealed keys are stored, which reach storage when it is over: nothing is handed over", async () => {
    await onLane(async lane => {
      const body = onSiteBody([authenticator(), authenticator()]);
      const hold = lane.proxy.hold({ phase: "request", ...writes.sealedKeys });
      await killed(lane, create(body), { reached: () => hold.untilHeld(), cut: () => {} });
      const { request } = await stored(lane, body);
      const outcome = async () => outcomeAfterReconciling(lane, await lane.reconciler(), request.value.id);
      expect(await outcome()).toEqual(neverStarted);
      const late = lane.proxy.hold({ phase: "response", ...writes.sealedKeys });
      hold.release();
      await late.untilHeld();
      late.drop();
      expect(await outcome()).toEqual(neverStarted);
      expect(lane.system.peers.rfpr.count("PUT", /./)).toBe(0);
    });
  });

  test("after the start is stored: they are enrolled, activated and mailed, each once", async () => {
    await onLane(async lane => {
      const body = onSiteBody([authenticator(), authenticator()]);
      await killed(lane, create(body), pausedWrite(lane, "response", writes.startedOnSite));
      const { request } = await stored(lane, body);
      const end = await outcomeAfterReconciling(lane, await lane.reconciler(), request.value.id);
      expect(end).toEqual({ ...all, atEnrollment: ["completed", "completed"], shipments: 0 });
    });
  });
});

describe("a host that is killed while it creates a request of both kinds", () => {
  test("after the call of the pre-registration API, before the order intent is stored: nothing is ordered or enrolled", async () => {
    await onLane(async lane => {
      const body = mixedBody();
      await killed(lane, create(body), pausedWrite(lane, "request", intent));
      const { request } = await stored(lane, body);
      const end = await outcomeAfterReconciling(lane, await lane.reconciler(), request.value.id);
      expect(end).toEqual({ ...neverStarted, why: neverSent });
      expect([deliveryCalls(lane.system), removals(lane)]).toEqual([0, 2]);
    });
  });
});

describe("a host that is killed while it orders the shipment of a request of both kinds", () => {
  const points: readonly (readonly [name: string, arrange: Arrange])[] = [
    [
      "in the order, after it is done",
      lane => called(lane, "delivery", { method: "POST", path: "/shipments$", phase: "after" }),
    ],
    ["after the order, before the start is stored", lane => pausedWrite(lane, "request", writes.startedOnSite)],
  ];
  const bodies = new Map(points.map(([name]) => [name, mixedBody()]));
  const requests = new Map<string, string>();
  let lane: Lane;

  beforeAll(async () => {
    lane = laneNow();
    const toKill = points.map(([name, arrange]) => ({
      name,
      arrange: () => arrange(lane),
      work: create(bodies.get(name)),
    }));
    await lane.killed(toKill);
    for (const [name, body] of bodies) requests.set(name, (await stored(lane, body)).request.value.id);
  });

  test.each(points)("%s: the shipment is found, and each key is programmed and mailed once", async name => {
    const end = await outcomeAfterReconciling(lane, await lane.reconciler(), requests.get(name) ?? "");
    expect(end).toEqual({ ...all, atEnrollment: ["completed"], shipments: 1 });
    expect(deliveryCalls(lane.system)).toBe(points.length);
  });
});

describe("a host that is killed while it works on an authenticator that is enrolled", () => {
  const reading = { method: "GET", path: "/authenticator-requests/" };
  const points: readonly (readonly [name: string, arrange: Arrange])[] = [
    ["while it polls", lane => called(lane, "rfpr", reading)],
    ["before the result of the poll is stored", lane => pausedWrite(lane, "request", writes.enrolled)],
    [
      "in the activation, after it is done",
      lane => called(lane, "pingone", { method: "POST", path: "/devices/", phase: "after" }),
    ],
    ["while it fetches the PIN", lane => called(lane, "rfpr", { ...reading, skip: 1 })],
    [
      "in the mail, after it is taken",
      lane => called(lane, "mail", { method: "POST", path: "/emails:send$", phase: "after" }),
    ],
  ];
  const requests = new Map<string, string>();
  let lane: Lane;

  beforeAll(async () => {
    lane = laneNow();
    const host = await lane.host();
    await lane.killed(
      points.map(([name, arrange]) => ({
        name,
        work: processCredentialRequests,
        arrange: async () => {
          const body = onSiteBody();
          const { status } = await create(body)(host);
          expect(status).toBe(201);
          const { request } = await stored(lane, body);
          requests.set(name, request.value.id);
          await lane.system.peers.rfpr.enroll(idAt(request.value.id));
          return arrange(lane);
        },
      })),
      "reconciler",
    );
  });

  test.each(points)("%s: it is activated once and mailed once", async name => {
    const one = { registrations: [1], mails: 1, shipments: 0, atEnrollment: ["completed"] };
    const end = await outcomeAfterReconciling(lane, await lane.host(), requests.get(name) ?? "");
    expect(end).toEqual({ ...all, ...one });
  });
});
