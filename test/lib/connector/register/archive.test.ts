import { describe, expect, test } from "vitest";
import { connectorTasks } from "../../../../functions/connector/start/maintenance-tasks.ts";
import { getShipment } from "../../../../functions/connector/version-1.ts";
import { listRequests } from "../../../../lib/connector/api/list-requests.ts";
import { listSecurityKeys } from "../../../../lib/connector/api/list-security-keys.ts";
import { eraseRecipient, type RecipientName } from "../../../../lib/connector/cancel/erase-recipient.ts";
import { revokeNow } from "../../../../lib/connector/cancel/revoke-now.ts";
import { removeResponsesIfDeleted } from "../../../../lib/connector/collect/save-poll.ts";
import { listKeyOf, personList, referenceList, serialList } from "../../../../lib/connector/model/request-lists.ts";
import { resendPin } from "../../../../lib/connector/pin/resend-pin.ts";
import { loadRequest } from "../../../../lib/connector/runs/change-request.ts";
import { indexWriter } from "../../../../lib/connector/storage/index-rows.table.ts";
import { listRow } from "../../../../lib/connector/storage/lists.table.ts";
import { backupsContainer } from "../../../../lib/platform/maintenance/read-backup.ts";
import { days, hours, minutes } from "../../../../lib/platform/time.ts";
import { AAGUIDS } from "../../../../local/peers/security-key/authenticator-keys.ts";
import { withIdps } from "../../../support/connector/changed-peers.ts";
import { crashing } from "../../../support/connector/crashing.ts";
import { connectorWith, send, sinkOfFile, typesAt } from "../../../support/connector/event-sinks.ts";
import { authenticator, idAt, onSiteBody } from "../../../support/connector/on-site.ts";
import {
  type ConnectorOptions,
  newUser,
  orderBody,
  peersOfFile,
  refusalOf,
  type TestConnector,
  testConnector,
  withoutPins,
} from "../../../support/connector/test-connector.ts";
import { runTask } from "../../../support/run-task.ts";
import { storedText } from "../../../support/storage/stored-text.ts";
import { altered } from "../api/bodies.ts";

const peers = await peersOfFile();
const sink = await sinkOfFile(peers.vault, 1);
const settings = { REGISTER_KEEP_DAYS: "1825" };
const opened = (options: ConnectorOptions = {}) =>
  testConnector(peers, { ...options, settings: { ...settings, ...options.settings } });

const keysOf = async ({ context }: TestConnector, filter: Parameters<typeof listSecurityKeys>[0] = {}) =>
  (await listSecurityKeys(filter, { top: 1000 }, context)).entries;

/** An order with every name by which a request is found, of which each credential is active. */
async function completed(connector: TestConnector, keys: readonly number[] = [1]) {
  const [email, user] = [newUser(), newUser()];
  const body = altered(orderBody(keys, email), {
    "recipient.last_name": "Nightingale",
    "recipient.external_id": `staff ${email}`,
    "shipment.customer_reference": `PO ${email}`,
    "shipment.shipment_items[0].credentials[0].user_id": user,
  });
  const { requestId, shipmentId = "" } = await connector.orderAndRun(body);
  expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
  return { requestId, shipmentId, email, user };
}

const traces = async ({ storage }: TestConnector, texts: readonly string[]) =>
  (await storedText(storage)).filter(line => texts.some(text => line.includes(text)));

/** Everything of a request that only its recipient and its order are known by. */
async function personalTraces(connector: TestConnector, { requestId, email }: { requestId: string; email: string }) {
  const { requests } = connector.context;
  const lists = [personList(email), personList(`staff ${email}`), referenceList(`PO ${email}`)];
  const listed = await Promise.all(
    [...lists, { state: "complete" } as const].map(list => requests.entries(list, { top: 100 })),
  );
  return [
    ...(await traces(connector, [email, "Nightingale", "Analytical Way", "+15550100", "responseKey", "binding"])),
    ...listed.flat().filter(entry => entry.requestId === requestId),
    ...(await traces(connector, [`${requestId}/s-`])).filter(line => line.startsWith("responses/")),
  ];
}

