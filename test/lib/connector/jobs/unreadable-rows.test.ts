import { describe, expect, test } from "vitest";
import { listRequests } from "../../../../lib/connector/api/list-requests.ts";
import { eraseRecipient } from "../../../../lib/connector/cancel/erase-recipient.ts";
import type { Entity } from "../../../../lib/platform/azure/tables.ts";
import { days, hours, minutes, plus } from "../../../../lib/platform/time.ts";
import {
  orderBody,
  peersOfFile,
  type TestConnector,
  testConnector,
  withoutPins,
} from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();

/** Overwrites columns of a stored row, as a fault of storage or of another version would. */
async function damage(
  connector: TestConnector,
  table: string,
  { partitionKey, rowKey, ...columns }: Entity,
): Promise<void> {
  const rows = connector.deployment.tables.table(table);
  const row = await rows.get(partitionKey, rowKey);
  expect(row).toBeDefined();
  await rows.merge({ partitionKey, rowKey, ...columns }, row?.etag ?? "");
}

const mail = "person@example.com";
const damages: Readonly<Record<string, { rowKey: string; columns: Readonly<Record<string, string | number>> }>> = {
  "a request's state that is none": { rowKey: "request", columns: { state: mail } },
  "a request's column that is no JSON": { rowKey: "request", columns: { recipient: `{"email":"${mail}"` } },
  "a request's recipient of another shape": { rowKey: "request", columns: { recipient: `{"mail":"${mail}"}` } },
  "a request's time that is none": { rowKey: "request", columns: { createdAt: "yesterday" } },
  "a request of a later schema version": { rowKey: "request", columns: { schema: 99 } },
  "a key's credential of another shape": { rowKey: "key:s-01-001", columns: { credentials00: `["${mail}"]` } },
  "a key's mail that is no JSON": { rowKey: "key:s-01-001", columns: { mail } },
};

describe.each(Object.entries(damages))("%s is one failed item", (_, { rowKey, columns }) => {
  /** Two requests, of which one is damaged after `work`. */
  const damaged = async (work: (connector: TestConnector) => Promise<void> = async () => {}) => {
    const connector = await testConnector(peers);
    const { requestId: bad } = await connector.order(withoutPins(orderBody([1], mail)));
    const { requestId: good } = await connector.order(withoutPins(orderBody([1], mail)));
    await work(connector);
    await damage(connector, "credentialrequests", { partitionKey: bad, rowKey, ...columns });
    return { connector, bad, good };
  };
  const expectNamed = (connector: TestConnector, bad: string, event: string) => {
    const events = connector.events(event);
    expect(events.length).toBeGreaterThan(0);
    for (const { error } of events) {
      expect(error).toMatchObject({ name: "RowError", message: expect.stringContaining(`${bad}/${rowKey}`) });
      expect(JSON.stringify(error)).not.toContain(mail);
    }
  };

  test("of clean-up", async () => {
    const { connector, bad, good } = await damaged(({ runJobs }) => runJobs());
    connector.advance(days(2));
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 1 });
    expect(await connector.context.requests.load(good)).toBeUndefined();
    expectNamed(connector, bad, "work_failed");
  });

  test("of the list, and then of the jobs", async () => {
    const { connector, bad, good } = await damaged();
    connector.advance(days(1));
    const { entries } = await listRequests({}, { top: 10 }, connector.context);
    expect(entries.map(({ request }) => request.id)).toEqual([good]);
    expectNamed(connector, bad, "row_failed");
    // It stays listed: it may become readable again.
    const listed = await connector.context.requests.entries({ state: "started" }, { top: 10 });
    expect(listed.map(({ requestId }) => requestId).sort()).toEqual([bad, good].sort());

    const logged = connector.events("work_failed").length;
    await connector.runJobs();
    expect((await connector.read(good)).state).toBe("complete");
    expectNamed(connector, bad, "work_failed");
    expect(connector.events("work_failed").length).toBeGreaterThan(logged);
  });

  test("of an erasure, which says that it is left", async () => {
    const { connector, bad, good } = await damaged(({ runJobs }) => runJobs());
    const report = await eraseRecipient({ by: "email", name: mail }, connector.context, { leaveActive: true });
    expect(report).toMatchObject({ erased: 1, left: [{ requestId: bad, reason: expect.any(String) }] });
    expect(await connector.context.requests.load(good)).toBeUndefined();
    expectNamed(connector, bad, "work_failed");
  });
});

test("a row of due work that cannot be read keeps no other from being done", async () => {
  const connector = await testConnector(peers);
  const [bad, good] = [await connector.order(), await connector.order()];
  const [entry] = (await connector.queue("poll")).filter(({ requestId }) => requestId === bad.requestId);
  const row = { partitionKey: "poll", rowKey: `${entry?.at}_${bad.requestId}__${entry?.peer}` };
  await damage(connector, "due", { ...row, requestId: 7 });
  await connector.runJobs();
  expect(await connector.read(good.requestId)).toMatchObject({ state: "complete" });
  expect(connector.events("row_failed")).toMatchObject([
    { error: { name: "RowError", message: expect.stringContaining(`${row.partitionKey}/${row.rowKey}`) } },
  ]);
});

test("a row of a list that cannot be read neither ends the list nor a page of it", async () => {
  const connector = await testConnector(peers);
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) {
    ids.push((await connector.order()).requestId);
    connector.advance(minutes(1));
  }
  for (const id of ids.slice(1, 3)) {
    const { createdAt } = (await connector.load(id)).request;
    await damage(connector, "requestlists", { partitionKey: "started", rowKey: `${createdAt}_${id}`, writtenAt: "" });
  }
  const shown: string[] = [];
  let after: string | undefined;
  do {
    const { entries, next } = await listRequests({ state: "started" }, { top: 1, after }, connector.context);
    shown.push(...entries.map(({ request }) => request.id));
    after = next;
  } while (after !== undefined);
  expect(shown).toEqual([ids[0], ids[3], ids[4]]);
  expect(connector.events("row_failed").length).toBeGreaterThan(0);
});

test("a claim that cannot be read is removed when it ends, like the others", async () => {
  const connector = await testConnector(peers);
  const { claims } = connector.context;
  const now = connector.now();
  const endsAt = plus(now, hours(1));
  const [bad, good] = ["0a", "0b"];
  for (const scope of [bad, good])
    await claims.insert({ scope, fingerprint: "f", requestId: "r", claimedAt: now, endsAt });
  await damage(connector, "idempotency", { partitionKey: "0", rowKey: `claim_${bad}`, answer: "{" });
  await damage(connector, "idempotency", { partitionKey: "0", rowKey: `ends_${endsAt}_${bad}`, scope: 7 });
  await expect(claims.find(bad)).rejects.toMatchObject({ name: "RowError" });
  expect(await claims.removeEnded(plus(now, hours(2)), () => false)).toBe(2);
});
