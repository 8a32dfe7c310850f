import { expect, test } from "vitest";
import { sortKeyOf } from "../../../lib/connector/model/request-lists.ts";
import { indexWriter } from "../../../lib/connector/storage/index-writer.table.ts";
import { listRow } from "../../../lib/connector/storage/lists.table.ts";
import { openTables } from "../../../lib/platform/azure/tables.ts";
import { instant } from "../../../lib/platform/time.ts";
import { createRequestList } from "../../../local/console/request-list.ts";
import { createStores } from "../../../local/start/system.ts";
import { freshStorage } from "../../support/storage/fresh-storage.ts";

test("lists every request from the newest to the oldest in pages of fifty that the API serves, with counts by state", async () => {
  const { connectionString } = freshStorage();
  await createStores(connectionString);
  const now = () => instant(Date.now());
  const index = indexWriter(openTables({ connectionString, timeoutMs: 15_000 }), now);
  const keys = Array.from({ length: 120 }, (_, at) => ({
    createdAt: instant(at * 1000),
    requestId: `00000000-0000-0000-0000-${String(at).padStart(12, "0")}`,
  }));
  await index.put(keys.map((key, at) => listRow(key, { state: at % 4 === 0 ? "started" : "complete" })));
  const asked: URLSearchParams[] = [];
  // Answers as the API does: from the oldest to the newest, those after the position.
  const list = createRequestList(connectionString, async path => {
    const query = new URL(path, "http://host").searchParams;
    asked.push(query);
    const after = query.get("$skiptoken") ?? "";
    const body = keys.filter(key => sortKeyOf(key) > after).slice(0, Number(query.get("$top")));
    return { status: 200, headers: {}, body };
  });
  const first = await list.page(null, 0);
  expect(first).toMatchObject({ total: 120, byState: { started: 30, complete: 90, failed: 0 } });
  expect(first.requests).toEqual(keys.slice(70).reverse());
  expect((await list.page(null, 1)).requests).toEqual(keys.slice(20, 70).reverse());
  expect((await list.page(null, 2)).requests).toEqual(keys.slice(0, 20).reverse());
  expect(asked.map(query => query.get("$top"))).toEqual(["50", "50", "20"]);
  expect((await list.page("started", 0)).total).toBe(30);
  expect(asked.at(-1)?.get("state")).toBe("started");
  expect((await list.page("failed", 0)).requests).toEqual([]);
  const last = { createdAt: instant(120_000), requestId: "00000000-0000-0000-0000-000000000120" };
  await index.put([listRow(last, { state: "failed" })]);
  list.changed();
  expect((await list.page(null, 0)).total).toBe(121);
});