describe("the clean-up of a request with an active credential", () => {
  test("keeps its security keys in the register, and nothing of its recipient", async () => {
    const connector = await opened();
    const one = await completed(connector, [1, 2]);
    const before = await keysOf(connector);
    expect(before).toHaveLength(3);
    expect(before[0]).toEqual({
      credential_request_id: one.requestId,
      key_id: "s-01-001",
      credential: 1,
      serial_number: expect.stringMatching(/^\d{8}$/),
      firmware: "5.7.4",
      aaguid: AAGUIDS.hardware,
      idp_id: "entra",
      user_id: one.user,
      state: "active",
      ordered_at: connector.now(),
      activated_at: connector.now(),
    });
    expect(await personalTraces(connector, one)).not.toEqual([]);
    connector.advance(days(7));
    expect(await connector.runCleanUp(7)).toMatchObject({ archived: 1, deleted: 0, deferred: 0 });
    expect(connector.events("request_archived")).toMatchObject([{ credentialRequestId: one.requestId }]);
    expect(await personalTraces(connector, one)).toEqual([]);
    expect(await keysOf(connector)).toEqual(before);
    const { aaguid, serial_number: serial } = before[0] ?? {};
    expect(await keysOf(connector, { serial_number: serial })).toEqual(before.slice(0, 1));
    expect(await keysOf(connector, { user_id: one.user.toUpperCase() })).toEqual(before.slice(0, 1));
    expect(await keysOf(connector, { aaguid })).toEqual(before);
    expect(await keysOf(connector, { state: "active" })).toEqual(before);
    expect(await keysOf(connector, { state: "failed" })).toEqual([]);
    expect(await connector.queue("clean")).toEqual([]);
  });

  test("leaves a request that is not found: neither by its id nor in the list of requests, and no PIN is resent", async () => {
    const connector = await opened();
    const { requestId, shipmentId, user } = await completed(connector);
    const [{ serial_number: serial } = {}] = await keysOf(connector);
    connector.advance(days(1));
    await connector.runCleanUp(1);
    const readShipment = () =>
      getShipment.run({ params: { shipment_id: shipmentId }, query: {}, body: undefined }, connector.context, {
        call: { headers: new Headers() },
      } as never);
    for (const read of [loadRequest, resendPin, readShipment])
      expect(await refusalOf(read(requestId, connector.context))).toMatchObject({ status: 404 });
    for (const filter of [{}, { user_id: user }, { serial_number: serial }, { state: "complete" }] as const)
      expect(await listRequests(filter, { top: 10 }, connector.context)).toEqual({ entries: [] });
  });

  test("leaves nothing that a crash before it had left in a list, once that is read", async () => {
    const connector = await opened();
    const { requestId, user } = await completed(connector);
    connector.advance(days(2));
    const { requests } = connector.context;
    const { request } = await connector.load(requestId);
    const index = indexWriter(connector.deployment.tables, connector.now);
    const old = [{ state: "complete" }, referenceList("PO former"), serialList("no longer its own")] as const;
    const rows = old.map(list => listRow(listKeyOf(request), list));
    await index.put(rows);
    await connector.runCleanUp(1);
    await index.put(rows);
    const read = async () => {
      for (const filter of [
        { state: "complete" },
        { customer_reference: "PO former" },
        { serial_number: "no longer its own" },
      ] as const)
        await listRequests(filter, { top: 10 }, connector.context);
      return (await Promise.all(old.map(list => requests.entries(list, { top: 9 })))).flat();
    };
    expect(await read()).toHaveLength(3);
    connector.advance(minutes(11));
    expect(await read()).toEqual([]);
    expect(await keysOf(connector, { user_id: user })).toHaveLength(1);
  });

  test("removes the responses that a suspended poll stored after it", async () => {
    const connector = await opened();
    const { requestId } = await completed(connector);
    connector.advance(days(2));
    await connector.runCleanUp(1);
    await connector.context.responses.put(requestId, "s-01-001", { credentials: ["late"] });
    await removeResponsesIfDeleted(requestId, connector.context);
    expect(await traces(connector, [`${requestId}/s-`])).toEqual([]);
  });

  test("is followed by its deletion REGISTER_KEEP_DAYS after its end", async () => {
    const connector = await opened();
    const { requestId } = await completed(connector);
    connector.advance(days(1));
    expect(await connector.runCleanUp(1)).toMatchObject({ archived: 1 });
    connector.advance(days(1824) - 1);
    expect(await connector.runCleanUp(1)).toMatchObject({ archived: 0, deleted: 0 });
    expect(await keysOf(connector)).toHaveLength(1);
    connector.advance(1);
    // Also if requests are no longer cleaned up.
    expect(await connector.runCleanUp(0)).toMatchObject({ deleted: 1, deferred: 0 });
    expect(await traces(connector, [requestId])).toEqual([]);
    expect(await keysOf(connector)).toEqual([]);
  });

  test("deletes it with REGISTER_KEEP_DAYS 0, and what was kept before that", async () => {
    const connector = await opened();
    const { requestId } = await completed(connector);
    connector.advance(days(1));
    await connector.runCleanUp(1);
    const { requestId: other } = await completed(connector);
    connector.advance(days(1));
    const without = connector.anotherInstance({ settings: { REGISTER_KEEP_DAYS: "0" } });
    expect(await without.runCleanUp(1)).toMatchObject({ archived: 0, deleted: 2 });
    expect(await traces(connector, [requestId, other])).toEqual([]);
  });

  test("keeps a partial request, and deletes one without an active credential", async () => {
    const connector = await opened();
    peers.entra.fail({ kind: "refuse", method: "POST", path: "fido2Methods$", status: 400, times: 1 });
    const { requestId: partial } = await connector.orderAndRun(orderBody([1, 1]));
    peers.entra.fail({ kind: "refuse", method: "POST", path: "fido2Methods$", status: 400, times: 1 });
    const { requestId: failed } = await connector.orderAndRun(orderBody([1]));
    connector.advance(minutes(1));
    await connector.runCredentials();
    expect([(await connector.read(partial)).state, (await connector.read(failed)).state]).toEqual([
      "partial",
      "failed",
    ]);
    connector.advance(days(15));
    expect(await connector.runCleanUp(1)).toMatchObject({ archived: 1, deleted: 1 });
    expect(await traces(connector, [failed])).toEqual([]);
    expect((await keysOf(connector)).map(({ state }) => state).sort()).toEqual(["active", "failed"]);
  });

  test("removes the authenticator of a credential in doubt once, not again when the register ends", async () => {
    const connector = await opened();
    const { requestId } = await connector.order(onSiteBody([authenticator(1, { pin_request: undefined })]));
    await peers.rfpr.enroll(idAt(requestId));
    await connector.runCredentials();
    const loaded = await connector.load(requestId);
    const failed = { state: "failed", mayBeRegistered: true } as const;
    const keys = loaded.keys.map(key => ({
      ...key,
      credentials: key.credentials.map(each => ({ ...each, ...failed })),
    }));
    await connector.context.requests.save(loaded, { keys });
    connector.advance(days(15));
    expect(await connector.runCleanUp(1)).toMatchObject({ archived: 1 });
    const removals = () => peers.rfpr.count("DELETE", /./);
    const before = removals();
    connector.advance(days(1825));
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 1 });
    expect(removals()).toBe(before);
  });

  test("keeps a failed credential that may have been registered, which can be revoked", async () => {
    const blind = withIdps(() => ({ isRegistered: async () => undefined }));
    const connector = (await opened()).anotherInstance({ ports: blind });
    peers.entra.fail({ kind: "drop", phase: "after", method: "POST", path: "fido2Methods$" });
    const { requestId } = await connector.orderAndRun(withoutPins(orderBody()));
    for (let run = 0; run < 2; run++) {
      connector.advance(minutes(1));
      await connector.runCredentials();
    }
    connector.advance(days(15));
    expect(await connector.runCleanUp(1)).toMatchObject({ archived: 1, deleted: 0 });
    expect(await keysOf(connector)).toMatchObject([{ credential: 1, state: "failed", may_be_registered: true }]);
    const { isRevoked } = await revokeNow(
      { requestId },
      { kind: "tenant", application: "help-desk", roles: ["support"] },
      connector.context,
    );
    expect(isRevoked).toBe(true);
    const [shown] = await keysOf(connector);
    expect(shown).toMatchObject({ state: "revoked" });
    expect(shown).not.toHaveProperty("may_be_registered");
  });

  test("keeps the time at which a shipment was delivered, and stops its tracking", async () => {
    const connector = await opened();
    const { requestId: delivered, shipmentId } = await completed(connector);
    connector.advance(1);
    const { requestId: onItsWay } = await completed(connector);
    connector.advance(hours(7));
    await peers.delivery.control(shipmentId, { state: 104 });
    await connector.runJobs();
    const at = connector.now();
    const shown = await keysOf(connector);
    expect(shown).toMatchObject([{ credential_request_id: delivered, delivered_at: at }, { key_id: "s-01-001" }]);
    expect(shown[1]).not.toHaveProperty("delivered_at");
    expect(await connector.queue("track")).toMatchObject([{ requestId: onItsWay }]);
    connector.advance(days(2));
    expect(await connector.runCleanUp(1)).toMatchObject({ archived: 2 });
    expect(await keysOf(connector)).toEqual(shown);
    expect(await connector.queue("track")).toEqual([]);
  });

  test("waits for the end of the delivery with ON_LOSS=revoke, and a loss revokes", async () => {
    const connector = await opened({ settings: { ON_LOSS: "revoke" } });
    const { shipmentId, user } = await completed(connector);
    connector.advance(days(2));
    expect(await connector.runCleanUp(1)).toMatchObject({ archived: 0, deleted: 0 });
    await peers.delivery.control(shipmentId, { state: 105 });
    await connector.runJobs();
    expect(peers.entra.registrations(user)).toEqual([]);
    expect(await connector.runCleanUp(1)).toMatchObject({ archived: 1 });
  });

  test("is done by two hosts at once without harm", async () => {
    const connector = await opened();
    const placed = [await completed(connector), await completed(connector), await completed(connector)];
    connector.advance(days(2));
    const other = connector.anotherInstance();
    await Promise.all([connector.runCleanUp(1), other.runCleanUp(1)]);
    await connector.runCleanUp(1);
    expect((await keysOf(connector)).map(each => each.credential_request_id).sort()).toEqual(
      placed.map(({ requestId }) => requestId).sort(),
    );
    for (const one of placed) expect(await personalTraces(connector, one)).toEqual([]);
    expect([...connector.events("work_failed"), ...other.events("work_failed")]).toEqual([]);
    expect([(await connector.queue("clean")).length, (await connector.queue("register")).length]).toEqual([0, 3]);
  });

  test.each(["before", "after"] as const)(
    "is completed by the next run if a host stops %s any of its calls",
    async phase => {
      const calls: string[] = [];
      for (let at = 0; ; at++) {
        const connector = await opened();
        const one = await completed(connector);
        connector.advance(days(2));
        const dying = crashing(at, phase, "all");
        const run = connector.anotherInstance(dying.options).runCleanUp(1);
        const died = await Promise.race([dying.died, run.then(() => undefined)]);
        if (died === undefined) break;
        calls.push(died.replace(/^\d+: /, ""));
        connector.advance(hours(1));
        await connector.runCleanUp(1);
        const shown = await keysOf(connector);
        expect(shown, died).toMatchObject([{ credential_request_id: one.requestId, state: "active" }]);
        expect(await personalTraces(connector, one), died).toEqual([]);
        expect([(await connector.queue("clean")).length, (await connector.queue("register")).length], died).toEqual([
          0, 1,
        ]);
        dying.goOn();
        await run;
        expect(await keysOf(connector), died).toEqual(shown);
        expect(await personalTraces(connector, one), died).toEqual([]);
      }
      // The names lead to the request until they are removed from its rows.
      expect(calls.indexOf("requestlists.transact")).toBeLessThan(calls.indexOf("credentialrequests.transact"));
      expect(calls.at(-1)).toBe("due.remove");
    },
  );

  test("puts a request that was changed at the same time back into its lists, and archives it later", async () => {
    const connector = await opened();
    const one = await completed(connector);
    connector.advance(days(2));
    const dying = crashing("credentialrequests.transact", "before");
    const slow = connector.anotherInstance(dying.options);
    const run = slow.runCleanUp(1);
    await dying.died;
    const loaded = await connector.load(one.requestId);
    await connector.context.requests.save(loaded, { request: loaded.request });
    dying.goOn();
    expect(await run).toMatchObject({ archived: 0, deleted: 0 });
    expect(await connector.read(one.requestId)).toMatchObject({ state: "complete" });
    expect(await connector.context.requests.entries(personList(one.email), { top: 9 })).toHaveLength(1);
    expect((await listRequests({}, { top: 10 }, connector.context)).entries).toHaveLength(1);
    expect(await connector.runCleanUp(1)).toMatchObject({ archived: 1 });
    expect(await personalTraces(connector, one)).toEqual([]);
  });
});

