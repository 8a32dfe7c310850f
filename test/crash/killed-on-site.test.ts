import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { authenticator, authenticatorsOf, idAt, onSiteBody } from "../support/connector/on-site.ts";
import { resetPeers } from "../support/connector/reset-peers.ts";
import type { HostProcess } from "../support/host/host-process.ts";
import { type PausingProxy, startPausingProxy } from "../support/host/pausing-proxy.ts";
import { reconcileSoon, startTestSystem, type TestSystem } from "../support/host/system.ts";
import { processCredentialRequests } from "./orders.ts";
import { stepMs, untilQuiet } from "./outcome.ts";
import { writes } from "./writes.ts";

let system: TestSystem;
let proxy: PausingProxy;
let host: HostProcess;
/** The host that reconciles what the killed host left. */
let reconciler: HostProcess;

beforeAll(async () => {
  system = await startTestSystem({ ENROLLMENT_POLL_AFTER_SECONDS: "0.2", ENROLLMENT_POLL_MAX_SECONDS: "0.2" });
  proxy = await startPausingProxy(system.storage.tableUrl);
  [host, reconciler] = await Promise.all([startHost(), startReconciler()]);
});

afterAll(async () => {
  await proxy.close();
  await system.close();
});

beforeEach(() => resetPeers(system.peers));

const startHost = () => system.startHost({ through: proxy });
const startReconciler = () => system.startHost({ settings: reconcileSoon });

/** Kills a host when the point is reached, before `work` is answered. */
async function killAt(victim: HostProcess, point: Promise<void>, work: Promise<unknown>): Promise<void> {
  const ended = work.then(
    () => "answered",
    () => "unanswered",
  );
  await point;
  await victim.kill();
  expect(await ended).toBe("unanswered");
}

/** The id of the stored request that mails to `to`. */
async function requestTo(to: string): Promise<string> {
  for (const queue of ["reconcile", "key"] as const)
    for await (const { requestId } of system.store.due(queue))
      if ((await system.store.load(requestId))?.request.value.recipient.email === to) return requestId;
  throw new Error("no index row names the request");
}

/** What became of the request when all is quiet. */
async function outcomeAfterReconciling(requestId: string, body: ReturnType<typeof onSiteBody>) {
  system.peers.rfpr.settings({ eager: true });
  await untilQuiet(reconciler, system, requestId);
  system.peers.rfpr.settings({ eager: false });
  const { request, keys } = (await system.store.load(requestId)) ?? { request: undefined, keys: [] };
  const users = body.authenticators.flatMap(({ credentials }) => credentials.map(({ user_id }) => user_id));
  const { entra, mail } = system.peers;
  return {
    state: request?.value.state,
    why: request?.value.errorMessage,
    leased: [request, ...keys].filter(row => row?.value.lease !== undefined).length,
    atEnrollment: authenticatorsOf(system.peers, requestId).map(({ state }) => state),
    registrations: users.map(user => entra.registrations().filter(({ userId }) => userId === user).length),
    mails: mail.mails().filter(({ to }) => to.includes(body.recipient.email)).length,
  };
}

const compensated = {
  state: "failed",
  why: "The request was interrupted before it was started.",
  leased: 0,
  atEnrollment: [],
  registrations: [0, 0],
  mails: 0,
};
const done = {
  state: "complete",
  why: undefined,
  leased: 0,
  atEnrollment: ["completed", "completed"],
  registrations: [1, 1],
  mails: 2,
};

describe("a host that is killed while it creates a request of authenticators", () => {
  const killed = async (point: Promise<void>) => {
    const body = onSiteBody([authenticator(), authenticator()]);
    await killAt(host, point, host.call("POST", "/v2/credential-requests", body));
    host = await startHost();
    return { body, requestId: await requestTo(body.recipient.email) };
  };

  test("before the sealed keys are stored, which reach storage when it is over: nothing is handed over", async () => {
    const hold = proxy.hold({ phase: "request", ...writes.sealedKeys });
    const { body, requestId } = await killed(hold.untilHeld());
    expect(await outcomeAfterReconciling(requestId, body)).toEqual(compensated);
    const late = proxy.hold({ phase: "response", ...writes.sealedKeys });
    hold.release();
    await late.untilHeld();
    late.drop();
    expect(await outcomeAfterReconciling(requestId, body)).toEqual(compensated);
    expect(system.peers.rfpr.count("PUT", /./)).toBe(0);
  });

  test("while one is handed over, which the pre-registration API has taken: all are compensated", async () => {
    system.peers.rfpr.fail({ kind: "hang", method: "PUT", path: "a-02", phase: "after" });
    const { body, requestId } = await killed(system.peers.rfpr.untilHanging());
    expect(authenticatorsOf(system.peers, requestId)).toHaveLength(2);
    expect(await outcomeAfterReconciling(requestId, body)).toEqual(compensated);
  });

  test("while it compensates them: the next host continues", async () => {
    system.peers.rfpr.fail({ kind: "hang", method: "PUT", path: "a-02", phase: "after" });
    const { body, requestId } = await killed(system.peers.rfpr.untilHanging());
    system.peers.rfpr.fail({ kind: "hang", method: "DELETE", path: "a-01" });
    const job = (async () => {
      for (;;) {
        await processCredentialRequests(reconciler);
        system.clock.advance(stepMs);
      }
    })();
    await killAt(reconciler, system.peers.rfpr.untilHanging(), job);
    reconciler = await startReconciler();
    expect(await outcomeAfterReconciling(requestId, body)).toEqual(compensated);
  });

  test("before `started` is written: all are compensated", async () => {
    const hold = proxy.hold({ phase: "request", ...writes.startedOnSite });
    const { body, requestId } = await killed(hold.untilHeld());
    hold.drop();
    expect(await outcomeAfterReconciling(requestId, body)).toEqual(compensated);
  });

  test("after `started` is written: they are enrolled, activated and mailed, each once", async () => {
    const hold = proxy.hold({ phase: "response", ...writes.startedOnSite });
    const { body, requestId } = await killed(hold.untilHeld());
    hold.drop();
    expect(await outcomeAfterReconciling(requestId, body)).toEqual(done);
  });
});

describe("a host that is killed while it polls authenticators", () => {
  test.each([
    ["while the pre-registration API is asked", undefined],
    ["before the result is stored", { phase: "request", ...writes.enrolled }],
  ] as const)("%s: each is activated and mailed once by the next host", async (_, write) => {
    const body = onSiteBody([authenticator(), authenticator()]);
    const { body: created } = await host.call("POST", "/v2/credential-requests", body);
    const requestId = (created as { data: { credential_request_id: string } }).data.credential_request_id;
    for (const position of [0, 1]) await system.peers.rfpr.enroll(idAt(requestId, position));
    if (write === undefined) {
      system.peers.rfpr.fail({ kind: "hang", method: "GET" });
      await killAt(host, system.peers.rfpr.untilHanging(), processCredentialRequests(host));
    } else {
      const hold = proxy.hold(write);
      await killAt(host, hold.untilHeld(), processCredentialRequests(host));
      hold.drop();
    }
    host = await startHost();
    expect(await outcomeAfterReconciling(requestId, body)).toEqual(done);
  });
});
