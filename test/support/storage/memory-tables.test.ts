import { expect, test } from "vitest";
import { openTables, type Row, type Table } from "../../../lib/platform/azure/tables.ts";
import { freshStorage, storageTimeoutMs } from "./fresh-storage.ts";
import { memoryTables } from "./memory-tables.ts";

/** The calls that the project makes of a table, whose results are compared. */
async function callEverything(table: Table): Promise<readonly unknown[]> {
  const shown = (row: Row | undefined) => {
    const { etag, ...columns } = row ?? {};
    return columns;
  };
  const rowsOf = (range: Parameters<Table["query"]>[0]) => Array.fromAsync(table.query(range), shown);
  const row = { partitionKey: "it's", rowKey: "a'1", text: "ü\u2028", big: 2 ** 40, half: 0.5, yes: true, small: 7 };
  const first = String(await table.insert(row));
  const again = await table.insert(row);
  const got = shown(await table.get("it's", "a'1"));
  const missing = await table.get("it's", "none");
  const replaced = String(await table.replace({ ...row, text: "two" }, first));
  const late = await table.replace({ ...row, text: "three" }, first);
  const merged = String(await table.merge({ partitionKey: "it's", rowKey: "a'1", more: "x" }, replaced));
  const afterMerge = shown(await table.get("it's", "a'1"));
  const mergedMissing = await table.merge({ partitionKey: "it's", rowKey: "none" }, merged);
  await table.upsert({ partitionKey: "it's", rowKey: "b", n: 1 });
  const [inserted, changed] =
    (await table.transact("it's", [
      { insert: { rowKey: "c", n: 1 } },
      { merge: { rowKey: "a'1", n: 2 }, etag: merged },
      { upsert: { rowKey: "d" } },
      { remove: { rowKey: "b" } },
    ])) ?? [];
  const failed = [
    await table.transact("it's", [{ insert: { rowKey: "e" } }, { insert: { rowKey: "c" } }]),
    await table.transact("it's", [{ insert: { rowKey: "e" } }, { replace: { rowKey: "c" }, etag: first }]),
    await table.transact("it's", [{ upsert: { rowKey: "e" } }, { remove: { rowKey: "c" }, etag: first }]),
    await table.transact("it's", [{ upsert: { rowKey: "e" } }, { remove: { rowKey: "none" } }]),
  ];
  const all = await rowsOf({ partitionKey: "it's" });
  await table.upsert({ partitionKey: "other", rowKey: "z" });
  const page = await table.queryPage({ partitionKey: "it's" }, { top: 2 });
  const rest = await table.queryPage({ partitionKey: "it's" }, { top: 2, continuation: page.continuation });
  const scanned: unknown[] = [];
  for await (const each of table.scan()) scanned.push(shown(each));
  for (const range of [
    { beforePartition: "other" },
    { beforePartition: "it's" },
    { afterPartition: "it's" },
    { partitionPrefix: "it", rowKeys: ["d", "none", "a'1"] },
    { from: "b" },
    { rowKeyPrefix: "z" },
  ])
    for await (const each of table.scan(range)) scanned.push(shown(each));
  return [
    [again, got, missing, late, afterMerge, mergedMissing, failed, all, scanned],
    [typeof inserted, typeof changed],
    await rowsOf({ partitionKey: "it's", from: "a'1", before: "d" }),
    await rowsOf({ partitionKey: "it's", rowKeyPrefix: "a'" }),
    await rowsOf({ partitionKey: "none" }),
    [page.rows.map(shown), rest.rows.map(shown), page.continuation !== undefined, rest.continuation],
    await table.remove("it's", "c", first),
    await table.remove("it's", "c", String(inserted)),
    await table.remove("it's", "c"),
  ];
}

test("tables in memory give the same results as the emulator", async () => {
  const { connectionString } = freshStorage();
  const emulated = openTables({ connectionString, timeoutMs: storageTimeoutMs });
  await emulated.createTable("things");
  const [expected, actual] = await Promise.all(
    [emulated, memoryTables()].map(tables => callEverything(tables.table("things"))),
  );
  expect(actual).toEqual(expected);
});
