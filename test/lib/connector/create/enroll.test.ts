import { describe, expect, test } from "vitest";
import { days, minutes, seconds } from "../../../../lib/platform/time.ts";
import { idOfUser } from "../../../../local/peers/uuid-of.ts";
import {
  authenticator,
  authenticatorsOf,
  idAt,
  mixedBody,
  onSiteBody,
  recordedCalls,
} from "../../../support/connector/on-site.ts";
import {
  peersOfFile,
  recordCompensated,
  refusalOf,
  type TestConnector,
  testConnector,
} from "../../../support/connector/test-connector.ts";
import type { Body } from "../api/bodies.ts";

const peers = await peersOfFile();
const puts = () => peers.rfpr.count("PUT", /./);
const deletes = () => peers.rfpr.count("DELETE", /./);
const ordered = () => peers.delivery.count("POST", /shipments$/);
const asked = () => peers.entra.count("GET", /creationOptions/);

/** The one request in storage, which waits to be reconciled. */
async function unsettledId(connector: TestConnector): Promise<string> {
  const [{ requestId } = { requestId: "" }] = await connector.queue("reconcile");
  return requestId;
}

/** The one request in storage, which has ended `failed` with all its keys and credentials. */
async function failedRequest(connector: TestConnector) {
  for (const queue of ["reconcile", "poll", "key"] as const) expect(await connector.queue(queue)).toEqual([]);
  const [{ requestId } = { requestId: "" }, ...others] = await connector.queue("clean");
  expect(others).toEqual([]);
  const read = await connector.read(requestId);
  const keys = [...(read.authenticators ?? []), ...(read.shipment?.shipment_items ?? [])];
  expect([read.state, ...keys.map(({ state }) => state)]).toEqual(Array(keys.length + 1).fill("failed"));
  return { ...read, requestId };
}

const firstAuthenticator = (body: Body) => body.authenticators[0];