describe("the revocation of a credential", () => {
  const caller = { kind: "tenant", application: "help-desk", subject: "jane" } as const;

  test("is kept in the register, without its caller and the message of the IdP", async () => {
    const connector = await opened();
    const { requestId, user } = await completed(connector);
    peers.entra.fail({ kind: "refuse", method: "DELETE", status: 500, times: 3, body: { error: { message: user } } });
    await revokeNow({ requestId }, { kind: "tenant", application: "help-desk", roles: ["support"] }, connector.context);
    expect(await keysOf(connector)).toMatchObject([{ state: "revoking" }]);
    connector.advance(days(2));
    expect(await connector.runCleanUp(1)).toMatchObject({ archived: 0 });
    await connector.runCredentials();
    const at = connector.now();
    const revoked = [{ state: "revoked", revoked_at: at }];
    expect(await keysOf(connector, { state: "revoked" })).toMatchObject(revoked);
    expect(await keysOf(connector, { state: "active" })).toEqual([]);
    expect(await connector.runCleanUp(1)).toMatchObject({ archived: 1 });
    expect(await keysOf(connector)).toMatchObject(revoked);
    expect((await connector.keyRow(requestId)).credentials[0]?.revocation).toMatchObject({
      state: "revoked",
      retry: { attempts: 1 },
    });
    expect(await traces(connector, ["help-desk", "jane", "lastError"])).toEqual([]);
  });

  test("works after the clean-up of its request, at once or by the job", async () => {
    const connector = await opened();
    const { requestId, user } = await completed(connector, [1, 1]);
    connector.advance(days(2));
    await connector.runCleanUp(1);
    const first = await revokeNow({ requestId, keyId: "s-01-001" }, caller, connector.context);
    expect([first.isRevoked, peers.entra.registrations(user)]).toEqual([true, []]);
    peers.entra.fail({ kind: "refuse", method: "DELETE", status: 500, times: 3 });
    expect(
      await revokeNow(
        { requestId },
        { kind: "tenant", application: "help-desk", roles: ["support"] },
        connector.context,
      ),
    ).toMatchObject({ isRevoked: false });
    const revoked = connector.now();
    connector.advance(days(1825));
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 0 });
    await connector.runCredentials();
    expect(await keysOf(connector)).toMatchObject([
      { state: "revoked", revoked_at: revoked },
      { state: "revoked", revoked_at: connector.now() },
    ]);
    expect(await traces(connector, ["help-desk", "jane", "lastError"])).toEqual([]);
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 1 });
    expect(await traces(connector, [requestId])).toEqual([]);
  });
});

