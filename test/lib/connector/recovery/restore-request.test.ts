import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { connectorTasks } from "../../../../functions/connector/start/maintenance-tasks.ts";
import { cancelRequest } from "../../../../lib/connector/cancel/cancel-request.ts";
import { eraseRecipient } from "../../../../lib/connector/cancel/erase-recipient.ts";
import { enrollmentId } from "../../../../lib/connector/model/security-key.ts";
import type { Fetch } from "../../../../lib/platform/call-peer.ts";
import { backupsContainer } from "../../../../lib/platform/maintenance/read-backup.ts";
import { days, hours, minutes } from "../../../../lib/platform/time.ts";
import { startVault } from "../../../../local/peers/vault/vault.ts";
import { authenticator, authenticatorsOf, idAt, mixedBody, onSiteBody } from "../../../support/connector/on-site.ts";
import {
  type ConnectorOptions,
  newUser,
  peersOfFile,
  refusalOf,
  type TestConnector,
  testConnector,
} from "../../../support/connector/test-connector.ts";
import { runTask } from "../../../support/run-task.ts";
import { copyBackups } from "../../../support/storage/backups.ts";

const peers = await peersOfFile();
const counts = () => ({
  orders: peers.delivery.count("POST", /\/v1\/fpr\/shipments$/),
  activations: peers.entra.count("POST", /fido2Methods$/),
  mails: peers.mail.count("POST", /emails:send$/),
});

const run = ({ context, deployment }: TestConnector, name: string, input: unknown = {}) =>
  runTask(connectorTasks, name, input, { ...context, deployment });
const backUp = async (connector: TestConnector) => String((await run(connector, "backUp")).backup);
const restore = (connector: TestConnector, backup: string) => run(connector, "restore", { backup, replace: true });

async function open(options: ConnectorOptions = {}): Promise<TestConnector> {
  const connector = await testConnector(peers, options);
  await connector.deployment.blobs.createContainer(backupsContainer);
  return connector;
}

/** Everything that comes after the order. */
async function finish(connector: TestConnector): Promise<void> {
  for (let round = 0; round < 3; round++) {
    connector.advance(hours(1));
    await connector.runJobs();
  }
}

test("a request restored beside a new vault continues with the old keys that an operator copied", async () => {
  const connector = await open();
  const { requestId } = await connector.order();
  const backup = await backUp(connector);
  const name = "data-encryption-key";
  const newKey = () => randomBytes(32).toString("base64url");
  const vault = await startVault({ secrets: { "delivery-api-token": peers.vault.get("delivery-api-token") ?? "" } });
  try {
    for (const secret of ["idp-entra-client-secret", "enrollment-credential"])
      vault.set(secret, peers.vault.get(secret) ?? "");
    for (const value of [newKey(), peers.vault.get(name) ?? "", newKey()]) vault.set(name, value);
    const next = await open({ settings: { CLOUD_KEY_VAULT_ENDPOINT: vault.url } });
    await copyBackups(connector.deployment.blobs, next.deployment.blobs);
    expect(await restore(next, backup)).toMatchObject({ requests: 1 });
    await finish(next);
    expect((await next.read(requestId)).state).toBe("complete");
    expect(await run(next, "reseal")).toMatchObject({ failed: 0 });
  } finally {
    await vault.close();
  }
});

const work: Readonly<Record<string, (connector: TestConnector) => Promise<unknown>>> = {
  "the order was taken": async () => {},
  "its responses were stored": connector => connector.runShipments(),
  "its PIN was mailed": finish,
};

