import { beforeAll, describe, expect, test } from "vitest";
import type { LoadedRequest } from "../../../lib/connector/model/loaded-request.ts";
import { idOfUser } from "../../../local/peers/uuid-of.ts";
import type { Body } from "../../lib/connector/api/v2/bodies.ts";
import { authenticator, authenticatorsOf, idAt, mixedBody, onSiteBody } from "../../support/connector/on-site.ts";
import type { HostProcess } from "../../support/host/host-process.ts";
import type { Hold, HoldRule } from "../../support/host/pausing-proxy.ts";
import { atWrite, inCall, type PeerCall, type Point } from "../kill-points.ts";
import { processCredentialRequests } from "../orders.ts";
import { deliveryCalls, neverSent, stepMs, untilQuiet } from "../outcome.ts";
import { writes } from "../writes.ts";
import { type Lane, laneOfFile } from "./idp-lanes.ts";

const laneNow = laneOfFile({ IDP_DEFAULT: "pingone" }, { enrollmentPoll: { minMs: 200, maxMs: 200 } });

type Arrange = (lane: Lane) => Point;
const called = ({ system }: Lane, peer: "enrollment" | "rfpr" | "pingone" | "delivery" | "mail", call: PeerCall) =>
  inCall(system.peers[peer], call);
const pausedWrite = ({ proxy }: Lane, phase: HoldRule["phase"], write: Omit<HoldRule, "phase">) =>
  atWrite(proxy, phase, write);
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

/** Path of each credential's device at PingOne, in a regular expression. */
const devicesOf = ({ keys }: LoadedRequest): readonly string[] =>
  keys.flatMap(({ value }) => value.credentials.map(({ userId }) => `/users/${idOfUser(userId)}/devices/[^/]+$`));
/** For each credential 1 where the stored request knows its device, which can then be removed, else 0. */
const known = ({ keys }: LoadedRequest): readonly number[] =>
  keys.flatMap(({ value }) => value.credentials.map(({ idpState }) => (idpState === undefined ? 0 : 1)));

const neverEnrolled: readonly (readonly [name: string, arrange: Arrange])[] = [
  ["in the hand-over, after it is done", lane => called(lane, "rfpr", { ...put, phase: "after" })],
  ["before the start is stored", lane => pausedWrite(lane, "request", writes.startedOnSite)],
];
/** No host has the token before, so one host is killed here alone. */
const atToken = "while it gets the pre-registration API's token";
const compensations: readonly (readonly [
  name: string,
  arrange: (lane: Lane, requestId: string, device: string) => Point,
])[] = [
  [
    "in the removal of a device, before it is done",
    (lane, _, device) => called(lane, "pingone", { method: "DELETE", path: device }),
  ],
  [
    "in the removal of a device, after it is done",
    (lane, _, device) => called(lane, "pingone", { method: "DELETE", path: device, phase: "after" }),
  ],
  [
    "in the removal of an authenticator, after it is done",
    (lane, requestId) => called(lane, "rfpr", { method: "DELETE", path: `${requestId}.a-01$`, phase: "after" }),
  ],
];
const beforeKeys = "before the sealed keys are stored, which reach storage when it is over";
const afterStart = "after the start is stored";
const beforeIntent = "after the call of the pre-registration API, before the order intent is stored";
const ordered: readonly (readonly [name: string, arrange: Arrange])[] = [
  [
    "in the order, after it is done",
    lane => called(lane, "delivery", { method: "POST", path: "/shipments$", phase: "after" }),
  ],
  ["after the order, before the start is stored", lane => pausedWrite(lane, "request", writes.startedOnSite)],
];

