import { describe, expect, test } from "vitest";
import { createBodyV2 } from "../../../../lib/connector/api/body-to-draft.ts";
import { createRequest } from "../../../../lib/connector/create/create-request.ts";
import type { CreatedIds } from "../../../../lib/connector/create/draft.ts";
import { scopeOf } from "../../../../lib/connector/model/idempotency.ts";
import type { DeliveryService } from "../../../../lib/connector/peers/delivery.ts";
import type { Caller } from "../../../../lib/platform/caller.ts";
import { days, minutes } from "../../../../lib/platform/time.ts";
import { crashing } from "../../../support/connector/crashing.ts";
import { onSiteBody } from "../../../support/connector/on-site.ts";
import {
  newUser,
  orderBody,
  peersOfFile,
  refusalOf,
  type TestConnector,
  testConnector,
  withoutPins,
} from "../../../support/connector/test-connector.ts";
import { storedText } from "../../../support/storage/stored-text.ts";
import { altered } from "../api/bodies.ts";

const peers = await peersOfFile();
const ordered = () => peers.delivery.count("POST", /shipments$/);
const unknown = "not known whether the shipment was ordered";

const one: Caller = { kind: "tenant", application: "app", subject: "one" };

const once = async ({ context }: TestConnector, body: unknown, key = "key-1", caller = one): Promise<CreatedIds> => {
  const { isReplayed, ...ids } = await createRequest(
    createBodyV2.parse(body),
    { caller, idempotencyKey: key },
    context,
  );
  return ids;
};

/** The claim of "key-1" as stored. */
const claimOf = async ({ context }: TestConnector) => (await context.claims.find(scopeOf("v2", one, "key-1")))?.value;