describe("a create with authenticators", () => {
  test("gets the access token, asks the IdPs, hands the authenticators over, and orders the shipment last", async () => {
    const { calls, fetch } = recordedCalls(peers);
    const connector = await testConnector(peers, { fetch });
    await connector.order(mixedBody([2], [authenticator(2), authenticator(1)]));
    const at = (call: RegExp) => calls.flatMap((made, index) => (call.test(made) ? [index] : []));
    const options = at(/^entra GET .*creationOptions/);
    const put = at(/^rfpr PUT/);
    expect([options.length, put.length]).toEqual([5, 2]);
    expect(at(/^enrollment POST \/v1\/token/)).toEqual([0]);
    expect(Math.max(...options)).toBeLessThan(Math.min(...put));
    expect(at(/^delivery POST/)).toEqual([calls.length - 1]);
  });

  test("hands each over under its own id, as it was asked for", async () => {
    const connector = await testConnector(peers);
    const body = onSiteBody([
      authenticator(2, { name: "Desk 4", customization_id: "C-1", preferred_authenticator_type: "software" }),
      authenticator(1, { pin_request: { min_length: 8, entry_method: "user_entered" } }),
      authenticator(1, { pin_request: { delivery_method: "app" } }),
      authenticator(1, { pin_request: undefined }),
    ]);
    Object.assign(body.recipient, { external_id: "staff-7", company: "Difference Ltd" });
    const { requestId, shipmentId } = await connector.order(body);
    expect(shipmentId).toBeUndefined();
    const taken = authenticatorsOf(peers, requestId);
    const users = (position: number) => body.authenticators[position]?.credentials.map(({ user_id }) => user_id);
    const common = {
      state: "waiting",
      recipient: { external_id: "staff-7", email: body.recipient.email, first_name: "Ada", last_name: "Lovelace" },
    };
    expect(taken).toMatchObject([
      {
        ...common,
        id: idAt(requestId, 0),
        name: "Desk 4",
        customizationId: "C-1",
        preferred: "software",
        pin: { minLength: 6, entryMethod: "generated", deliveryMethod: "email" },
        credentials: users(0)?.map(user => ({ user })),
      },
      {
        id: idAt(requestId, 1),
        name: "Pre-Reg Key",
        preferred: "hardware",
        pin: { minLength: 8, entryMethod: "user_entered", deliveryMethod: "email" },
        credentials: users(1)?.map(user => ({ user })),
      },
      { id: idAt(requestId, 2), pin: { minLength: 6, entryMethod: "generated", deliveryMethod: "app" } },
      { id: idAt(requestId, 3), pin: undefined },
    ]);
    const { credentials } = await connector.keyRow(requestId, "a-01");
    const ends = credentials.map(({ challengeExpiresAt = "" }) => challengeExpiresAt).toSorted();
    expect(taken[0]?.expiresAt).toBe(ends.at(-1));
  });

  test("without a shipment is started when all authenticators are registered, without a call of the delivery service", async () => {
    const connector = await testConnector(peers);
    const { requestId } = await connector.order(onSiteBody([authenticator(), authenticator()]));
    expect(await connector.read(requestId)).toMatchObject({
      state: "started",
      authenticators: [{ state: "processing" }, { state: "processing" }],
    });
    expect(peers.delivery.count(".*", /shipments/)).toBe(0);
    expect(await connector.queue("reconcile")).toEqual([]);
    const polls = await connector.queue("key");
    expect(polls.map(({ keyId }) => keyId).toSorted()).toEqual(["a-01", "a-02"]);
  });

  test("has its sealed keys stored before anything is handed over, and its order intent only after that", async () => {
    const connector = await testConnector(peers);
    peers.rfpr.fail({ kind: "hang", method: "PUT" });
    const taken = connector.order(mixedBody([1], [authenticator(2)]));
    await peers.rfpr.untilHanging();
    const { request, keys } = await connector.load(await unsettledId(connector));
    expect(request).toMatchObject({ state: "received" });
    expect(request.delivery).toBeUndefined();
    const sealed = keys.flatMap(key => key.credentials.map(({ responseKey }) => typeof responseKey));
    expect(sealed).toEqual(["string", "string", "string"]);
    expect(ordered()).toBe(0);
    peers.rfpr.release();
    const { requestId } = await taken;
    expect((await connector.requestRow(requestId)).delivery?.sentAt).toBeDefined();
  });

  test("is refused where the deployment has no enrollment service, before anything is stored", async () => {
    const none = { ENROLLMENT_SERVICE_API_BASE_URL: "", RFPR_API_BASE_URL: "" };
    const connector = await testConnector(peers, { settings: none });
    expect(await refusalOf(connector.order(mixedBody()))).toMatchObject({
      status: 400,
      body: { error_data: { error_type: "validation", fields: [{ path: "authenticators" }] } },
    });
    expect(await connector.queue("reconcile")).toEqual([]);
    expect(asked()).toBe(0);
  });
});

// jobs/failures/create.test.ts has the failures of each call.
describe("a create that gets no access token (specification section 5)", () => {
  test("because the vault has no credential: 500, and no other peer is called", async () => {
    peers.vault.fail({ kind: "refuse", path: "enrollment-credential", status: 404, times: 10 });
    const connector = await testConnector(peers);
    expect(await refusalOf(connector.order(mixedBody()))).toMatchObject({
      status: 500,
      body: {
        error_code: "api_error",
        error_message: "The connector could not authenticate toward the enrollment service.",
        error_data: { error_type: "internal" },
      },
    });
    await failedRequest(connector);
    expect([asked(), puts(), deletes(), ordered()]).toEqual([0, 0, 0, 0]);
  });

  test("because a revoked one is not renewed after the identity providers were asked: 500 too", async () => {
    const connector = await testConnector(peers);
    await connector.order(onSiteBody());
    connector.advance(seconds(11));
    peers.enrollment.revokeTokens();
    peers.enrollment.fail({ kind: "refuse", status: 503, times: 3 });
    expect(await refusalOf(connector.order(mixedBody()))).toMatchObject({
      status: 500,
      body: { error_message: "The connector could not authenticate toward the enrollment service." },
    });
    const [ended] = await connector.queue("clean");
    expect(await connector.read(ended?.requestId ?? "")).toMatchObject({ state: "failed" });
  });

  test("a shipment alone needs none", async () => {
    peers.enrollment.fail({ kind: "refuse", times: 10 });
    const connector = await testConnector(peers);
    const { authenticators: _, ...body } = mixedBody();
    await connector.order(body);
    expect(peers.enrollment.count("POST", /./)).toBe(0);
  });
});

