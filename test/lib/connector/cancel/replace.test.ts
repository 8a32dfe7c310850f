import { describe, expect, test } from "vitest";
import { createBodyV2 } from "../../../../lib/connector/api/body-to-draft.ts";
import { listSecurityKeys } from "../../../../lib/connector/api/list-security-keys.ts";
import { cancelRequest } from "../../../../lib/connector/cancel/cancel-request.ts";
import { eraseRecipient } from "../../../../lib/connector/cancel/erase-recipient.ts";
import { createRequest } from "../../../../lib/connector/create/create-request.ts";
import { dryRun } from "../../../../lib/connector/create/dry-run.ts";
import type { CloudEvent } from "../../../../lib/connector/events/cloud-event.ts";
import { followCreate } from "../../../../lib/connector/jobs/follow-replacement.ts";
import { days, hours, minutes, plus } from "../../../../lib/platform/time.ts";
import { idOfUser } from "../../../../local/peers/uuid-of.ts";
import { crashing, failingTable } from "../../../support/connector/crashing.ts";
import { sinkOfFile } from "../../../support/connector/event-sinks.ts";
import { authenticator, onSiteBody } from "../../../support/connector/on-site.ts";
import {
  type ConnectorOptions,
  idpsOf,
  newUser,
  orderBody,
  peersOfFile,
  refusalOf,
  type TestConnector,
  testConnector,
  withoutPins,
} from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();
const sink = await sinkOfFile(peers.vault, 1);
const caller = { kind: "tenant", application: "app", subject: "one" } as const;
const keep = { settings: { REGISTER_KEEP_DAYS: "1825" } };

type Revoke = "now" | "when_active";
/** The users of each key. */
type Users = readonly (readonly string[])[];

const bodyFor = (users: Users) => {
  const body = withoutPins(orderBody(users.map(({ length }) => length)));
  const items = body.shipment.shipment_items.map((item, index) => ({
    ...item,
    credentials: (users[index] ?? []).map(user_id => ({ user_id })),
  }));
  return { ...body, shipment: { ...body.shipment, shipment_items: items } };
};

/** A create body for a key instead of the first one of a request. */
const instead = (requestId: string, users: Users, revoke: Revoke = "now") => ({
  ...bodyFor(users),
  replaces: { credential_request_id: requestId, key_id: "s-01-001", reason: "lost", revoke },
});

/** A request of one key, whose credentials are active. */
async function active(users: readonly string[] = [newUser()], options: ConnectorOptions = {}) {
  const connector = await testConnector(peers, options);
  const { requestId } = await connector.orderAndRun(bodyFor([users]));
  expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
  return { connector, old: requestId, users };
}

/** Orders as the endpoint does. */
async function ordered(connector: TestConnector, body: unknown): Promise<string> {
  const { requestId } = await connector.order(body);
  await followCreate(requestId, connector.context);
  return requestId;
}

const count = (user = "") => peers.entra.registrations(user).length;
const replacedBy = async (connector: TestConnector, requestId: string) =>
  (await connector.read(requestId)).shipment?.shipment_items[0]?.replaced_by;
const revocations = async (connector: TestConnector, requestId: string) =>
  (await connector.keyRow(requestId)).credentials.map(({ revocation }) => revocation?.state);
const beingReplacedBy = (requestId: string) => ({
  path: "replaces.key_id",
  reason: `is being replaced by ${requestId}: wait for the end of that request, or cancel it`,
});
const fieldsOf = async (work: Promise<unknown>) => {
  const { status, body } = await refusalOf(work);
  return [status, (body as { error_data: { fields: unknown } }).error_data.fields];
};