describe("a request restored from a backup is read back before any call", () => {
  test.each(Object.entries(work))("made when %s: nothing is activated or mailed twice", async (_, before) => {
    const connector = await open();
    const { requestId } = await connector.order();
    await before(connector);
    const backup = await backUp(connector);
    await finish(connector);
    expect((await connector.read(requestId)).state).toBe("complete");
    const done = counts();

    expect(await restore(connector, backup)).toMatchObject({ requests: 1 });
    await finish(connector);
    expect(await connector.read(requestId)).toMatchObject({
      state: "complete",
      shipment: { shipment_items: [{ credentials: [{ state: "active" }] }] },
    });
    expect((await connector.keyRow(requestId)).mail.state).toBe("sent");
    expect(counts()).toEqual(done);
  });

  /** Makes a backup while a peer is being called. */
  async function backedUpAt(
    path: RegExp,
    body?: unknown,
  ): Promise<{ connector: TestConnector; backup: string; requestId: string }> {
    let backup = "";
    const fetch: Fetch = async (url, init) => {
      if (backup === "" && path.test(`${init?.method} ${new URL(String(url)).pathname}`)) {
        backup = "…";
        backup = await backUp(connector);
      }
      return globalThis.fetch(url, init);
    };
    const connector = await open({ fetch });
    const { requestId } = await connector.order(body);
    return { connector, backup, requestId };
  }

  test("made while it was being ordered: the shipment is found, and not ordered again", async () => {
    const { connector, backup, requestId } = await backedUpAt(/POST .*shipments$/);
    const done = counts();
    await restore(connector, backup);
    expect((await connector.requestRow(requestId)).state).toBe("received");
    connector.advance(minutes(20));
    await connector.runCredentials();
    await finish(connector);
    expect((await connector.read(requestId)).state).toBe("complete");
    expect(counts()).toEqual({ ...done, activations: done.activations + 1, mails: done.mails + 1 });
  });

  test("made before its keys were stored: it is looked for, never ordered again, and ends failed with what to check", async () => {
    const { connector, backup, requestId } = await backedUpAt(/GET .*creationOptions/);
    const done = counts();
    await restore(connector, backup);
    connector.advance(minutes(20));
    await connector.runCredentials();
    await finish(connector);
    connector.advance(days(3));
    await connector.runCredentials();
    const read = await connector.read(requestId);
    expect(read.state).toBe("failed");
    expect(read.shipment?.shipment_items[0]?.credentials[0]?.error_message).toMatch(/order/i);
    expect(counts()).toEqual(done);
  });

  test("made while its authenticator was being handed over: it is polled, not removed", async () => {
    const { connector, backup, requestId } = await backedUpAt(/PUT .*authenticator-requests/, onSiteBody());
    await peers.rfpr.enroll(enrollmentId(requestId, "a-01"));
    const done = counts();
    await restore(connector, backup);
    await finish(connector);
    expect(await connector.read(requestId)).toMatchObject({
      state: "complete",
      authenticators: [{ credentials: [{ state: "active" }] }],
    });
    expect(counts()).toEqual({ ...done, activations: done.activations + 1, mails: done.mails + 1 });
  });

  test("made before the keys of its authenticator were stored: everything that was handed over is removed", async () => {
    const { connector, backup, requestId } = await backedUpAt(/GET .*creationOptions/, onSiteBody());
    expect(authenticatorsOf(peers, requestId)).toHaveLength(1);
    await restore(connector, backup);
    await finish(connector);
    expect((await connector.read(requestId)).state).toBe("failed");
    expect(authenticatorsOf(peers, requestId)).toEqual([]);
  });

  const away = (method: string) => peers.rfpr.fail({ kind: "refuse", method, status: 503, times: 100 });
  /** The id of a request whose create was answered "nothing was ordered" and is not compensated yet. */
  async function abortedOrder(connector: TestConnector, body: unknown): Promise<string> {
    away("PUT");
    away("DELETE");
    await refusalOf(connector.order(body));
    const [entry] = await connector.queue("reconcile");
    return entry?.requestId ?? "";
  }

  test("made while an aborted order was compensated: it is not placed, and the key that it replaces stays", async () => {
    const connector = await open();
    const user = newUser();
    const body = onSiteBody([authenticator(1, { pin_request: undefined, credentials: [{ user_id: user }] })]);
    const { requestId: old } = await connector.order(body);
    await peers.rfpr.enroll(idAt(old));
    connector.advance(minutes(5));
    await connector.runCredentials();
    const replaces = { credential_request_id: old, key_id: "a-01", reason: "broken", revoke: "now" };
    const requestId = await abortedOrder(connector, { ...body, replaces });
    const backup = await backUp(connector);
    peers.rfpr.clearFaults();
    await restore(connector, backup);
    expect(await connector.read(requestId)).toMatchObject({
      state: "received",
      error_message: expect.stringContaining("nothing was ordered"),
    });
    await finish(connector);
    expect((await connector.read(requestId)).state).toBe("failed");
    expect((await connector.keyRow(requestId, "a-01")).credentials[0]?.mayBeRegistered).toBeUndefined();
    expect(peers.entra.registrations(user)).toHaveLength(1);
  });

  test("made while an aborted order was being cancelled: the cancel is continued", async () => {
    const connector = await open();
    const requestId = await abortedOrder(connector, onSiteBody());
    connector.advance(minutes(6));
    peers.rfpr.fail({ kind: "refuse", method: "POST", path: "/cancel", status: 503, times: 100 });
    expect(await refusalOf(cancelRequest(requestId, connector.context))).toMatchObject({ status: 503 });
    const backup = await backUp(connector);
    peers.rfpr.clearFaults();
    await restore(connector, backup);
    await finish(connector);
    expect((await connector.read(requestId)).state).toBe("cancelled");
    expect(authenticatorsOf(peers, requestId).filter(({ state }) => state !== "cancelled")).toEqual([]);
  });

  test("made before the keys of its authenticator were stored: an erasure removes what was handed over", async () => {
    const { connector, backup, requestId } = await backedUpAt(/GET .*creationOptions/, onSiteBody());
    await restore(connector, backup);
    // The time of its create handler is over.
    connector.advance(minutes(6));
    const { recipient } = await connector.requestRow(requestId);
    expect(
      await eraseRecipient({ by: "email", name: recipient.email }, connector.context, { leaveActive: true }),
    ).toMatchObject({
      erased: 1,
    });
    expect(authenticatorsOf(peers, requestId)).toEqual([]);
  });

  test("made before its authenticator was enrolled, activated and deleted: it ends cancelled, with what to check", async () => {
    const connector = await open();
    const { requestId } = await connector.order(onSiteBody());
    const backup = await backUp(connector);
    await peers.rfpr.enroll(enrollmentId(requestId, "a-01"));
    await finish(connector);
    expect((await connector.read(requestId)).state).toBe("complete");
    connector.advance(days(2));
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 1 });
    await restore(connector, backup);
    await finish(connector);
    const [authenticator] = (await connector.read(requestId)).authenticators ?? [];
    expect(authenticator?.credentials).toMatchObject([
      {
        state: "cancelled",
        may_be_registered: true,
        error_message: expect.stringMatching(/was deleted/),
      },
    ]);
  });

  test("is due again, at its time, with its shipment id and its copy of the responses", async () => {
    const connector = await open();
    const { requestId, shipmentId = "" } = await connector.orderAndPoll();
    const [row, key] = [await connector.requestRow(requestId), await connector.keyRow(requestId)];
    const due = await connector.queue("key");
    await restore(connector, await backUp(connector));
    expect((await connector.queue("key")).map(({ writtenAt: _, ...entry }) => entry)).toEqual(
      due.map(({ writtenAt: _, ...entry }) => entry),
    );
    expect(await connector.requestRow(requestId)).toEqual(row);
    expect(await connector.context.requests.requestOfShipment(shipmentId)).toBe(requestId);
    expect(await connector.context.responses.get(key.responses ?? "")).toMatchObject({
      pinResponse: expect.any(String),
    });
  });
});