test("a restore from a backup brings archived requests back as they were", async () => {
  const connector = await opened();
  await connector.deployment.blobs.createContainer(backupsContainer);
  const run = (name: string, input: object = {}) =>
    runTask(connectorTasks, name, input, { ...connector.context, deployment: connector.deployment });
  const one = await completed(connector);
  connector.advance(days(2));
  await connector.runCleanUp(1);
  const [shown, { request }] = [await keysOf(connector), await connector.load(one.requestId)];
  const { backup } = await run("backUp");
  expect(await run("restore", { backup: String(backup), replace: true })).toMatchObject({ requests: 1, open: 0 });
  expect(await keysOf(connector)).toEqual(shown);
  expect((await connector.load(one.requestId)).request).toEqual(request);
  expect(await keysOf(connector, { user_id: one.user })).toEqual(shown);
  expect((await listRequests({}, { top: 10 }, connector.context)).entries).toEqual([]);
  connector.advance(days(1824));
  expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 1 });
  const left = await traces(connector, [one.requestId]);
  expect(left.filter(line => !line.startsWith("backups/"))).toEqual([]);
});

test("the events of a request go when it is archived, after they were sent", async () => {
  const connector = await connectorWith(peers, [sink], { settings });
  const { requestId } = await completed(connector);
  connector.advance(days(2));
  expect(await connector.runCleanUp(1)).toMatchObject({ archived: 0 });
  await send(connector);
  expect(await connector.runCleanUp(1)).toMatchObject({ archived: 1 });
  const { recorded, deliveries } = await connector.context.events.load(requestId);
  expect([recorded, deliveries.size]).toEqual([[], 0]);
});