describe("a replacement with revoke now", () => {
  test("links both keys and revokes the replaced one when the order is placed", async () => {
    const { connector, old, users } = await active();
    const [user] = users;
    const requestId = await ordered(connector, instead(old, [[user ?? ""]]));
    expect(await connector.read(requestId)).toMatchObject({
      replaces: { credential_request_id: old, key_id: "s-01-001", reason: "lost", revoke: "now" },
    });
    expect(await replacedBy(connector, old)).toBe(requestId);
    expect((await connector.keyRow(old)).credentials[0]?.revocation).toMatchObject({
      state: "revoked",
      reason: "replaced",
    });
    expect(count(user)).toBe(0);
    await connector.runJobs();
    expect(count(user)).toBe(1);
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    expect(await connector.queue("replace")).toEqual([]);
  });

  test("is left to the job if storage fails after the create", async () => {
    const { connector, old, users } = await active();
    const { requestId } = await connector.order(instead(old, [users]));
    const failing = connector.anotherInstance({ tables: failingTable("due", "upsert") });
    await followCreate(requestId, failing.context);
    expect(failing.events("replacement_postponed")).toMatchObject([{ credentialRequestId: requestId }]);
    connector.advance(minutes(5));
    await connector.runCredentials("timer");
    expect(await revocations(connector, old)).toEqual(["revoked"]);
  });

  test("changes nothing if the order is refused", async () => {
    const { connector, old, users } = await active();
    const before = await connector.load(old);
    peers.delivery.fail({ kind: "refuse", status: 400, method: "POST", body: { code: "blocked", message: "No." } });
    await refusalOf(connector.order(instead(old, [users])));
    connector.advance(hours(1));
    await connector.runJobs();
    expect(await connector.load(old)).toMatchObject({ keys: [before.keys[0]] });
    expect(count(users[0])).toBe(1);
    expect(await connector.queue("replace")).toEqual([]);
  });

  test("waits for an order without an answer until its shipment is confirmed", async () => {
    const { connector, old, users } = await active();
    peers.delivery.fail({ kind: "drop", phase: "after", method: "POST", path: "shipments$" });
    await refusalOf(connector.order(instead(old, [users])));
    connector.advance(minutes(15));
    await connector.runCredentials();
    expect([await replacedBy(connector, old), count(users[0])]).toEqual([undefined, 1]);
    await connector.runJobs();
    connector.advance(hours(1));
    await connector.runJobs();
    expect(await revocations(connector, old)).toEqual(["revoked"]);
  });

  test("revokes a credential that becomes active later too", async () => {
    const connector = await testConnector(peers);
    const user = newUser();
    const { requestId: old } = await connector.orderAndPoll(bodyFor([[user]]));
    peers.entra.fail({ kind: "refuse", status: 503, method: "POST", path: idOfUser(user) });
    await connector.runCredentials();
    await ordered(connector, instead(old, [[user]]));
    await connector.runJobs();
    connector.advance(hours(1));
    await connector.runJobs();
    expect(await revocations(connector, old)).toEqual(["revoked"]);
    expect(count(user)).toBe(1);
    expect(await connector.queue("replace")).toEqual([]);
  });

  test("revokes the key of an archived request", async () => {
    const { connector, old, users } = await active(undefined, keep);
    connector.advance(days(2));
    expect(await connector.runCleanUp(1)).toMatchObject({ archived: 1 });
    const requestId = await ordered(connector, instead(old, [users]));
    expect(await revocations(connector, old)).toEqual(["revoked"]);
    const { entries } = await listSecurityKeys({ state: "revoked" }, { top: 10 }, connector.context);
    expect(entries).toMatchObject([{ credential_request_id: old, replaced_by: requestId }]);
  });

  test("is still linked when the replaced key is archived", async () => {
    const { connector, old, users } = await active(undefined, keep);
    const requestId = await ordered(connector, instead(old, [users]));
    connector.advance(days(2));
    expect(await connector.runCleanUp(1)).toMatchObject({ archived: 1 });
    expect(await connector.keyRow(old)).toMatchObject({ replacedBy: { requestId } });
  });

  test("does not try again a revocation that has failed for good", async () => {
    const { connector, old, users } = await active();
    peers.entra.fail({ kind: "refuse", status: 400, method: "DELETE", path: "fido2Methods", times: 9 });
    await ordered(connector, instead(old, [users]));
    expect(await revocations(connector, old)).toEqual(["revoke_failed"]);
    peers.entra.clearFaults();
    await connector.runJobs();
    expect(await revocations(connector, old)).toEqual(["revoke_failed"]);
  });
});

