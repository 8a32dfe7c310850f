import { describe, expect, test } from "vitest";
import { personList, type RequestList } from "../../../../lib/connector/model/request-lists.ts";
import { indexWriter } from "../../../../lib/connector/storage/index-rows.table.ts";
import { listRow, listsTable, requestLists } from "../../../../lib/connector/storage/lists.table.ts";
import { openTables } from "../../../../lib/platform/azure/tables.ts";
import { createLog } from "../../../../lib/platform/log.ts";
import { instant, seconds } from "../../../../lib/platform/time.ts";
import { freshStorage } from "../../../support/storage/fresh-storage.ts";

const now = () => instant(Date.UTC(2026, 0, 31));

async function opened() {
  const { connectionString } = freshStorage();
  const tables = openTables({ connectionString, timeoutMs: seconds(15) });
  await tables.createTable(listsTable);
  const { put, remove } = indexWriter(tables, now);
  const rowsOf = (n: number, lists: readonly RequestList[]) => lists.map(list => listRow(place(n), list));
  return {
    ...requestLists(
      tables,
      createLog(() => {}),
    ),
    enter: (n: number, lists: readonly RequestList[]) => put(rowsOf(n, lists)),
    leave: (n: number, lists: readonly RequestList[]) => remove(rowsOf(n, lists)),
  };
}

const place = (n: number) => ({
  createdAt: instant(Date.UTC(2026, 0, 1) + n),
  requestId: `3f0f2f0e-1a2b-4c3d-8e4f-${String(n).padStart(12, "0")}`,
});

describe("lists of requests in storage", () => {
  test("hold 103 people's rows at once, and lose them all, also if some are missing already", async () => {
    const lists = await opened();
    const people: readonly RequestList[] = Array.from({ length: 103 }, (_, n) => personList(`user-${n}@example.com`));
    await lists.enter(1, people);
    const found = async () => {
      const entries = await Promise.all(people.map(person => lists.entries(person, { top: 5 })));
      return entries.filter(of => of.length === 1).length;
    };
    expect(await found()).toBe(103);
    await lists.leave(1, people.slice(7, 8));
    expect(await found()).toBe(102);
    await lists.leave(1, people);
    expect(await found()).toBe(0);
    await lists.leave(1, people.slice(0, 1));
  });

  test("keep lists apart and return each in the order of creation, from any position on", async () => {
    const lists = await opened();
    const [ada, bob] = [personList("ada@example.com"), personList("bob@example.com")];
    for (const n of [3, 1, 2]) await lists.enter(n, [ada, { state: "started" }]);
    await lists.enter(4, [bob, { state: "failed" }]);
    const read = async (list: RequestList, after?: string, top = 10) =>
      (await lists.entries(list, { after, top })).map(({ requestId }) => Number(requestId.slice(-2)));
    expect(await read(ada)).toEqual([1, 2, 3]);
    expect(await read({ state: "started" }, undefined, 2)).toEqual([1, 2]);
    expect(await read(bob)).toEqual([4]);
    expect(await read({ state: "received" })).toEqual([]);
    const { createdAt, requestId } = place(1);
    expect(await read(ada, `${createdAt}_${requestId}`)).toEqual([2, 3]);
    expect(await read({ state: "started" }, createdAt)).toEqual([2, 3]);
    const [first] = await lists.entries(ada, { top: 1 });
    expect(first).toEqual({ ...place(1), writtenAt: now() });
  });

  test("find a person in any letter case, by names that no row key could hold", async () => {
    const lists = await opened();
    await lists.enter(1, [personList(" Ada/Lovelace#1?@Example.com ")]);
    expect(await lists.entries(personList("ADA/lovelace#1?@example.com"), { top: 1 })).toHaveLength(1);
    expect(await lists.entries(personList("e\u0301"), { top: 1 })).toHaveLength(0);
    await lists.enter(2, [personList("\u00e9")]);
    expect(await lists.entries(personList("e\u0301"), { top: 1 })).toHaveLength(1);
  });
});
