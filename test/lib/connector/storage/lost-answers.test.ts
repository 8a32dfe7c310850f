import { expect, test } from "vitest";
import { cancelRequest } from "../../../../lib/connector/cancel/cancel-request.ts";
import { resendPin } from "../../../../lib/connector/pin/resend-pin.ts";
import type { Table } from "../../../../lib/platform/azure/tables.ts";
import { Fault } from "../../../../lib/platform/fault.ts";
import { hours, minutes } from "../../../../lib/platform/time.ts";
import { attempts, connectorBehindProxy } from "../../../support/connector/behind-proxy.ts";
import { failingTable, withTable } from "../../../support/connector/crashing.ts";
import { idAt, onSiteBody } from "../../../support/connector/on-site.ts";
import { peersOfFile, type TestConnector, testConnector } from "../../../support/connector/test-connector.ts";
import { writes } from "../../../support/connector/writes.ts";
import type { HoldRule } from "../../../support/host/pausing-proxy.ts";

const peers = await peersOfFile();

const activations = () => peers.entra.count("POST", /fido2Methods$/);
const mails = () => peers.mail.count("POST", /^\/emails:send$/);

/** A connector, and the loss of every response to one write. */
async function losing(write: Omit<HoldRule, "phase">) {
  const { connector, proxy } = await connectorBehindProxy(peers);
  const lose = () => proxy.cut({ phase: "response", ...write, times: attempts });
  return { connector, lose };
}

/** What a request leaves whose work was done once and in one run of each job. */
async function expectDoneOnce(connector: TestConnector, requestId: string, keyId?: string): Promise<void> {
  expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
  const { credentials, mail, lease } = await connector.keyRow(requestId, keyId);
  expect([credentials[0]?.triedAt, mail.triedAt, mail.state, lease]).toEqual([undefined, undefined, "sent", undefined]);
  expect([activations(), mails()]).toEqual([1, 1]);
}

test.each(["request", "started", "pollResult", "activationTry", "activation", "mailTry", "mailSent"] as const)(
  "a shipped key is ordered, activated and mailed once and without delay if the responses to the write %s are lost",
  async name => {
    const { connector, lose } = await losing(writes[name]);
    const lost = lose();
    const { requestId } = await connector.order();
    await connector.runJobs();
    expect(lost.count()).toBe(attempts);
    await expectDoneOnce(connector, requestId);
    expect(peers.delivery.count("POST", /shipments$/)).toBe(1);
  },
);

test.each(["request", "sealedKeys", "startedOnSite", "enrolled"] as const)(
  "an authenticator is sent, activated and mailed once and without delay if the responses to the write %s are lost",
  async name => {
    const { connector, lose } = await losing(writes[name]);
    const lost = lose();
    const { requestId } = await connector.order(onSiteBody());
    await peers.rfpr.enroll(idAt(requestId));
    connector.advance(minutes(6));
    await connector.runCredentials();
    expect(lost.count()).toBe(attempts);
    await expectDoneOnce(connector, requestId, "a-01");
  },
);

test("a PIN is resent once if the responses to the write of the next mail are lost", async () => {
  const { connector, lose } = await losing({ ...writes.mailTry, body: /\\"number\\":2/ });
  const { requestId } = await connector.orderAndRun();
  const lost = lose();
  expect(await resendPin(requestId, connector.context)).toEqual({ sent: 1, unsent: [] });
  expect(lost.count()).toBe(attempts);
  await connector.runJobs();
  expect(mails()).toBe(2);
});

test("a cancel deletes the shipment if the responses to the write of its intent are lost", async () => {
  peers.delivery.settings({ shipAfterMs: hours(1) });
  const { connector, lose } = await losing({ ...writes.started, body: /deleteSentAt/ });
  const { requestId } = await connector.order();
  const lost = lose();
  expect((await cancelRequest(requestId, connector.context)).request.state).toBe("cancelled");
  expect(lost.count()).toBe(attempts);
  expect(peers.delivery.count("DELETE", /shipments/)).toBe(1);
});

test("a write that storage has not made is repeated, and has no effect if it arrives later", async () => {
  let arrive: (() => Promise<unknown>) | undefined;
  const replace =
    (table: Table): Table["replace"] =>
    (entity, etag) => {
      if (arrive !== undefined || !String(entity.credentials00).includes('"triedAt"'))
        return table.replace(entity, etag);
      arrive = () => table.replace(entity, etag);
      return Promise.reject(new Fault("unavailable", "Storage is away."));
    };
  const connector = await testConnector(peers, {
    tables: withTable("credentialrequests", table => ({ replace: replace(table) })),
  });
  const { requestId } = await connector.orderAndRun();
  await expectDoneOnce(connector, requestId);
  expect(await arrive?.()).toBeUndefined();
  expect(arrive).toBeDefined();
});

test("a failure after a change is made is not reported as a failure of the change", async () => {
  const connector = await testConnector(peers, { tables: failingTable("due", "remove") });
  const { requestId, shipmentId } = await connector.order();
  expect(await connector.read(requestId)).toMatchObject({ state: "started", shipment: { shipment_id: shipmentId } });
  await connector.runShipments();
  expect((await connector.keyRow(requestId)).credentials).toMatchObject([{ state: "activation_pending" }]);
  expect(connector.events("index_row_left").length).toBeGreaterThan(0);
});