test("resealing leaves no value under the old version, and every value still opens", async () => {
  const connector = await open();
  const { requestId } = await connector.order();
  const before = await connector.keyRow(requestId);
  const name = "data-encryption-key";
  const old = peers.vault.get(name) ?? "";
  try {
    peers.vault.set(name, randomBytes(32).toString("base64url"));
    const host = connector.anotherInstance();
    expect(await run(host, "reseal")).toMatchObject({ rows: 2, resealed: 1, failed: 0 });
    const after = await host.keyRow(requestId);
    expect(after.pinResponseKey).not.toBe(before.pinResponseKey);
    expect(after.credentials[0]?.responseKey).not.toBe(before.credentials[0]?.responseKey);
    expect(await run(host, "reseal")).toMatchObject({ resealed: 0 });
    await finish(host);
    expect((await host.read(requestId)).state).toBe("complete");
  } finally {
    peers.vault.set(name, old);
  }
});

test("a cancel that was recorded in a backup and deleted the shipment after it is completed in the restored request", async () => {
  let backup = "";
  const connector = await open();
  peers.delivery.settings({ shipAfterMs: hours(100), search: true });
  const { requestId } = await connector.order(mixedBody());
  const { context } = connector;
  const cancelling = connector.anotherInstance({
    ports: () => ({
      requests: {
        ...context.requests,
        save: async (...args: Parameters<typeof context.requests.save>) => {
          const saved = await context.requests.save(...args);
          if (backup === "" && saved?.request.cancelling !== undefined) {
            backup = "…";
            backup = await backUp(connector);
          }
          return saved;
        },
      },
    }),
  });
  await cancelRequest(requestId, cancelling.context);
  expect((await connector.read(requestId)).state).toBe("cancelled");

  await restore(connector, backup);
  expect((await connector.requestRow(requestId)).cancelling).toBeDefined();
  for (let round = 0; round < 3; round++) {
    connector.advance(hours(1));
    await connector.runJobs();
  }
  expect((await connector.read(requestId)).state).toBe("cancelled");
});