describe("a host that is killed while it creates a request with authenticators", () => {
  let lane: Lane;
  /** The write that reaches storage when all is over. */
  let late: Hold;
  /** The requests as the killed host left them, by the names of their points. */
  const left = new Map<string, LoadedRequest>();
  const leftAt = (name: string) => left.get(name) as LoadedRequest;
  const idOf = (name: string) => leftAt(name).request.value.id;
  const outcomeOf = async (name: string) => outcomeAfterReconciling(lane, await lane.reconciler(), idOf(name));
  const removals = (name: string) =>
    devicesOf(leftAt(name)).map(device => lane.system.peers.pingone.count("DELETE", new RegExp(device)));

  /** Kills one host at all points, each with a request of its own. */
  const killedCreating = async (points: readonly (readonly [name: string, body: Body, arrange: Arrange])[]) => {
    await lane.killed(
      points.map(([name, body, arrange]) => ({ name, work: create(body), arrange: () => arrange(lane) })),
    );
    for (const [name, body] of points) left.set(name, await stored(lane, body));
  };

  beforeAll(async () => {
    lane = laneNow();
    const two = () => onSiteBody([authenticator(), authenticator()]);
    const beforeKeysAreStored: Arrange = ({ proxy }) => {
      late = proxy.hold({ phase: "request", ...writes.sealedKeys });
      return { reached: () => late.untilHeld(), cut: () => {} };
    };
    await killedCreating([[atToken, two(), () => called(lane, "enrollment", { method: "POST", path: "/token$" })]]);
    await killedCreating([
      ...neverEnrolled.map(([name, arrange]) => [name, two(), arrange] as const),
      ...compensations.map(
        ([name]) => [name, two(), () => called(lane, "rfpr", { ...put, path: "a-02", phase: "after" })] as const,
      ),
      [beforeKeys, two(), beforeKeysAreStored],
      [afterStart, two(), () => pausedWrite(lane, "response", writes.startedOnSite)],
      [beforeIntent, mixedBody(), () => pausedWrite(lane, "request", intent)],
      ...ordered.map(([name, arrange]) => [name, mixedBody(), arrange] as const),
    ]);
    const working = async (host: HostProcess) => {
      for (;;) {
        await processCredentialRequests(host);
        lane.system.clock.advance(stepMs);
      }
    };
    // Its first runs reach all points at once.
    const points = compensations.map(([name, arrange]) => arrange(lane, idOf(name), devicesOf(leftAt(name))[0] ?? ""));
    const everyPoint = {
      reached: async () => void (await Promise.all(points.map(point => point.reached()))),
      cut: () => {},
    };
    await lane.killed([{ name: "the compensation", work: working, arrange: () => everyPoint }], "reconciler");
    lane.system.peers.rfpr.settings({ eager: true });
    await untilQuiet(await lane.reconciler(), lane.system, ...[...left.keys()].map(idOf));
  });

  test.each([atToken, ...neverEnrolled.map(([name]) => name)])(
    "%s: nothing can be enrolled, and known devices are compensated",
    async name => {
      expect(await outcomeOf(name)).toEqual(neverStarted);
      expect(removals(name)).toEqual(known(leftAt(name)));
    },
  );

  test.each(compensations)("and then one that compensates it, %s: the next host does", async name => {
    expect(await outcomeOf(name)).toEqual(neverStarted);
    expect(removals(name)).toHaveLength(2);
    for (const count of removals(name)) expect(count).toBeGreaterThanOrEqual(1);
  });

  test(`${beforeKeys}: nothing is handed over`, async () => {
    expect(await outcomeOf(beforeKeys)).toEqual(neverStarted);
    const arriving = lane.proxy.hold({ phase: "response", ...writes.sealedKeys });
    late.release();
    await arriving.untilHeld();
    arriving.drop();
    expect(await outcomeOf(beforeKeys)).toEqual(neverStarted);
    expect(lane.system.peers.rfpr.count("PUT", new RegExp(idOf(beforeKeys)))).toBe(0);
  });

  test(`${afterStart}: they are enrolled, activated and mailed, each once`, async () => {
    const end = { ...all, atEnrollment: ["completed", "completed"], shipments: 0 };
    expect(await outcomeOf(afterStart)).toEqual(end);
  });

  test(`${beforeIntent}: nothing is ordered or enrolled`, async () => {
    expect(await outcomeOf(beforeIntent)).toEqual({ ...neverStarted, why: neverSent });
    expect(removals(beforeIntent)).toEqual([1, 1]);
  });

  test.each(ordered)("%s: the shipment is found, and each key is programmed and mailed once", async name => {
    expect(await outcomeOf(name)).toEqual({ ...all, atEnrollment: ["completed"], shipments: 1 });
  });

  test("sends only the orders of the hosts that were killed after that", () => {
    expect(deliveryCalls(lane.system)).toBe(ordered.length);
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