describe("a create with an Idempotency-Key", () => {
  test("creates one request, and answers the same again, however often and wherever it is repeated", async () => {
    const connector = await testConnector(peers);
    const body = orderBody();
    const first = await once(connector, body);
    expect(await once(connector, body)).toEqual(first);
    connector.advance(days(7) - 1);
    expect(await once(connector.anotherInstance(), body)).toEqual(first);
    expect(ordered()).toBe(1);
  });

  test("creates one request of 50 calls at once on two connectors; the others get its response, or 409 with Retry-After", async () => {
    const connector = await testConnector(peers);
    const both = [connector, connector.anotherInstance()];
    const body = orderBody();
    const calls = Array.from({ length: 50 }, (_, n) => once(both[n % 2] ?? connector, body));
    const outcomes = await Promise.allSettled(calls);
    const made = outcomes.flatMap(outcome => (outcome.status === "fulfilled" ? [outcome.value.requestId] : []));
    expect(new Set(made).size).toBe(1);
    for (const [index, { status }] of outcomes.entries()) {
      if (status === "fulfilled") continue;
      const refusal = await refusalOf(calls[index] ?? Promise.resolve());
      expect(refusal).toMatchObject({ status: 409, headers: { "retry-after": "5" } });
    }
    expect(ordered()).toBe(1);
    expect(await once(connector, body)).toMatchObject({ requestId: made[0] });
  });

  test("refuses another body: 409 conflict without Retry-After, and takes the same one in another spelling", async () => {
    const connector = await testConnector(peers);
    const body = orderBody();
    const first = await once(connector, body);
    const { recipient, ...rest } = body;
    expect(await once(connector, { unknown: true, ...rest, recipient })).toEqual(first);
    const refusal = await refusalOf(once(connector, altered(body, { "recipient.first_name": "Grace" })));
    expect(refusal).toEqual({
      status: 409,
      headers: {},
      body: {
        error_code: "api_error",
        error_message: "The Idempotency-Key was used with another body.",
        error_data: { error_type: "conflict" },
      },
    });
  });

  test("uses up nothing where the body is not valid", async () => {
    const connector = await testConnector(peers);
    const body = orderBody();
    const wrong = altered(body, { "shipment.shipment_items[0].credentials[0].idp_id": "nobody" });
    expect(await refusalOf(once(connector, wrong))).toMatchObject({ status: 400 });
    const long = altered(body, { "recipient.last_name": "L".repeat(21) });
    expect(await refusalOf(once(connector, long))).toMatchObject({
      status: 400,
      body: { error_code: "delivery_error" },
    });
    expect(await claimOf(connector)).toBeUndefined();
    await once(connector, body);
  });

  test("keeps a refusal of the delivery service and of an IdP, and asks neither again", async () => {
    const connector = await testConnector(peers);
    peers.delivery.fail({ kind: "refuse", status: 400, method: "POST", body: { code: "blocked", message: "No." } });
    const body = orderBody();
    const refusal = await refusalOf(once(connector, body));
    expect(refusal).toMatchObject({
      status: 400,
      body: { error_code: "delivery_error", error_data: { code: "blocked" } },
    });
    expect(await refusalOf(once(connector, body))).toEqual(refusal);
    expect(ordered()).toBe(1);

    const user = newUser();
    peers.entra.setUser(user, "unknown");
    const unwanted = altered(orderBody(), { "shipment.shipment_items[0].credentials[0].user_id": user });
    const byIdp = await refusalOf(once(connector, unwanted, "key-2"));
    expect(byIdp).toMatchObject({ status: 400, body: { error_code: "idp_error" } });
    peers.entra.setUser(user, "known");
    expect(await refusalOf(once(connector, unwanted, "key-2"))).toEqual(byIdp);
  });

  test("keeps the fields of a refusal, such as an IdP that was removed from the configuration during the create", async () => {
    let isRemoved = false;
    const connector = await testConnector(peers, {
      ports: ({ idps, requests }) => ({
        idps: { ...idps, get: id => (isRemoved ? undefined : idps.get(id)) },
        requests: {
          ...requests,
          insert: (...rows) => {
            isRemoved = true;
            return requests.insert(...rows);
          },
        },
      }),
    });
    const body = orderBody();
    const refusal = await refusalOf(once(connector, body));
    expect(refusal).toMatchObject({
      status: 400,
      body: {
        error_data: {
          error_type: "validation",
          fields: [
            {
              path: "shipment.shipment_items[0].credentials[0].idp_id",
              reason: "is not a configured identity provider",
            },
          ],
        },
      },
    });
    expect([await connector.queue("reconcile"), ordered()]).toEqual([[], 0]);
    isRemoved = false;
    expect(await refusalOf(once(connector, body))).toEqual(refusal);
  });

  test.each([
    ["the delivery service throttles", () => peers.delivery.fail({ kind: "throttle", retryAfter: 7, method: "POST" })],
    ["an IdP fails", () => peers.entra.fail({ kind: "refuse", status: 500, path: "creationOptions", times: 100 })],
    ["the token is refused", () => peers.delivery.fail({ kind: "refuse", status: 401, method: "POST" })],
  ])("keeps no 5xx from before the order: where %s the next call creates", async (_, fail) => {
    const connector = await testConnector(peers);
    const body = orderBody();
    fail();
    expect((await refusalOf(once(connector, body))).status).toBeGreaterThanOrEqual(500);
    expect(await claimOf(connector)).toBeUndefined();
    peers.delivery.clearFaults();
    peers.entra.clearFaults();
    const { requestId } = await once(connector, body);
    expect(await connector.read(requestId)).toMatchObject({ state: "started" });
  });

  test("keeps nothing of a 404 of a proxy at the pre-registration API, which is a 503: a repeat makes the request", async () => {
    const connector = await testConnector(peers);
    const body = onSiteBody();
    const page = "<html><body>Not found.</body></html>";
    peers.rfpr.fail({ kind: "nonsense", method: "PUT", status: 404, body: page, times: 3 });
    expect(await refusalOf(once(connector, body))).toMatchObject({
      status: 503,
      headers: { "retry-after": "30" },
      body: { error_message: "The pre-registration API is not responding; nothing was ordered." },
    });
    expect(await claimOf(connector)).toBeUndefined();
    const { requestId } = await once(connector, body);
    expect(await connector.read(requestId)).toMatchObject({ state: "started" });
  });

  test("answers 409 with the id and the time of the look-up while the order is unreconciled, then the shipment that was found", async () => {
    const connector = await testConnector(peers);
    const body = orderBody();
    peers.delivery.fail({ kind: "drop", phase: "after", method: "POST" });
    const first = await refusalOf(once(connector, body));
    expect(first).toMatchObject({ status: 500, body: { error_message: expect.stringContaining(unknown) } });
    const [{ requestId = "" } = {}] = await connector.queue("reconcile");
    const refusal = (retryAfter: string) => ({
      status: 409,
      headers: { "retry-after": retryAfter },
      body: {
        error_code: "api_error",
        error_message: expect.stringContaining(unknown),
        error_data: { error_type: "conflict", credential_request_id: requestId },
      },
    });
    expect(await refusalOf(once(connector, body))).toEqual(refusal("900"));
    connector.advance(minutes(14));
    expect(await refusalOf(once(connector, body))).toEqual(refusal("60"));
    connector.advance(minutes(2));
    expect(await refusalOf(once(connector, body))).toEqual(refusal("60"));
    await connector.runCredentials();
    const [shipment] = (await peers.delivery.shipments()).slice(-1);
    const created = await once(connector, body);
    expect(created.shipmentId).toBe(shipment?.id);
    expect(ordered()).toBe(1);
  });

  test("answers the shipment, or that it is not known, also if storage is away from the order on", async () => {
    const connector = await testConnector(peers);
    const away = async () => {
      throw new Error("storage is away");
    };
    const orders = ordered();
    const unstored = (context: TestConnector["context"], names: readonly ("requests" | "claims")[]) =>
      Object.fromEntries(
        names.map(name => {
          const port: object = context[name];
          const failing = Object.entries(port).map(([method, real]) => [
            method,
            (...given: unknown[]) => (ordered() > orders ? away() : real(...given)),
          ]);
          return [name, Object.fromEntries(failing)];
        }),
      );
    const noClaims = connector.anotherInstance({ ports: context => unstored(context, ["claims"]) });
    const { requestId, shipmentId } = await once(noClaims, orderBody());
    expect(shipmentId).toEqual(expect.any(String));
    const error = { message: "storage is away" };
    expect(noClaims.events("claim_not_concluded")).toMatchObject([{ credentialRequestId: requestId, error }]);

    peers.delivery.resetRequests();
    const nothing = connector.anotherInstance({ ports: context => unstored(context, ["requests", "claims"]) });
    const body = orderBody();
    const refusal = await refusalOf(once(nothing, body, "key-2"));
    expect(refusal).toMatchObject({ status: 500, body: { error_message: expect.stringContaining(unknown) } });
    const { credential_request_id: id } = (refusal.body as { error_data: { credential_request_id: string } })
      .error_data;
    const events = ["start_failed", "delivery_unanswered", "reconcile_not_scheduled", "claim_not_concluded"];
    for (const event of events)
      expect(nothing.events(event), event).toMatchObject([{ credentialRequestId: id, error }]);
    connector.advance(minutes(16));
    await connector.runCredentials();
    expect(await once(connector, body, "key-2")).toMatchObject({ requestId: id, shipmentId: expect.any(String) });
    expect(ordered()).toBe(1);
  });

  test("returns the reason once an unconfirmed order has failed", async () => {
    const connector = await testConnector(peers);
    const body = orderBody();
    peers.delivery.fail({ kind: "drop", method: "POST" });
    const refusal = await refusalOf(once(connector, body));
    connector.advance(days(3) + minutes(20));
    await connector.runCredentials();
    expect(await refusalOf(once(connector, body))).toEqual({
      ...refusal,
      body: { ...(refusal.body as object), error_message: expect.stringContaining("before you order again") },
    });
    expect(ordered()).toBe(1);
  });

  test("is free again after 7 days, and clean-up removes it by then with one query per partition", async () => {
    const connector = await testConnector(peers);
    await once(connector, orderBody());
    connector.advance(minutes(1));
    await once(connector, orderBody(), "key-2");
    connector.advance(days(7) - minutes(1));
    expect(await connector.runCleanUp(0)).toMatchObject({ claims: 1 });
    const idle = await connector.counted(() => connector.context.claims.removeEnded(connector.now(), () => false));
    expect(idle).toMatchObject({ result: 0, total: 16 });
    expect(await claimOf(connector)).toBeUndefined();
    connector.advance(minutes(1));
    // Ended, but not yet removed.
    const again = await once(connector, orderBody(), "key-2");
    expect(await connector.runCleanUp(0)).toMatchObject({ claims: 0 });
    expect(await connector.read(again.requestId)).toMatchObject({ state: "started" });
  });

  test("outlives the clean-up of its request", async () => {
    const connector = await testConnector(peers);
    const body = orderBody();
    const first = await once(connector, body);
    const other = orderBody();
    peers.delivery.fail({ kind: "drop", phase: "after", method: "POST" });
    await refusalOf(once(connector, other, "key-2"));
    connector.advance(minutes(16));
    await connector.runCredentials();
    await connector.runJobs();
    connector.advance(days(2));
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 2 });
    expect(await once(connector, body)).toEqual(first);
    expect(await once(connector, other, "key-2")).toMatchObject({ shipmentId: expect.any(String) });
    expect(ordered()).toBe(2);
  });

  test("is not kept in clear, nor is who called and what was sent", async () => {
    const connector = await testConnector(peers);
    await once(connector, orderBody(), "order-of-ada", { ...one, application: "application-7" });
    const rows = (await storedText(connector.storage)).filter(text => text.includes("fingerprint"));
    expect(rows).toHaveLength(1);
    for (const text of ["order-of-ada", "application-7", "Lovelace", "15550100"]) expect(rows[0]).not.toContain(text);
  });

  test("costs 2 sequential round trips more than a create without one, and a repeat 2 in all", async () => {
    const connector = await testConnector(peers);
    await connector.order();
    const plain = await connector.counted(() => connector.order());
    const keyed = await connector.counted(() => once(connector, orderBody()));
    expect(keyed.sequential).toBe(plain.sequential + 2);
    const body = orderBody();
    await once(connector, body, "key-2");
    const repeated = await connector.counted(() => once(connector, body, "key-2"));
    expect(repeated).toMatchObject({ sequential: 2, total: 2 });
  });
});