describe("a create whose authenticators are not taken", () => {
  const withCompensation = (compensated: Parameters<typeof recordCompensated>[0] = []) =>
    testConnector(peers, { ports: recordCompensated(compensated) });

  test("because one is refused: 400 with its position and the reason; everything is compensated", async () => {
    const compensated: Parameters<typeof recordCompensated>[0] = [];
    const connector = await withCompensation(compensated);
    peers.rfpr.fail({
      kind: "refuse",
      method: "PUT",
      path: "a-02",
      status: 400,
      body: { code: "validation_error", message: "customization_id: is unknown" },
    });
    const body = mixedBody([1], [authenticator(), authenticator(2)]);
    expect(await refusalOf(connector.order(body))).toEqual({
      status: 400,
      headers: {},
      body: {
        error_code: "api_error",
        error_message: "The pre-registration API refused authenticator 2: customization_id: is unknown",
        error_data: { error_type: "validation" },
      },
    });
    const { requestId, error_message } = await failedRequest(connector);
    expect(error_message).toContain("customization_id");
    expect(authenticatorsOf(peers, requestId)).toEqual([]);
    expect([deletes(), ordered()]).toEqual([2, 0]);
    expect(connector.events("authenticator_not_taken")).toMatchObject([
      { credentialRequestId: requestId, keyId: "a-02" },
    ]);
    const users = [...body.shipment.shipment_items, ...body.authenticators].flatMap(({ credentials }) =>
      credentials.map(({ user_id }) => user_id),
    );
    expect(compensated.map(({ userId }) => userId).toSorted()).toEqual(users.map(idOfUser).toSorted());
  });

  test("because it holds another content under the id: 500, compensated, and nothing can be enrolled", async () => {
    const connector = await withCompensation();
    peers.rfpr.fail({ kind: "refuse", status: 409, method: "PUT" });
    expect((await refusalOf(connector.order(mixedBody()))).status).toBe(500);
    const { requestId } = await failedRequest(connector);
    expect(authenticatorsOf(peers, requestId)).toEqual([]);
    expect(ordered()).toBe(0);
  });

  test("is compensated at the IdPs also if the pre-registration API does not cancel it", async () => {
    const compensated: Parameters<typeof recordCompensated>[0] = [];
    const connector = await withCompensation(compensated);
    peers.rfpr.fail({ kind: "refuse", method: "PUT", status: 400 });
    peers.rfpr.fail({ kind: "refuse", method: "DELETE", status: 500, times: 3 });
    const body = onSiteBody();
    await refusalOf(connector.order(body));
    expect(compensated).toMatchObject([{ userId: idOfUser(firstAuthenticator(body)?.credentials[0].user_id ?? "") }]);
  });
});

describe("a mixed request whose shipment is not taken", () => {
  /** A request whose delivery call is dropped, done or not. */
  async function unanswered(connector: TestConnector, phase: "before" | "after") {
    peers.delivery.fail({ kind: "drop", method: "POST", phase });
    const { body } = await refusalOf(connector.order(mixedBody()));
    return (body as Body).error_data.credential_request_id as string;
  }

  test("without an answer: its authenticators wait, and are polled when the shipment is found", async () => {
    const connector = await testConnector(peers);
    const requestId = await unanswered(connector, "after");
    await peers.rfpr.enroll(idAt(requestId));
    await connector.runCredentials();
    expect(peers.rfpr.count("GET", /./)).toBe(0);
    expect(await connector.read(requestId)).toMatchObject({ state: "received" });
    connector.advance(minutes(15));
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({
      state: "started",
      authenticators: [{ state: "complete" }],
    });
    await connector.runJobs();
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
  });

  test("and never found: ends failed with what to check, and nothing of it can be enrolled", async () => {
    const connector = await testConnector(peers);
    const requestId = await unanswered(connector, "before");
    connector.advance(days(3) + minutes(15));
    peers.rfpr.fail({ kind: "refuse", method: "DELETE", status: 500, times: 3 });
    await connector.runCredentials("timer");
    const message = expect.stringMatching(/never confirmed the shipment/);
    expect(await connector.read(requestId)).toMatchObject({ state: "received", error_message: message });
    expect(authenticatorsOf(peers, requestId)).toHaveLength(1);
    connector.advance(minutes(1));
    await connector.runCredentials("timer");
    expect(await failedRequest(connector)).toMatchObject({ error_message: message });
    expect(authenticatorsOf(peers, requestId)).toEqual([]);
  });
});

