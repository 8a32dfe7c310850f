import { describe, expect, test } from "vitest";
import { createBodyV2 } from "../../../../lib/connector/api/body-to-draft.ts";
import { createWithId, newRequestId } from "../../../../lib/connector/create/create-request.ts";
import { days, hours, minutes } from "../../../../lib/platform/time.ts";
import { withoutExpiry, withPort } from "../../../support/connector/changed-peers.ts";
import { crashing } from "../../../support/connector/crashing.ts";
import { usersOf } from "../../../support/connector/in-a-state.ts";
import { authenticator, authenticatorsOf, idAt, mixedBody, onSiteBody } from "../../../support/connector/on-site.ts";
import {
  peersOfFile,
  refusalOf,
  type TestConnector,
  testConnector,
  withoutPins,
} from "../../../support/connector/test-connector.ts";
import type { Body } from "../api/bodies.ts";

const peers = await peersOfFile();
// Looked up once and then failed, instead of after three days.
const limits = { reconcileForMs: 0 };

/** Runs the jobs for as long as anything is due but clean-up; the agent enrolls whatever still waits. */
async function healed(connector: TestConnector): Promise<void> {
  peers.rfpr.settings({ eager: true });
  for (let round = 0; round < 12; round++) {
    connector.advance(minutes(20));
    await connector.runCredentials();
    await connector.runShipments();
    const queues = await Promise.all((["reconcile", "poll", "key"] as const).map(queue => connector.queue(queue)));
    if (queues.flat().length === 0) break;
  }
  peers.rfpr.settings({ eager: false });
}

/** What became of a request, asked of storage and of every peer; nothing may be lost, doubled or stuck. */
async function outcome(connector: TestConnector, requestId: string, body: Body) {
  const loaded = await connector.context.requests.load(requestId);
  const users = usersOf(body);
  const registered = peers.entra.registrations().filter(({ userId }) => users.includes(userId));
  const wrong: string[] = [];
  for (const queue of ["reconcile", "poll", "key"] as const)
    for (const entry of await connector.queue(queue)) wrong.push(`${queue} has ${entry.keyId ?? "the request"}`);
  for (const { id, lease } of [...(loaded?.keys ?? []), ...(loaded === undefined ? [] : [loaded.request])])
    if (lease !== undefined) wrong.push(`${id} has a lease`);
  return {
    state: loaded?.request.state ?? "none",
    registrations: registered.length,
    mails: peers.mail.mails().filter(({ to }) => to.includes(body.recipient.email)).length,
    // An ended one that is no more to be enrolled is as good as none.
    enrollable: authenticatorsOf(peers, requestId).filter(({ state }) => state === "waiting").length,
    atEnrollment: authenticatorsOf(peers, requestId).length,
    wrong,
  };
}

const nothing = { registrations: 0, mails: 0, enrollable: 0, atEnrollment: 0, wrong: [] };

describe("a create handler that dies at any of its calls", () => {
  /** What becomes of the request, by the call at which its create handler died. */
  async function ends(body: () => Body) {
    const found: [call: string, state: string][] = [];
    const { storage } = await testConnector(peers);
    for (let step = 0; ; step++) {
      // A clock of its own: the delivery service's is the machine's.
      const connector = await testConnector(peers, { storage, limits });
      const sent = body();
      const dying = crashing(step, "before", "all");
      const dead = connector.anotherInstance(dying.options);
      const requestId = newRequestId(connector.context.random);
      const made = createWithId(requestId, createBodyV2.parse(sent), {}, dead.context).then(() => undefined);
      const call = await Promise.race([dying.died, made]);
      await healed(connector);
      const { state, ...rest } = await outcome(connector, requestId, sent);
      const authenticators = sent.authenticators.length;
      const keys = (sent.shipment?.shipment_items.length ?? 0) + authenticators;
      const done = { ...nothing, registrations: keys, mails: authenticators, atEnrollment: authenticators };
      expect(rest, `${call}: ${state}`).toEqual(state === "complete" ? done : nothing);
      found.push([call?.replace(/^\d+: /, "") ?? "none", state]);
      if (call === undefined) return found;
    }
  }
  const statesAt = (found: readonly [string, string][], call: string) =>
    found.filter(([at]) => at === call).map(([, state]) => state);

  test("loses, doubles and strands nothing of a mixed request", async () => {
    const found = await ends(() => withoutPins(mixedBody([1], [authenticator()])));
    expect(statesAt(found, "rfpr.authenticate")).toEqual(["failed"]);
    expect(statesAt(found, "idp.creationOptions")).toEqual(["failed", "failed"]);
    expect(statesAt(found, "rfpr.put")).toEqual(["failed"]);
    // After the order intent it is not known whether the order was sent, so it is looked up; from the order on it is found.
    expect(statesAt(found, "delivery.createShipment")).toEqual(["failed"]);
    expect(statesAt(found, "fprshipments.insert")).toEqual(["complete"]);
    // New rows, keys, keys and order intent, start.
    expect(statesAt(found, "credentialrequests.transact")).toEqual(["none", "failed", "failed", "complete"]);
    expect(statesAt(found, "none")).toEqual(["complete"]);
  });

  test("loses, doubles and strands nothing of one without a shipment", async () => {
    const found = await ends(() => onSiteBody([authenticator(), authenticator()]));
    expect(statesAt(found, "rfpr.put")).toEqual(["failed", "failed"]);
    // New rows, keys, start.
    expect(statesAt(found, "credentialrequests.transact")).toEqual(["none", "failed", "failed"]);
    expect(statesAt(found, "due.remove")).toEqual(["complete"]);
    expect(statesAt(found, "none")).toEqual(["complete"]);
  });
});