describe("a replacement with revoke when_active", () => {
  test("revokes each credential in the run that makes the last new one of its user active", async () => {
    const { connector, old, users } = await active([newUser(), newUser()]);
    const [first = "", second = ""] = users;
    const requestId = await ordered(connector, instead(old, [[first], [second]], "when_active"));
    expect([await replacedBy(connector, old), count(first)]).toEqual([requestId, 1]);
    await connector.runShipments();
    peers.entra.fail({ kind: "refuse", status: 503, method: "POST", path: idOfUser(second) });
    await connector.runCredentials();
    expect(await revocations(connector, old)).toEqual(["revoked", undefined]);
    expect([count(first), count(second)]).toEqual([1, 1]);
    connector.advance(minutes(2));
    await connector.runCredentials("timer");
    expect(await revocations(connector, old)).toEqual(["revoked", "revoked"]);
    expect([count(first), count(second)]).toEqual([1, 1]);
    expect(await connector.queue("replace")).toEqual([]);
  });

  test("revokes 30 days after the order at the latest", async () => {
    peers.delivery.settings({ shipAfterMs: days(60) });
    const connector = await testConnector(peers);
    const user = newUser();
    const { requestId: old } = await connector.order(
      onSiteBody([authenticator(1, { credentials: [{ user_id: user }] })]),
    );
    await peers.rfpr.enroll(`${old}.a-01`);
    connector.advance(minutes(5));
    await connector.runCredentials();
    const body = {
      ...instead(old, [[user]], "when_active"),
      replaces: { credential_request_id: old, key_id: "a-01", reason: "stolen", revoke: "when_active" },
    };
    await ordered(connector, body);
    connector.advance(days(30) - 1);
    await connector.runCredentials("timer");
    expect(count(user)).toBe(1);
    connector.advance(1);
    await connector.runCredentials("timer");
    expect(count(user)).toBe(0);
  });

  test("leaves the replaced key as it was if the new order is cancelled", async () => {
    const { connector, old, users } = await active();
    peers.delivery.settings({ shipAfterMs: hours(1) });
    const requestId = await ordered(connector, instead(old, [users], "when_active"));
    expect(await replacedBy(connector, old)).toBe(requestId);
    await cancelRequest(requestId, connector.context);
    await connector.runCredentials("timer");
    expect(await replacedBy(connector, old)).toBeUndefined();
    connector.advance(days(31));
    await connector.runJobs();
    expect([await revocations(connector, old), count(users[0])]).toEqual([[undefined], 1]);
    expect(await connector.queue("replace")).toEqual([]);
  });

  test("shows the latest of two orders", async () => {
    const { connector, old, users } = await active();
    const first = await ordered(connector, instead(old, [users], "when_active"));
    await connector.runJobs();
    expect(await connector.read(first)).toMatchObject({ state: "complete" });
    const latest = await ordered(connector, instead(old, [users], "when_active"));
    connector.advance(hours(1));
    await connector.runCredentials("timer");
    expect(first).not.toBe(latest);
    expect(await replacedBy(connector, old)).toBe(latest);
  });

  test("never revokes a credential of a user who gets no new one", async () => {
    const connector = await testConnector(peers);
    const [user, other] = [newUser(), newUser()];
    const { requestId: old } = await connector.orderAndPoll(bodyFor([[user, other]]));
    peers.entra.fail({ kind: "refuse", status: 503, method: "POST", path: idOfUser(other) });
    await connector.runCredentials();
    await ordered(connector, instead(old, [[user]]));
    connector.advance(hours(1));
    await connector.runJobs();
    connector.advance(days(31));
    await connector.runJobs();
    expect([await revocations(connector, old), count(other)]).toEqual([["revoked", undefined], 1]);
    expect(await connector.queue("replace")).toEqual([]);
  });

  test("keeps the new request from clean-up and erasure until it is done", async () => {
    const connector = await testConnector(peers);
    const user = newUser();
    const { requestId: old } = await connector.orderAndPoll(bodyFor([[user]]));
    peers.entra.fail({ kind: "refuse", status: 503, method: "POST", path: idOfUser(user), times: 9 });
    await connector.runCredentials();
    peers.entra.clearFaults();
    const body = instead(old, [[user]], "when_active");
    const requestId = await ordered(connector, body);
    await connector.runShipments();
    await connector.runCredentials("timer");
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    connector.advance(days(2));
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 0 });
    const who = { by: "email", name: body.recipient.email } as const;
    expect(await eraseRecipient(who, connector.context, { leaveActive: true })).toMatchObject({
      left: [{ requestId, reason: "A job has not finished with the security key that it replaces." }],
    });
    await connector.runCredentials("timer");
    expect(await revocations(connector, old)).toEqual(["revoked"]);
    connector.advance(days(2));
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 2 });
  });

  test("ends with an error event if the replaced request was deleted", async () => {
    const { connector, old, users } = await active();
    const requestId = await ordered(connector, instead(old, [users], "when_active"));
    connector.advance(days(2));
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 1 });
    await connector.runJobs();
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    expect(await connector.queue("replace")).toEqual([]);
    expect(connector.events("replaced_key_missing")).toMatchObject([
      { credentialRequestId: requestId, replacedRequestId: old, keyId: "s-01-001", reason: "lost" },
    ]);
  });

  test("has that event also if the process ends at the write after which the request is not looked at again", async () => {
    const { connector, old, users } = await active();
    const requestId = await ordered(connector, instead(old, [users], "when_active"));
    connector.advance(days(2));
    await connector.runCleanUp(1);
    const { context } = connector;
    const save: typeof context.requests.save = async (...given) => {
      await context.requests.save(...given);
      throw new Error("the process ends");
    };
    const ending = { ...context, requests: { ...context.requests, save } };
    await followCreate(requestId, ending);
    expect(await connector.queue("replace")).toEqual([]);
    expect(connector.events("replaced_key_missing")).toHaveLength(1);
  });

  test("is named in the event of the start", async () => {
    const settings = { EVENT_SINK_URLS: `${sink.url}/hook` };
    const { connector, old, users } = await active(undefined, { settings });
    const { replaces, ...body } = instead(old, [users], "when_active");
    await connector.orderAndRun({ ...body, replaces });
    const started = sink
      .events()
      .map(({ body }) => JSON.parse(body) as CloudEvent)
      .filter(({ type }) => type === "fido-connector.request.started");
    expect(started.map(({ data }) => "replaces" in data && data.replaces)).toEqual([false, replaces]);
  });
});