describe("a create handler that is delayed", () => {
  test("while it registers authenticators: the job compensates them, and a later registration is refused", async () => {
    const connector = await testConnector(peers, { limits: { enrollmentCallMs: 60_000 } });
    peers.rfpr.fail({ kind: "hang", method: "PUT" });
    const answer = refusalOf(connector.order(mixedBody()));
    await peers.rfpr.untilHanging();
    const requestId = await unsettledId(connector);
    const host = connector.anotherInstance();
    host.advance(minutes(5) - 1);
    await host.runCredentials("timer");
    expect(await host.read(requestId)).toMatchObject({ state: "received" });
    host.advance(1);
    await host.runCredentials("timer");
    const { error_message } = await failedRequest(host);
    expect(error_message).toMatch(/interrupted and never sent/);

    peers.rfpr.release();
    expect(await answer).toMatchObject({ status: 503 });
    expect(await failedRequest(host)).toMatchObject({ requestId });
    expect(authenticatorsOf(peers, requestId)).toEqual([]);
    expect(ordered()).toBe(0);
  });

  test.each(["runs", "stands still"])(
    "after it has handed over all, whose clock %s: it does not start what was compensated",
    async clock => {
      const connector = await testConnector(peers);
      const began = connector.now();
      const stop = Promise.withResolvers<void>();
      const reached = Promise.withResolvers<void>();
      const creator = connector.anotherInstance({
        ports: ({ rfpr }) => ({
          ...(clock === "stands still" && { now: () => began }),
          ...(rfpr && {
            rfpr: {
              ...rfpr,
              put: async (...args) => {
                await rfpr.put(...args);
                reached.resolve();
                await stop.promise;
              },
            },
          }),
        }),
      });
      const answer = refusalOf(creator.order(onSiteBody()));
      await reached.promise;
      const requestId = await unsettledId(connector);
      connector.advance(minutes(5));
      await connector.runCredentials("timer");
      expect(await failedRequest(connector)).toMatchObject({
        error_message: "The request was interrupted before it was started.",
      });
      stop.resolve();
      expect(await answer).toMatchObject({ status: 503, headers: { "retry-after": "30" } });
      // The index row of the poll that it wrote first is swept.
      connector.advance(minutes(11));
      await connector.runCredentials();
      expect(await failedRequest(connector)).toMatchObject({ requestId });
      expect(authenticatorsOf(peers, requestId)).toEqual([]);
    },
  );

  test("by storage without a response to the start: the refusal says so, and says not to repeat the create", async () => {
    let broken = false;
    const connector = await testConnector(peers, {
      ports: ({ requests, rfpr }) => ({
        requests: {
          ...requests,
          save: async (loaded, changes) => {
            const saved = await requests.save(loaded, changes);
            if (broken) throw new Error("the answer got lost");
            return saved;
          },
        },
        ...(rfpr && {
          rfpr: {
            ...rfpr,
            put: async (...args) => {
              await rfpr.put(...args);
              broken = true;
            },
          },
        }),
      }),
    });
    const { status, body } = await refusalOf(connector.order(onSiteBody()));
    const requestId = (body as Body).error_data.credential_request_id;
    expect([status, (await connector.read(requestId)).state]).toEqual([500, "started"]);
    const failed = { credentialRequestId: requestId, error: { message: "the answer got lost" } };
    expect(connector.events("start_failed")).toMatchObject([failed]);
  });
});
