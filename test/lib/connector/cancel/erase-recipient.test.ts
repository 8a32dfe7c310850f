import { describe, expect, test } from "vitest";
import { createBodyV2 } from "../../../../lib/connector/api/body-to-draft.ts";
import { eraseRecipient, type RecipientName } from "../../../../lib/connector/cancel/erase-recipient.ts";
import { revokeNow } from "../../../../lib/connector/cancel/revoke-now.ts";
import { createRequest } from "../../../../lib/connector/create/create-request.ts";
import type { ConnectorDeps } from "../../../../lib/connector/deps.ts";
import { personList } from "../../../../lib/connector/model/request-lists.ts";
import { indexWriter } from "../../../../lib/connector/storage/index-rows.table.ts";
import { listRow } from "../../../../lib/connector/storage/lists.table.ts";
import { Fault } from "../../../../lib/platform/fault.ts";
import { PeerFailure } from "../../../../lib/platform/peer-failure.ts";
import { days, hours, minutes, plus } from "../../../../lib/platform/time.ts";
import { withPort } from "../../../support/connector/changed-peers.ts";
import { crashing } from "../../../support/connector/crashing.ts";
import { leaseElsewhere } from "../../../support/connector/in-a-state.ts";
import { authenticator, authenticatorsOf, idAt, mixedBody, onSiteBody } from "../../../support/connector/on-site.ts";
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
import { altered, type Body } from "../api/bodies.ts";

const peers = await peersOfFile();

const once = { caller: { kind: "api_token", application: "one" }, idempotencyKey: "key-1" } as const;
const create = ({ context }: TestConnector, body: Body) => createRequest(createBodyV2.parse(body), once, context);

/** Processes everything, so that the request is complete. */
async function completed(connector: TestConnector, { requestId }: { requestId: string }): Promise<string> {
  await connector.runJobs();
  expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
  return requestId;
}

/** Erases also where credentials stay active. */
const eraseAll = (who: RecipientName, deps: ConnectorDeps, options: { readonly dryRun?: boolean } = {}) =>
  eraseRecipient(who, deps, { leaveActive: true, ...options });

/** Lines of storage that hold any of the texts. */
const traces = async ({ storage }: TestConnector, texts: readonly string[]) =>
  (await storedText(storage)).filter(line => texts.some(text => line.includes(text)));

const named = (email: string, user: string) =>
  altered(orderBody([1], email), {
    "recipient.last_name": "Nightingale",
    "recipient.external_id": `staff ${user}`,
    "shipment.shipment_items[0].credentials[0].user_id": user,
  });