/** Lets a job die at each of its calls in turn, and heals. @returns at which calls it died */
async function dyingJobs(
  arrange: (connector: TestConnector) => Promise<{ requestId: string; body: Body }>,
  job: (connector: TestConnector) => Promise<unknown>,
  check: (connector: TestConnector, requestId: string, body: Body, call: string) => Promise<void>,
): Promise<readonly string[]> {
  const calls: string[] = [];
  // The simulated IdP, whose clock is the real one, issues challenges for the day of the first step.
  const connector = await testConnector(peers, { ports: withoutExpiry });
  for (let step = 0; ; step++) {
    const { requestId, body } = await arrange(connector);
    const dying = crashing(step, "before", "all");
    const call = await Promise.race([dying.died, job(connector.anotherInstance(dying.options)).then(() => undefined)]);
    await check(connector, requestId, body, call ?? "none");
    if (call === undefined) return calls;
    calls.push(call.replace(/^\d+: /, ""));
  }
}

describe("a job that dies at any of its calls", () => {
  test("while it takes over an authenticator that was enrolled: activated once, mailed once", async () => {
    const arrange = async (connector: TestConnector) => {
      const body = onSiteBody();
      const { requestId } = await connector.order(body);
      await peers.rfpr.enroll(idAt(requestId));
      peers.entra.resetRequests();
      return { requestId, body };
    };
    const calls = await dyingJobs(
      arrange,
      connector => connector.runCredentials(),
      async (connector, requestId, body, call) => {
        await healed(connector);
        const done = { state: "complete", registrations: 1, mails: 1, enrollable: 0, atEnrollment: 1, wrong: [] };
        expect(await outcome(connector, requestId, body), call).toEqual(done);
        expect(peers.entra.count("POST", /fido2Methods/), call).toBe(1);
      },
    );
    const expected = [
      "rfpr.get",
      "responses.put",
      "idp.activate",
      "mailer.send",
      "mailer.status",
      "credentialrequests.transact",
    ];
    for (const call of expected) expect(calls).toContain(call);
  });

  test("while it compensates what a create handler left: nothing can be enrolled", async () => {
    const arrange = async (connector: TestConnector) => {
      const body = onSiteBody([authenticator(), authenticator()]);
      const requestId = newRequestId(connector.context.random);
      const starting = Promise.withResolvers<void>();
      // The keys are handed over, the start is not written any more.
      const dead = connector.anotherInstance({
        ports: withPort("requests", ({ save }) => ({
          save: (loaded, changes) => {
            if (changes.request?.state !== "started") return save(loaded, changes);
            starting.resolve();
            return new Promise(() => {});
          },
        })),
      });
      void createWithId(requestId, createBodyV2.parse(body), {}, dead.context);
      await starting.promise;
      connector.advance(minutes(5));
      return { requestId, body };
    };
    const calls = await dyingJobs(
      arrange,
      connector => connector.runCredentials("timer"),
      async (connector, requestId, body, call) => {
        await healed(connector);
        expect(await outcome(connector, requestId, body), call).toEqual({ ...nothing, state: "failed" });
      },
    );
    expect(calls).toContain("rfpr.remove");
  });

  test("while it cleans up: everything is gone here and there in the end, there first", async () => {
    const arrange = async (connector: TestConnector) => {
      const body = onSiteBody();
      const { requestId } = await connector.order(body);
      await peers.rfpr.enroll(idAt(requestId));
      await connector.runCredentials();
      connector.advance(days(8));
      return { requestId, body };
    };
    const calls = await dyingJobs(
      arrange,
      connector => connector.runCleanUp(7),
      async (connector, requestId, _, call) => {
        const isHere = (await connector.context.requests.load(requestId)) !== undefined;
        if (!isHere) expect(authenticatorsOf(peers, requestId), call).toEqual([]);
        connector.advance(hours(2));
        await connector.runCleanUp(7);
        expect(await connector.context.requests.load(requestId), call).toBeUndefined();
        expect(authenticatorsOf(peers, requestId), call).toEqual([]);
      },
    );
    expect(calls.indexOf("rfpr.remove")).toBeLessThan(calls.lastIndexOf("credentialrequests.transact"));
  });
});

test("a create handler that dies while it hands over sends its caller no answer, and its late call is refused", async () => {
  const connector = await testConnector(peers);
  const dying = crashing("rfpr.put", "before", "all");
  const requestId = newRequestId(connector.context.random);
  const late = connector.anotherInstance(dying.options);
  const answer = refusalOf(createWithId(requestId, createBodyV2.parse(onSiteBody()), {}, late.context));
  await dying.died;
  connector.advance(minutes(5));
  await connector.runCredentials("timer");
  dying.goOn();
  expect(await answer).toMatchObject({ status: 503 });
  expect(await connector.read(requestId)).toMatchObject({ state: "failed" });
  expect(authenticatorsOf(peers, requestId)).toEqual([]);
});