test("the event of a revocation after the archive has the next position of its request", async () => {
  const connector = await connectorWith(peers, [sink], { settings });
  const { requestId } = await completed(connector);
  await send(connector);
  const sequences = () => sink.events().map(({ body }) => Number(JSON.parse(body).sequence));
  const before = sequences();
  connector.advance(days(2));
  expect(await connector.runCleanUp(1)).toMatchObject({ archived: 1 });
  await revokeNow({ requestId }, { kind: "tenant", application: "help-desk" }, connector.context);
  await send(connector);
  expect(typesAt(sink).at(-1)).toBe("credential.revoked");
  expect(sequences()).toEqual([...before, before.length + 1]);
});

test("the event of a revocation at the same time is sent, and the request archived later", async () => {
  const connector = await connectorWith(peers, [sink], { settings });
  const { requestId } = await completed(connector);
  await send(connector);
  connector.advance(days(2));
  const dying = crashing("responses.removeAll", "before", "all");
  const run = connector.anotherInstance(dying.options).runCleanUp(1);
  await dying.died;
  await revokeNow({ requestId }, { kind: "tenant", application: "help-desk" }, connector.context);
  dying.goOn();
  expect(await run).toMatchObject({ archived: 0, deleted: 0 });
  await send(connector);
  expect(typesAt(sink).at(-1)).toBe("credential.revoked");
  expect(await connector.runCleanUp(1)).toMatchObject({ archived: 1 });
});

describe("the erasure of a person", () => {
  test.each<[RecipientName["by"], (of: { email: string; user: string }) => string, number]>([
    ["userId", ({ user }) => user.toUpperCase(), 1],
    ["email", ({ user }) => user, 1],
    ["email", ({ email }) => email, 0],
  ])("finds an archived request by %s only if it is a user of its credentials", async (by, nameOf, erased) => {
    const connector = await opened();
    const one = await completed(connector);
    const other = await completed(connector);
    connector.advance(days(2));
    await connector.runCleanUp(1);
    expect(await eraseRecipient({ by, name: nameOf(one) }, connector.context, { leaveActive: true })).toMatchObject({
      erased,
      left: [],
    });
    expect((await traces(connector, [one.requestId])).length > 0).toBe(erased === 0);
    expect((await keysOf(connector)).some(key => key.credential_request_id === other.requestId)).toBe(true);
  });
});