describe("a create with an Idempotency-Key that dies on the way", () => {
  test("is made once, whichever call it stopped before or after", async () => {
    const ends = new Map<string, string>();
    for (const phase of ["before", "after"] as const) {
      for (let step = 0; ; step++) {
        const connector = await testConnector(peers);
        const known = (await peers.delivery.shipments()).length;
        const dying = crashing(step, phase);
        const body = withoutPins(orderBody());
        const first = await Promise.race([dying.died, once(connector.anotherInstance(dying.options), body)]);
        if (typeof first !== "string") break;

        // A caller that repeats at once is asked to wait, or gets what is known.
        const atOnce = await once(connector, body).catch((error: unknown) => refusalOf(Promise.reject(error)));
        const made = () => peers.delivery.shipments().then(all => all.length - known);
        if ("status" in atOnce) expect(atOnce.status).toBe(409);
        connector.advance(minutes(5) + 1);
        const later = await once(connector, body).catch((error: unknown) => refusalOf(Promise.reject(error)));
        connector.advance(minutes(16));
        await connector.runCredentials();
        const end = await once(connector, body).catch((error: unknown) => refusalOf(Promise.reject(error)));
        expect(await made(), `${phase} ${first}`).toBeLessThanOrEqual(1);
        if ("requestId" in end) {
          expect(await connector.read(end.requestId)).toMatchObject({ state: "started" });
          expect(await made()).toBe(1);
        } else {
          // Only if the order intent was written and the order never sent is the outcome unknown.
          expect(end).toMatchObject({ status: 409, body: { error_message: expect.stringContaining(unknown) } });
          expect(await made()).toBe(0);
        }
        ends.set(`${phase} ${first}`, "requestId" in later ? "created" : String(later.status));
      }
    }
    // What a repeat after 5 minutes comes to, by the call before or after which the create has died.
    const expected = [
      ["idempotency.transact", "created", "created"],
      ["due.upsert", "created", "created"],
      ["requestlists.upsert", "created", "created"],
      ["requestlists.transact", "created", "created"],
      ["credentialrequests.transact", "created", "created"],
      ["credentialrequests.transact", "created", "409"],
      ["delivery.createShipment", "409", "409"],
      ["fprshipments.insert", "409", "409"],
      ["due.upsert", "409", "409"],
      ["requestlists.upsert", "409", "409"],
      ["credentialrequests.replace", "409", "created"],
      ["due.remove", "created", "created"],
      ["requestlists.remove", "created", "created"],
      ["idempotency.transact", "created", "created"],
    ];
    const of = (phase: string, column: number) =>
      expected.map((row, step) => [`${phase} ${step}: ${row[0]}`, row[column]]);
    expect([...ends]).toEqual([...of("before", 1), ...of("after", 2)]);
  });

  test.each([
    ["in its order", "delivery.createShipment", [20, 30, 20, 830, 60], ["5", "20", "20", "830", "60", "60"]],
    ["before its order", "credentialrequests.transact", [40, 60, 49, 1], ["5", "40", "50", "1", "created"]],
  ] as const)(
    "%s asks a caller to wait as long again as it has run, until its outcome can be told",
    async (_, step, advances, expected) => {
      const connector = await testConnector(peers);
      const dying = crashing(step, "before");
      const body = withoutPins(orderBody());
      void once(connector.anotherInstance(dying.options), body);
      await dying.died;
      const repeats: string[] = [];
      for (const seconds of [0, ...advances]) {
        connector.advance(seconds * 1000);
        const repeat = await once(connector, body).catch((error: unknown) => refusalOf(Promise.reject(error)));
        repeats.push("requestId" in repeat ? "created" : (repeat.headers?.["retry-after"] ?? String(repeat.status)));
      }
      expect(repeats).toEqual(expected);
    },
  );

  test.each([
    ["after its claim", "idempotency.transact", "after"],
    ["before its request was stored", "credentialrequests.transact", "before"],
    ["before its order intent was stored", "credentialrequests.transact 2", "before"],
  ] as const)(
    "orders nothing when it comes back after its claim was taken over: delayed %s",
    async (_, step, phase) => {
      const connector = await testConnector(peers);
      const late = crashing(step, phase);
      const body = withoutPins(orderBody());
      const first = once(connector.anotherInstance(late.options), body);
      await late.died;
      connector.advance(minutes(6));
      const second = await once(connector, body);
      late.goOn();
      expect(await refusalOf(first)).toMatchObject({ status: 503 });
      expect(ordered()).toBe(1);
      expect(await once(connector, body)).toEqual(second);
    },
  );

  test("orders nothing then because of the ETag of its row alone, if its clock stands still", async () => {
    const connector = await testConnector(peers);
    const late = crashing("credentialrequests.transact 2", "before");
    const began = connector.now();
    const slow = connector.anotherInstance({
      tables: late.options.tables,
      ports: ({ delivery }) => {
        const createShipment: DeliveryService["createShipment"] = order => delivery.createShipment(order);
        return { delivery: { ...delivery, createShipment }, now: () => began };
      },
    });
    const body = withoutPins(orderBody());
    const first = once(slow, body);
    await late.died;
    connector.advance(minutes(6));
    await once(connector, body);
    late.goOn();
    expect(await refusalOf(first)).toMatchObject({ status: 503 });
    expect(ordered()).toBe(1);
  });
});
