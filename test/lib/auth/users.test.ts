import { describe, expect, test } from "vitest";
import { attributeLimits } from "../../../lib/auth/attributes/attributes.ts";
import { attributePartition } from "../../../lib/auth/hints.table.ts";
import { idKey } from "../../../lib/auth/tables.table.ts";
import { userParts } from "../../../lib/auth/users/user-rows.table.ts";
import { named, openAuthStorage, username } from "../../support/auth/store.ts";
import { addUsers } from "../../support/auth/store-crowd.ts";

let count = 0;

const storage = await openAuthStorage();
const store = storage.store;
const another = storage.another();

const fresh = () => `user${count++}`;
const password = { hash: "$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$dGFn", pepper: "v1" };

async function created(name = fresh()) {
  const user = await store.users.create({ username: username(name), passwordOf: async () => password });
  if (user === undefined) throw new Error(`${name} is taken`);
  return { user, userRef: named(name), id: user.value.id };
}

describe("a user", () => {
  test("gets an id that no other user has, although clock and random source return one again", async () => {
    const own = await openAuthStorage();
    const frozen = own.fixed();
    const ids = new Set<number | undefined>();
    for (let n = 0; n < 4; n++) ids.add((await frozen.users.create({ username: username(fresh()) }))?.value.id);
    expect(ids.size).toBe(4);
    expect((await own.store.users.list({ top: 10 })).entries).toHaveLength(4);
  });

  test("is changed by version: of several changes one wins, and one of an older version none", async () => {
    const { user, userRef } = await created();
    const saves = [2, 3, 4].map(pepper => store.users.save(user, { password: { ...password, pepper: `v${pepper}` } }));
    const saved = (await Promise.all(saves)).filter(each => each !== undefined);
    expect(saved).toHaveLength(1);
    expect(await store.users.find(userRef)).toEqual(saved[0]);
    expect(await store.users.save(user, {})).toBeUndefined();
  });
});

describe("a list", () => {
  test("by attributes that hundreds have each, and few both", async () => {
    const own = await openAuthStorage();
    const both = await own.store.users.create({ username: username("both") });
    const [odd, even] = [new Map([["odd", "1"]]), new Map([["even", "1"]])];
    for (const key of ["odd", "even"]) await own.store.attributes.set({ user: named("both") }, key, "1");
    const index = own.tables.table("index");
    for (const [key, first] of [
      ["odd", 1],
      ["even", 2],
    ] as const) {
      for (let batch = 0; batch < 12; batch++) {
        const rows = Array.from({ length: 100 }, (_, n) => ({
          insert: { rowKey: idKey(first + 2 * (batch * 100 + n)), schema: 1 },
        }));
        await index.transact(attributePartition(key, "1"), rows);
      }
    }
    // One just behind the first page of either.
    const behind = { id: 2001, name: "behind", epoch: 1, enabled: true, otpkeys: [], createdAt: own.now() };
    const inserts = userParts(behind, { odd: "1", even: "1" }).map(row => ({ insert: row }));
    await own.tables.table("users").transact(idKey(2001), inserts);
    for (const key of ["odd", "even"])
      await index.upsert({ partitionKey: attributePartition(key, "1"), rowKey: idKey(2001), schema: 1 });
    const filter = { attributes: new Map([...odd, ...even]) };
    const { result, calls } = await own.counted(() => own.store.users.list({ top: 10 }, filter));
    expect(result.entries).toEqual([
      { id: 2001, name: "behind" },
      { id: both?.value.id, name: "both" },
    ]);
    // Two pages of each index, and one read of each candidate: the matches, and one at a page's end who may be in the
    // other's next page.
    expect(calls.total).toBe(7);
  });

  test("continues after the users that a page examines, also if its matches just fit", async () => {
    const own = await openAuthStorage();
    await addUsers(own, { count: 999, attributes: {}, prefix: "ubhe0078" });
    for (const id of [1000, 1001]) {
      const disabled = { id, name: `disabled${id}`, epoch: 1, enabled: false, otpkeys: [], createdAt: own.now() };
      const inserts = userParts(disabled, {}).map(row => ({ insert: row }));
      await own.tables.table("users").transact(idKey(id), inserts);
    }
    const filter = { attributes: new Map<string, string>(), enabled: false };
    const first = await own.store.users.list({ top: 1 }, filter);
    expect(first).toEqual({ entries: [{ id: 1000, name: "disabled1000" }], next: "1000" });
    expect(await own.store.users.list({ top: 1, after: "1000" }, filter)).toEqual({
      entries: [{ id: 1001, name: "disabled1001" }],
    });
  });
});

describe("a user's attributes", () => {
  test("keep to their limits, also if several callers write at once", async () => {
    const { userRef } = await created();
    const owner = { user: userRef };
    const value = "x".repeat(attributeLimits.valueSize - 10);
    const sets = Array.from({ length: 12 }, (_, n) => (n % 2 ? store : another).attributes.set(owner, `k${n}`, value));
    const done = (await Promise.all(sets)).filter(result => result?.ok);
    expect(done).toHaveLength(8);
    expect(Object.keys((await store.attributes.all(owner)) ?? {})).toHaveLength(8);
    for (const key of Object.keys((await store.attributes.all(owner)) ?? {})) await store.attributes.remove(owner, key);
    expect(await store.attributes.set(owner, "last", "x")).toEqual({ ok: true, value: { last: "x" } });
  });
});
