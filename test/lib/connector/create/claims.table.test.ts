import { describe, expect, test } from "vitest";
import { claimStore, claimsTable } from "../../../../lib/connector/create/claims.table.ts";
import type { Claim } from "../../../../lib/connector/model/idempotency.ts";
import { openTables, type Tables } from "../../../../lib/platform/azure/tables.ts";
import { hours, instant, plus, seconds } from "../../../../lib/platform/time.ts";
import { freshStorage } from "../../../support/storage/fresh-storage.ts";

const start = instant(Date.UTC(2026, 0, 31));

const claim = (scope: string, endsAt = plus(start, hours(1))): Claim => ({
  scope,
  fingerprint: "f",
  requestId: "r1",
  claimedAt: start,
  endsAt,
});

const never = () => false;

async function opened() {
  const { connectionString } = freshStorage();
  const tables = openTables({ connectionString, timeoutMs: seconds(15) });
  await tables.createTable(claimsTable);
  const store = claimStore(tables);
  /** Expects that clean-up finds so many claims in the end, and leaves no row. */
  const expectLeft = async (claims: number) => {
    expect(await store.removeEnded(plus(start, hours(99)), never)).toBe(claims);
    for (const partitionKey of "0123456789abcdef")
      for await (const row of tables.table(claimsTable).query({ partitionKey })) expect(row).toBeUndefined();
  };
  return { store, expectLeft, tables };
}

describe("the claims of Idempotency-Keys in storage", () => {
  test("are taken over by one of many, and their place in the order of expiry moves along", async () => {
    const { store, expectLeft } = await opened();
    const earlier = await store.insert(claim("ab1"));
    if (earlier === undefined) throw new Error("not inserted");
    const later = plus(start, hours(2));
    const tries = Array.from({ length: 10 }, (_, n) =>
      store.replace(earlier, { ...claim("ab1", later), requestId: `n${n}` }),
    );
    expect((await Promise.all(tries)).filter(stored => stored !== undefined)).toHaveLength(1);
    expect(await store.removeEnded(plus(later, -1), never)).toBe(0);
    await expectLeft(1);
  });

  test("are released by the version that was read, with their place", async () => {
    const { store, expectLeft } = await opened();
    const earlier = await store.insert(claim("ab1"));
    if (earlier === undefined) throw new Error("not inserted");
    const changed = await store.replace(earlier, { ...claim("ab1"), answer: { created: { requestId: "r1" } } });
    expect(await store.release(earlier)).toBe(false);
    expect(changed && (await store.release(changed))).toBe(true);
    await expectLeft(0);
  });

  test("go when their time is over, in every partition and beyond one page, and the others stay", async () => {
    const { store, expectLeft } = await opened();
    const scopes = Array.from({ length: 120 }, (_, n) => `${(n % 2).toString(16)}${String(n).padStart(4, "0")}`);
    for (let at = 0; at < scopes.length; at += 20)
      await Promise.all(scopes.slice(at, at + 20).map(scope => store.insert(claim(scope))));
    await store.insert(claim("0ff", plus(start, hours(1) + 1)));
    expect(await store.removeEnded(plus(start, hours(1) - 1), never)).toBe(0);
    expect(await store.removeEnded(plus(start, hours(1)), never)).toBe(120);
    expect(await store.find("0ff")).toBeDefined();
    await expectLeft(1);
  });

  test("stay where they were taken over after clean-up had found them ended", async () => {
    const { store, expectLeft, tables } = await opened();
    const [ended, taken] = [await store.insert(claim("a01")), await store.insert(claim("a02"))];
    if (ended === undefined || taken === undefined) throw new Error("not inserted");
    const table = tables.table(claimsTable);
    const overtaken: Tables = {
      ...tables,
      table: () => ({
        ...table,
        query: async function* (...range) {
          yield* table.query(...range);
          await store.replace(taken, { ...claim("a02", plus(start, hours(9))), requestId: "new" });
        },
      }),
    };
    expect(await claimStore(overtaken).removeEnded(plus(start, hours(1)), never)).toBe(1);
    expect((await store.find("a02"))?.value.requestId).toBe("new");
    expect(await store.removeEnded(plus(start, hours(9) - 1), never)).toBe(0);
    await expectLeft(1);
  });
});