describe("a replaced key is refused", () => {
  test("if its request or the key does not exist", async () => {
    const { connector, old, users } = await active();
    const { replaces, ...body } = instead(old, [users]);
    const unknown = {
      ...body,
      replaces: { ...replaces, credential_request_id: "2f1d2c3b-9a8e-4d7c-b6a5-e4d3c2b1a099" },
    };
    expect(await fieldsOf(connector.order(unknown))).toEqual([
      400,
      [{ path: "replaces.credential_request_id", reason: "is not a credential request" }],
    ]);
    const wrongKey = { ...body, replaces: { ...replaces, key_id: "s-02-001" } };
    expect(await fieldsOf(connector.order(wrongKey))).toEqual([
      400,
      [{ path: "replaces.key_id", reason: "is not a key of that request" }],
    ]);
  });

  test("if a user of an active credential gets no new one, and names the user", async () => {
    const { connector, old, users } = await active([newUser(), newUser()]);
    const [first = "", second = ""] = users;
    const refused = {
      path: "replaces.key_id",
      reason: `has an active credential of ${second} at entra, for whom no credential is ordered: it would be revoked without a replacement`,
    };
    expect(await fieldsOf(connector.order(instead(old, [[first.toUpperCase()]])))).toEqual([400, [refused]]);
    expect(peers.delivery.count("POST", /shipments$/)).toBe(1);
  });

  test("while an open request replaces the key, before anything is ordered, and not once that one was cancelled", async () => {
    const { connector, old, users } = await active();
    const { requestId, shipmentId = "" } = await connector.order(instead(old, [users], "when_active"));
    await followCreate(requestId, connector.context);
    const ordersBefore = peers.delivery.count("POST", /shipments$/);
    expect(await fieldsOf(connector.order(instead(old, [users])))).toEqual([400, [beingReplacedBy(requestId)]]);
    expect(peers.delivery.count("POST", /shipments$/)).toBe(ordersBefore);
    await peers.delivery.control(shipmentId, { state: 101 });
    await cancelRequest(requestId, connector.context);
    expect(await ordered(connector, instead(old, [users]))).toEqual(expect.any(String));
  });

  test("while a request replaces the key whose order is not confirmed, and not once that one has failed", async () => {
    const { connector, old, users } = await active();
    peers.delivery.fail({ kind: "drop", phase: "before", method: "POST", path: "shipments$" });
    await refusalOf(connector.order(instead(old, [users])));
    const [entry] = await connector.context.requests.entries({ state: "received" }, { top: 10 });
    expect(await fieldsOf(connector.order(instead(old, [users])))).toEqual([
      400,
      [beingReplacedBy(entry?.requestId ?? "")],
    ]);
    connector.advance(days(4));
    await connector.runJobs();
    expect(await connector.read(entry?.requestId ?? "")).toMatchObject({ state: "failed" });
    expect(await ordered(connector, instead(old, [users]))).toEqual(expect.any(String));
  });

  test("not because of a create that ordered nothing and whose identity provider did not answer: its repeat orders", async () => {
    const { connector, old, users } = await active(undefined, {
      // Such an identity provider may have begun a registration: the request stays received until the job has looked.
      ports: context => ({ idps: idpsOf(context, () => ({ compensateUnanswered: async () => {} })) }),
    });
    const body = instead(old, [users]);
    const once = () => createRequest(createBodyV2.parse(body), { caller, idempotencyKey: "key-1" }, connector.context);
    peers.entra.fail({ kind: "drop", path: "creationOptions", times: 100 });
    expect(await refusalOf(once())).toMatchObject({ status: 503 });
    peers.entra.clearFaults();
    expect(await connector.context.requests.entries({ state: "received" }, { top: 10 })).toHaveLength(1);
    const { requestId } = await once();
    expect(await connector.read(requestId)).toMatchObject({ state: "started" });
  });

  test("not because of a create whose host stopped before the order intent: its repeat orders", async () => {
    const { connector, old, users } = await active();
    const body = instead(old, [users]);
    const once = ({ context }: TestConnector) =>
      createRequest(createBodyV2.parse(body), { caller, idempotencyKey: "key-1" }, context);
    const dying = crashing("delivery.transportKeys", "before", "all");
    void once(connector.anotherInstance(dying.options)).catch(() => undefined);
    await dying.died;
    connector.advance(connector.context.intervals.createMs + 1);
    const { requestId } = await once(connector);
    expect(await connector.read(requestId)).toMatchObject({ state: "started" });
    expect(await connector.context.requests.entries({ state: "received" }, { top: 10 })).toHaveLength(1);
  });

  test("without using up its Idempotency-Key, while a repeat of a create is answered whatever became of the key", async () => {
    const { connector, old, users } = await active();
    const [user = ""] = users;
    const once = (body: unknown) =>
      createRequest(createBodyV2.parse(body), { caller, idempotencyKey: "key-1" }, connector.context);
    expect(await refusalOf(once(instead(old, [[newUser()]])))).toMatchObject({ status: 400 });
    const body = instead(old, [[user]]);
    const { requestId } = await once(body);
    const { replaces, ...other } = body;
    expect(await refusalOf(once(other))).toMatchObject({ status: 409 });
    connector.advance(days(2));
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 1 });
    expect(await once(body)).toMatchObject({ requestId, isReplayed: true });
    expect(replaces.credential_request_id).toBe(old);
  });

  test("in a dry run, which also warns if nothing is active or another order replaces it", async () => {
    const { connector, old, users } = await active();
    const check = (body: unknown) => dryRun(createBodyV2.parse(body), connector.context);
    expect(await fieldsOf(check(instead(old, [[newUser()]])))).toMatchObject([400, [{ path: "replaces.key_id" }]]);
    const before = await check(instead(old, [users]));
    expect(before.map(({ path }) => path)).not.toContain("replaces.revoke");
    const requestId = await ordered(connector, instead(old, [users]));
    expect(await fieldsOf(check(instead(old, [users])))).toMatchObject([400, [beingReplacedBy(requestId)]]);
    await connector.runJobs();
    expect(await check(instead(old, [users]))).toEqual([
      { path: "replaces.revoke", reason: "has no effect now: the key has no credential to revoke" },
      { path: "replaces.key_id", reason: `is already replaced by ${requestId}` },
      ...before,
    ]);
  });
});