describe("erasing one recipient", () => {
  const hasActive = "The request has active credentials: revoke them or offboard the person first.";

  test("leaves a request with active credentials as it is until they are revoked, and says so in a dry run", async () => {
    const connector = await testConnector(peers);
    const email = newUser();
    const { requestId, shipmentId = "" } = await connector.order(mixedBody([1], [authenticator()], email));
    await peers.delivery.control(shipmentId, { ship: true });
    await connector.runShipments();
    await connector.runCredentials();
    // The authenticator is open: a cancel would end it.
    const before = await storedText(connector.storage);
    const who = { by: "email", name: email } as const;
    const left = { erased: 0, requests: [], left: [{ requestId, reason: hasActive }] };
    expect(await eraseRecipient(who, connector.context, { dryRun: true })).toEqual(left);
    expect(await eraseRecipient(who, connector.context)).toEqual(left);
    expect(await storedText(connector.storage)).toEqual(before);
    await revokeNow({ requestId }, once.caller, connector.context);
    expect(await eraseRecipient(who, connector.context)).toMatchObject({ erased: 1, left: [] });
  });

  test("leaves a request with a credential that may have been registered", async () => {
    const connector = await testConnector(peers);
    const email = newUser();
    const requestId = await completed(connector, await connector.order(orderBody([1], email)));
    const loaded = await connector.load(requestId);
    const keys = loaded.keys.map(key => ({
      ...key,
      credentials: key.credentials.map(each => ({ ...each, state: "failed" as const, mayBeRegistered: true })),
    }));
    await connector.context.requests.save(loaded, { keys });
    const reason = "A credential of the request may have been registered: offboard the person first.";
    expect(await eraseRecipient({ by: "email", name: email }, connector.context)).toMatchObject({
      erased: 0,
      left: [{ requestId, reason }],
    });
  });

  test.each<[RecipientName["by"], (email: string, user: string) => string]>([
    ["email", email => email.toUpperCase()],
    ["externalId", (_, user) => ` STAFF ${user} `],
    ["userId", (_, user) => user.toUpperCase()],
  ])(
    "removes everything that is kept of them, found by %s in any letter case, and nothing of other people",
    async (by, name) => {
      const connector = await testConnector(peers);
      const [email, user] = [newUser(), newUser()];
      const requestId = await completed(connector, await create(connector, named(email, user)));
      const other = await completed(connector, await connector.order());
      expect(await traces(connector, [email, user, "Nightingale", requestId])).not.toEqual([]);
      expect(await eraseAll({ by, name: name(email, user) }, connector.context)).toMatchObject({
        erased: 1,
        left: [],
      });
      expect(await traces(connector, [email, user, "Nightingale"])).toEqual([]);
      const [claim, ...rest] = await traces(connector, [requestId]);
      expect([claim, rest]).toEqual([expect.stringMatching(/^idempotency .*erased/), []]);
      expect(await connector.read(other)).toMatchObject({ state: "complete" });
      expect(await eraseAll({ by, name: name(email, user) }, connector.context)).toMatchObject({
        erased: 0,
        left: [],
      });
    },
  );

  test("finds no request by a recipient's address as user id, or by an address that only receives PIN emails", async () => {
    const connector = await testConnector(peers);
    const [email, user, desk] = [newUser(), newUser(), newUser()];
    const body = altered(named(email, user), { "enrollment_contacts.emails_to": [desk] });
    await completed(connector, await connector.order(body));
    for (const who of [
      { by: "userId", name: email },
      { by: "email", name: user },
      { by: "externalId", name: email },
      { by: "email", name: desk },
      { by: "email", name: newUser() },
    ] as const)
      expect(await eraseAll(who, connector.context)).toMatchObject({ erased: 0, left: [] });
    expect(await eraseAll({ by: "email", name: email }, connector.context)).toMatchObject({ erased: 1 });
  });

  test("reports of a run that timed out only requests that concern the person", async () => {
    const connector = await testConnector(peers);
    const [email, user] = [newUser(), newUser()];
    const requestId = await completed(connector, await connector.order(named(email, user)));
    const late = connector.anotherInstance({
      ports: withPort("requests", (requests, clock) => ({
        allEntries: list => {
          clock.advance(minutes(10));
          return requests.allEntries(list);
        },
      })),
    });
    // The list of the user has the request, whose recipient has another address.
    expect(await eraseAll({ by: "email", name: user }, late.context)).toEqual({ erased: 0, requests: [], left: [] });
    expect(await eraseAll({ by: "userId", name: user }, late.context)).toEqual({
      erased: 0,
      requests: [],
      left: [{ requestId, reason: "The run timed out." }],
    });
  });

  test("says in the log that it was done and not to whom", async () => {
    const connector = await testConnector(peers);
    const [email, user] = [newUser(), newUser()];
    const requestId = await completed(connector, await connector.order(named(email, user)));
    await eraseAll({ by: "email", name: email }, connector.context);
    expect(connector.events("recipient_erased")).toMatchObject([{ by: "email", erased: 1, left: 0 }]);
    expect(connector.events("request_erased")).toMatchObject([{ credentialRequestId: requestId }]);
    for (const line of connector.lines)
      for (const text of [email, user, "Nightingale"]) expect(line).not.toContain(text);
  });

  test("keeps the key of an erased request from ordering again", async () => {
    const connector = await testConnector(peers);
    const [email, user] = [newUser(), newUser()];
    peers.delivery.fail({ kind: "refuse", status: 400, method: "POST", body: { code: "no", message: `No ${user}.` } });
    await refusalOf(create(connector, named(email, user)));
    expect(await eraseAll({ by: "userId", name: user }, connector.context)).toMatchObject({ erased: 1 });
    expect(await traces(connector, [user])).toEqual([]);
    expect(await refusalOf(create(connector, named(email, user)))).toMatchObject({
      status: 409,
      body: { error_message: "The request of this Idempotency-Key was erased." },
    });
  });

  test.each([
    ["delivery_refused", 400, "blocked"],
    ["idp_refused", 400, undefined],
  ])(
    "is not needed for a peer's text in an Idempotency-Key of a cleaned-up request: of %s kind and code stay",
    async (kind, status, code) => {
      const connector = await testConnector(peers);
      const [email, user] = [newUser(), newUser()];
      if (code !== undefined)
        peers.delivery.fail({ kind: "refuse", status, method: "POST", body: { code, message: `No ${user}.` } });
      else peers.entra.setUser(user, "unknown");
      await refusalOf(create(connector, named(email, user)));
      connector.advance(days(2));
      expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 1 });
      expect(await traces(connector, [email, user, "does not exist"])).toEqual([]);
      const message =
        "The first call with this Idempotency-Key was refused; the details were deleted with its request.";
      expect(await refusalOf(create(connector, named(email, user)))).toMatchObject({
        status,
        body: {
          error_code: kind === "idp_refused" ? "idp_error" : "delivery_error",
          error_message: message,
          ...(code !== undefined && { error_data: { code, message } }),
        },
      });
    },
  );

  test("cancels what is open first, and leaves what cannot be cancelled any more, with the reason", async () => {
    const connector = await testConnector(peers);
    const email = newUser();
    const order = async (state: number) => {
      const made = await connector.order(orderBody([1], email));
      await peers.delivery.control(made.shipmentId ?? "", { state });
      return made;
    };
    const open = await order(101);
    const inProduction = await order(102);
    expect(await eraseAll({ by: "email", name: email }, connector.context)).toMatchObject({
      erased: 1,
      left: [{ requestId: inProduction.requestId, reason: "The delivery service can no longer delete the shipment." }],
    });
    expect((await peers.delivery.shipments()).map(({ id }) => id)).not.toContain(open.shipmentId);
    await peers.delivery.control(inProduction.shipmentId ?? "", { ship: true });
    await completed(connector, inProduction);
    expect(await eraseAll({ by: "email", name: email }, connector.context)).toMatchObject({
      erased: 1,
      left: [],
    });
    expect(await traces(connector, [email])).toEqual([]);
  });

  test("reports in a dry run what it would cancel and delete, with the number of other users, and changes nothing", async () => {
    const connector = await testConnector(peers);
    const [email, user] = [newUser(), newUser()];
    const alone = await completed(connector, await connector.order(named(newUser(), user)));
    const body = altered(orderBody([2, 1], email), {
      "shipment.shipment_items[0].credentials[0].user_id": user.toUpperCase(),
    });
    connector.advance(minutes(1));
    const shared = await connector.order(body);
    await peers.delivery.control(shared.shipmentId ?? "", { state: 101 });
    const before = await storedText(connector.storage);
    const who = { by: "userId", name: user } as const;
    const expected = {
      erased: 2,
      requests: [
        { requestId: alone, state: "complete", otherUsers: 0 },
        { requestId: shared.requestId, state: "started", otherUsers: 2 },
      ],
      left: [],
    };
    expect(await eraseAll(who, connector.context, { dryRun: true })).toEqual(expected);
    expect(await storedText(connector.storage)).toEqual(before);
    expect(connector.events("recipient_erased")).toEqual([]);
    expect(peers.delivery.count("DELETE", /shipments/)).toBe(0);
    expect(await eraseAll(who, connector.context)).toEqual(expected);
    expect(peers.delivery.count("DELETE", /shipments/)).toBe(1);
  });

  test("counts no user as another one who has the recipient's e-mail address or identifier", async () => {
    const connector = await testConnector(peers);
    const [email, user] = [newUser(), newUser()];
    const body = altered(orderBody([1, 1, 1], email), {
      "recipient.external_id": user,
      "shipment.shipment_items[0].credentials[0].user_id": email.toUpperCase(),
      "shipment.shipment_items[1].credentials[0].user_id": user,
    });
    await connector.order(body);
    const { requests } = await eraseAll({ by: "email", name: email }, connector.context, { dryRun: true });
    expect(requests).toMatchObject([{ otherUsers: 1 }]);
  });

  test("removes what the pre-registration API holds, enrolled or not", async () => {
    const connector = await testConnector(peers);
    const email = newUser();
    const waiting = await connector.order(onSiteBody([authenticator()], email));
    const enrolled = await connector.order(onSiteBody([authenticator()], email));
    await peers.rfpr.enroll(idAt(enrolled.requestId));
    await connector.runCredentials();
    expect(await eraseAll({ by: "email", name: email }, connector.context)).toMatchObject({
      erased: 2,
      left: [],
    });
    for (const { requestId } of [waiting, enrolled]) expect(authenticatorsOf(peers, requestId)).toEqual([]);
  });

  test("leaves a request while a job works on it, while keys that are produced wait, and while the pre-registration API is away", async () => {
    const connector = await testConnector(peers);
    const email = newUser();
    const erase = () => eraseAll({ by: "email", name: email }, connector.context);
    const { requestId, shipmentId = "" } = await connector.order(mixedBody([1], [authenticator()], email));
    await peers.delivery.control(shipmentId, { ship: true });
    await connector.runShipments();
    const left = (reason: string) => ({ erased: 0, left: [{ requestId, reason }] });
    expect(await erase()).toMatchObject(left("Security keys that are produced wait for their activation."));
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({ state: "partial" });

    await leaseElsewhere(connector, requestId);
    expect(await erase()).toMatchObject(left("A job is working on the request."));
    connector.advance(minutes(3));
    peers.rfpr.fail({ kind: "refuse", status: 500, method: "DELETE", times: 100 });
    expect(await erase()).toMatchObject(left("The pre-registration API is not responding."));
    expect(connector.events("not_erased")).toMatchObject([
      { credentialRequestId: requestId, error: { name: "PeerFailure" } },
    ]);
    peers.rfpr.clearFaults();
    expect(await erase()).toMatchObject({ erased: 1, left: [] });
  });

  test("goes through more requests than one page of their list", async () => {
    const connector = await testConnector(peers);
    const email = newUser();
    await completed(connector, await connector.order(orderBody([1], email)));
    // Earlier entries, of requests that do not exist, fill the first page.
    const { context, deployment, now } = connector;
    const rowOf = (n: number) => {
      const requestId = `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
      return listRow({ createdAt: plus(now(), -minutes(1)), requestId }, personList(email));
    };
    await indexWriter(deployment.tables, now).put(Array.from({ length: 100 }, (_, n) => rowOf(n)));
    const page = await context.requests.entries(personList(email), { top: 100 });
    expect(page.filter(({ requestId }) => requestId.startsWith("00000000-"))).toHaveLength(100);
    expect(await eraseAll({ by: "email", name: email }, connector.context)).toMatchObject({
      erased: 1,
      left: [],
    });
    expect(await traces(connector, [email])).toEqual([]);
  });

  test.each(["a shipment", "an authenticator"])(
    "leaves nothing of a response if another host polls %s meanwhile and stores what it got afterwards",
    async of => {
      const connector = await testConnector(peers);
      const [email, user] = [newUser(), newUser()];
      const isOnSite = of === "an authenticator";
      const body = isOnSite ? onSiteBody([authenticator()], email) : named(email, user);
      const { requestId } = await connector.order(body);
      if (isOnSite) await peers.rfpr.enroll(idAt(requestId));
      connector.advance(hours(1));
      const polling = crashing("responses.put", "before", "all");
      const host = connector.anotherInstance(polling.options);
      const polled = isOnSite ? host.runCredentials() : host.runShipments();
      await polling.died;
      connector.advance(hours(1));
      await connector.runJobs();
      expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
      await eraseAll({ by: "email", name: email }, connector.context);
      polling.goOn();
      await polled;
      const found = await traces(connector, [email, user, requestId]);
      expect(found.filter(line => !line.startsWith("due "))).toEqual([]);
      connector.advance(days(2));
      await connector.runJobs();
      expect(await traces(connector, [requestId])).toEqual([]);
    },
  );

  test.each([
    ["cannot read the signing key", "signing_keys_unread"],
    ["cannot open the response key, because Key Vault is away,", "vault"],
  ])("leaves nothing of a response if another host polls meanwhile and %s of the next one", async (_, failure) => {
    const connector = await testConnector(peers);
    const email = newUser();
    const { requestId } = await connector.order(orderBody([1, 1], email));
    connector.advance(hours(1));
    const polling = crashing("responses.put", "before", "all");
    let isErased = false;
    const host = connector.anotherInstance({
      ...polling.options,
      ports: (context, clock) => {
        const failing = {
          ...withPort("delivery", ({ signingKey }) => ({
            signingKey: async (...given) => {
              if (isErased && failure !== "vault")
                throw new PeerFailure("delivery service", "signing key", "unanswered");
              return signingKey(...given);
            },
          }))(context, clock),
          ...withPort("sealer", ({ open }) => ({
            open: async (...given) => {
              if (isErased && failure === "vault") throw new Fault("unavailable", "Key Vault is away.");
              return open(...given);
            },
          }))(context, clock),
        };
        return { ...failing, ...polling.options.ports({ ...context, ...failing }, clock) };
      },
    });
    const polled = host.runShipments().catch((error: unknown) => error);
    await polling.died;
    connector.advance(hours(1));
    await connector.runJobs();
    await eraseAll({ by: "email", name: email }, connector.context);
    isErased = true;
    polling.goOn();
    const result = await polled;
    if (failure === "vault") expect(result).toMatchObject({ kind: "unavailable", message: "Key Vault is away." });
    else expect(host.events(failure)).toHaveLength(1);
    const found = await traces(connector, [email, requestId]);
    expect(found.filter(line => !line.startsWith("due "))).toEqual([]);
  });

  test("leaves nothing when it is done again after it has died, whichever call it stopped before", async () => {
    const steps = new Set<string>();
    for (let step = 0; ; step++) {
      const connector = await testConnector(peers);
      const [email, user] = [newUser(), newUser()];
      const namesThem = (line: string) => [email, user, "Nightingale"].some(text => line.includes(text));
      const body = { ...withoutPins(named(email, user)), authenticators: [authenticator()] };
      const { requestId, shipmentId = "" } = await create(connector, body);
      await peers.delivery.control(shipmentId, { state: 101 });
      const dying = crashing(step, "before", "all");
      const who = { by: "email", name: email } as const;
      const erasing = eraseAll(who, connector.anotherInstance(dying.options).context);
      const died = await Promise.race([dying.died, erasing]);
      if (typeof died !== "string") break;
      steps.add(died.replace(/^\d+: /, ""));
      connector.advance(minutes(70));
      await connector.runCredentials("timer");
      await eraseAll(who, connector.context);
      const found = await traces(connector, [email, user, "Nightingale", requestId]);
      // Rows of due work name no person, and go by the rules of their index.
      const left = found.filter(line => !/^(idempotency|due) /.test(line) || namesThem(line));
      expect(left, died).toEqual([]);
      expect(authenticatorsOf(peers, requestId)).toEqual([]);
    }
    for (const call of [
      "credentialrequests.transact",
      "requestlists.remove",
      "responses.removeAll",
      "idempotency.transact",
      "rfpr.remove",
    ])
      expect(steps).toContain(call);
  });
});