describe("a host that stops while it follows a replacement", () => {
  const all = Array.from({ length: 24 }, (_, at) => at);

  /** Stops a host at each of its writes in turn, lets others do the work, and lets it continue. */
  async function stopAtEach(
    phase: "before" | "after",
    prepare: () => Promise<{
      connector: TestConnector;
      work: (of: TestConnector) => Promise<unknown>;
      check: () => Promise<void>;
    }>,
  ): Promise<number> {
    for (const at of all) {
      const { connector, work, check } = await prepare();
      const { died, options, goOn } = crashing(at, phase);
      const stopped = work(connector.anotherInstance(options));
      const hasDied = await Promise.race([died.then(() => true), stopped.then(() => false)]);
      for (const ms of [minutes(6), hours(1)]) {
        connector.advance(ms);
        await Promise.all([connector.runCredentials("timer"), connector.anotherInstance().runCredentials("timer")]);
      }
      goOn();
      await stopped;
      connector.advance(hours(1));
      await connector.runJobs();
      await check();
      expect(await connector.queue("replace")).toEqual([]);
      if (!hasDied) return at;
    }
    throw new Error("the host makes more writes");
  }

  async function replacing(revoke: Revoke) {
    const { connector, old, users } = await active();
    const { requestId } = await connector.order(instead(old, [users], revoke));
    const check = async () => {
      expect([await revocations(connector, old), await replacedBy(connector, old)]).toEqual([["revoked"], requestId]);
      expect(count(users[0])).toBe(1);
    };
    return { connector, requestId, check };
  }

  test.each(["before", "after"] as const)("after a create, %s any write, loses and doubles nothing", async phase => {
    const writes = await stopAtEach(phase, async () => {
      const { connector, requestId, check } = await replacing("now");
      const work = ({ context }: TestConnector) => followCreate(requestId, context);
      const all = async () => {
        await connector.runShipments();
        connector.advance(hours(1));
        await connector.runJobs();
        await check();
      };
      return { connector, work, check: all };
    });
    expect(writes).toBeGreaterThan(7);
  });

  test.each(["before", "after"] as const)("in a job, %s any write, loses and doubles nothing", async phase => {
    const writes = await stopAtEach(phase, async () => {
      const { connector, requestId, check } = await replacing("when_active");
      await followCreate(requestId, connector.context);
      await connector.runShipments();
      return { connector, work: of => of.runCredentials("timer").catch(() => undefined), check };
    });
    expect(writes).toBeGreaterThan(9);
  });

  test("leaves a request to the run that has its lease", async () => {
    const { connector, requestId, check } = await replacing("when_active");
    await connector.runShipments();
    await connector.runCredentials();
    const [loaded, at] = [await connector.load(requestId), connector.now()];
    const lease = { owner: "another", until: plus(at, minutes(3)) };
    const request = { ...loaded.request, lease, replaceDue: { queue: "replace", at } } as const;
    await connector.context.requests.save(loaded, { request });
    await connector.runCredentials("timer");
    expect((await connector.requestRow(requestId)).replaceDue?.at).toBe(at);
    connector.advance(minutes(4));
    await connector.runCredentials("timer");
    expect(await connector.queue("replace")).toEqual([]);
    await check();
  });

  test("and continues after a cancelled order writes nothing", async () => {
    const { connector, old, users } = await active();
    peers.delivery.settings({ shipAfterMs: hours(1) });
    const { requestId } = await connector.order(instead(old, [users]));
    const { died, options, goOn } = crashing("credentialrequests.replace", "before");
    const stopped = followCreate(requestId, connector.anotherInstance(options).context);
    await died;
    await cancelRequest(requestId, connector.context);
    await connector.runCredentials("timer");
    goOn();
    await stopped;
    connector.advance(hours(1));
    await connector.runJobs();
    expect([await revocations(connector, old), await replacedBy(connector, old)]).toEqual([[undefined], undefined]);
    expect(count(users[0])).toBe(1);
  });
});
