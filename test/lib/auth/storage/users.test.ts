import { describe, expect, test } from "vitest";
import { attributeLimits } from "../../../../lib/auth/attributes/attributes.ts";
import { attributePartition } from "../../../../lib/auth/storage/hints.table.ts";
import { idKey } from "../../../../lib/auth/storage/tables.table.ts";
import { userParts } from "../../../../lib/auth/users/user-rows.table.ts";
import { seconds } from "../../../../lib/platform/time.ts";
import { identified, named, openAuthStorage, plainKey, username } from "../../../support/auth/store.ts";
import { addAttributes } from "../../../support/auth/store-crowd.ts";

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

describe("a rename", () => {
  test("keeps attributes, last sign-in and password", async () => {
    const { user, id, userRef } = await created();
    const keys = Array.from({ length: attributeLimits.count - 1 }, (_, n) => `many${n}`);
    const attributes = Object.fromEntries(keys.map(key => [key, key]));
    await addAttributes(storage.tables, id, attributes);
    const at = storage.now();
    await store.users.recordLogin(id, at);
    const name = fresh();
    const renamed = await store.users.rename(userRef, username(name));
    expect(renamed).toEqual({ ...user.value, name, epoch: expect.any(Number) });
    expect((renamed as { epoch: number }).epoch).not.toBe(user.value.epoch);
    expect(await store.users.view(named(name))).toEqual({
      id,
      name,
      enabled: true,
      attributes,
      otpkeys: [],
      lastLogin: at,
    });
    expect(await store.users.find(userRef)).toBeUndefined();
    expect(await store.attributes.set({ user: named(name) }, "last", "x")).toMatchObject({ ok: true });
    expect(await store.attributes.set({ user: named(name) }, "more", "x")).toMatchObject({ ok: false });
  });

  test("of a name that another user has changes nothing", async () => {
    const [one, other] = [await created(), await created()];
    expect(await store.users.rename(one.userRef, username(other.user.value.name))).toBe("taken");
    expect(await store.users.find(one.userRef)).toEqual(one.user);
    expect(await store.users.find(other.userRef)).toEqual(other.user);
    expect(await store.users.rename(identified(1), username(fresh()))).toBe("no_user");
  });

  test("there and back, and on to a name that was left, keeps the user", async () => {
    const { id, userRef, user } = await created();
    const { name: first } = user.value;
    const second = fresh();
    await store.attributes.set({ user: userRef }, "planet", "earth");
    for (const name of [second, first, second, first]) {
      expect(await store.users.rename(identified(id), username(name))).toMatchObject({ id, name });
      expect(await store.users.view(named(name))).toMatchObject({ id, attributes: { planet: "earth" } });
      expect(await store.users.find(named(name === first ? second : first))).toBeUndefined();
    }
    const next = await created(second);
    expect(await store.users.view(next.userRef)).toEqual({
      id: next.id,
      name: second,
      enabled: true,
      attributes: {},
      otpkeys: [],
    });
    expect((await store.users.find(identified(id)))?.value).toMatchObject({ name: first });
  });
});

describe("a user", () => {
  test("is found by name and by id as created", async () => {
    const { user, id } = await created("Trillian Astra");
    expect(user.value).toMatchObject({ name: "Trillian Astra", password, otpkeys: [] });
    for (const userRef of [named("TRILLIAN astra"), identified(id)]) {
      expect(await store.users.find(userRef)).toEqual(user);
      expect(await store.users.view(userRef)).toEqual({
        id,
        name: "Trillian Astra",
        enabled: true,
        attributes: {},
        otpkeys: [],
      });
    }
  });

  test.each([
    "it's",
    "100%",
    "a+b",
    "a&b=c",
    "𝒳🔑",
    "é",
    "x'y\"z",
    "{a}",
    "__proto__",
    "a'b or RowKey gt '",
    " a\u00a0b",
  ])("is found by the name %j", async name => {
    const { user, userRef } = await created(name);
    expect(await another.users.find(userRef)).toEqual(user);
    expect((await store.users.list({ top: 1000 })).entries).toContainEqual({ id: user.value.id, name });
  });

  test("is not found under an unknown name or id", async () => {
    const unknownRefs = [named("nobody"), identified(1)];
    for (const userRef of unknownRefs) {
      expect(await store.users.find(userRef)).toBeUndefined();
      expect(await store.users.view(userRef)).toBeUndefined();
      expect(await store.users.remove(userRef)).toBe(false);
    }
  });

  test("has an id from 1 to 2^53, in the order of creation", async () => {
    const ids: number[] = [];
    for (let n = 0; n < 3; n++) {
      ids.push((await created()).id);
      storage.pass(seconds(2));
    }
    for (const id of ids) expect(Number.isSafeInteger(id) && id > 0).toBe(true);
    expect(ids).toEqual([...ids].sort((one, other) => one - other));
  });

  test("is one: of 50 simultaneous creations over two hosts one wins, and ids never repeat", async () => {
    const names = Array.from({ length: 50 }, (_, n) => (n % 2 === 0 ? "Slartibartfast" : "slartiBARTfast"));
    const results = await Promise.all(
      names.map((name, n) => (n % 2 ? store : another).users.create({ username: username(name) })),
    );
    const winners = results.filter(user => user !== undefined);
    expect(winners).toHaveLength(1);
    expect(await store.users.find(named("slartibartfast"))).toEqual(winners[0]);
    const listed = (await store.users.list({ top: 1000 })).entries;
    expect(listed.filter(({ name }) => /slarti/i.test(name))).toHaveLength(1);

    const others = await Promise.all(
      names.map((_, n) => (n % 2 ? store : another).users.create({ username: username(`fjord${n}`) })),
    );
    expect(new Set(others.map(user => user?.value.id)).size).toBe(50);
  });

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

  test("loses the password that is left out", async () => {
    const { user, userRef } = await created();
    const saved = await store.users.save(user, {});
    expect(saved?.value).not.toHaveProperty("password");
    expect(await store.users.find(userRef)).toEqual(saved);
  });

  test("that is deleted is gone at once, with attributes and assignments; keys stay", async () => {
    const { user, userRef, id } = await created();
    const prefix = `p${count++}`;
    await store.otpkeys.create(plainKey(prefix));
    await store.otpkeys.assign(userRef, prefix);
    await store.attributes.set({ user: userRef }, "gone", "yes");
    expect(await store.users.remove(identified(id))).toBe(true);
    expect(await store.users.find(userRef)).toBeUndefined();
    expect(await store.users.save(user, {})).toBeUndefined();
    expect(await store.users.list({ top: 10 }, { attributes: new Map([["gone", "yes"]]) })).toEqual({ entries: [] });
    expect(await store.otpkeys.findHolders(prefix)).toMatchObject({ userIds: [] });
    expect(await store.users.remove(userRef)).toBe(false);
  });
});

describe("a list", () => {
  test("is paged in the order of ids; the last page says so", async () => {
    const own = await openAuthStorage();
    for (let n = 0; n < 5; n++) {
      await own.store.users.create({ username: username(`page${n}`) });
      own.pass(seconds(2));
    }
    const filter = { attributes: new Map([["all", "yes"]]) };
    for (let n = 0; n < 5; n++) await own.store.attributes.set({ user: named(`page${n}`) }, "all", "yes");
    for (const wanted of [undefined, filter]) {
      const names: string[] = [];
      const sizes: number[] = [];
      let after: number | undefined;
      do {
        const page = await own.store.users.list({ top: 2, ...(after === undefined ? {} : { after }) }, wanted);
        names.push(...page.entries.map(({ name }) => name));
        sizes.push(page.entries.length);
        after = page.next;
      } while (after !== undefined);
      expect(names).toEqual([0, 1, 2, 3, 4].map(n => `page${n}`));
      expect(sizes).toEqual([2, 2, 1]);
      expect(await own.store.users.list({ top: 5 }, wanted)).not.toHaveProperty("next");
    }
  });

  test("by attributes and key finds those of userRef all are true", async () => {
    const [one, two, three] = [await created(), await created(), await created()];
    await store.otpkeys.create(plainKey("filterkey"));
    for (const { userRef } of [one, two]) await store.otpkeys.assign(userRef, "filterkey");
    for (const { userRef } of [two, three]) await store.attributes.set({ user: userRef }, "ship", "Heart of Gold");
    await store.attributes.set({ user: two.userRef }, "seat", "2");
    const ids = async (attributes: Record<string, string>, otpkey?: string) => {
      const filter = { attributes: new Map(Object.entries(attributes)), ...(otpkey && { otpkey }) };
      return (await store.users.list({ top: 1000 }, filter)).entries.map(({ id }) => id);
    };
    expect(await ids({ ship: "Heart of Gold" })).toEqual([two.id, three.id]);
    expect(await ids({ ship: "heart of gold" })).toEqual([]);
    expect(await ids({}, "filterkey")).toEqual([one.id, two.id]);
    expect(await ids({ ship: "Heart of Gold" }, "filterkey")).toEqual([two.id]);
    expect(await ids({ ship: "Heart of Gold", seat: "2" })).toEqual([two.id]);
    expect(await ids({ ship: "Heart of Gold", seat: "3" })).toEqual([]);
    expect(await ids({ "no such/key": "x" })).toEqual([]);
    expect(await ids({}, "nosuchkey")).toEqual([]);
  });

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
});

describe("a user's attributes", () => {
  const values = ["", " ", "é".normalize("NFD"), "\u0000\n\t", "𝒳🔑", "x".repeat(32_767), "🔑🔑", "[1]", "'"];

  test("come back as they were set", async () => {
    const { userRef } = await created();
    const owner = { user: userRef };
    for (const [n, value] of values.entries()) {
      expect(await store.attributes.set(owner, `key-${n}.@:_`, value)).toMatchObject({ ok: true });
      expect(await store.attributes.get(owner, `key-${n}.@:_`)).toBe(value);
      const found = await store.users.list({ top: 10 }, { attributes: new Map([[`key-${n}.@:_`, value]]) });
      expect(found.entries).toHaveLength(1);
    }
    const all = Object.fromEntries(values.map((value, n) => [`key-${n}.@:_`, value]));
    expect(await store.attributes.all(owner)).toEqual(all);
    expect((await store.users.view(userRef))?.attributes).toEqual(all);
  });

  test.each(["__proto__", "constructor", "toString", "length"])("may be called %s", async key => {
    const { userRef } = await created();
    expect(await store.attributes.get({ user: userRef }, key)).toBeNull();
    await store.attributes.set({ user: userRef }, key, "x");
    expect(await store.attributes.get({ user: userRef }, key)).toBe("x");
    expect(JSON.stringify(await store.attributes.all({ user: userRef }))).toBe(`{"${key}":"x"}`);
    expect(await store.attributes.remove({ user: userRef }, key)).toBe(true);
    expect(JSON.stringify(await store.attributes.all({ user: userRef }))).toBe("{}");
  });

  test("do not exist for an unknown user; deleting an absent one succeeds", async () => {
    const owner = { user: named("nobody") };
    expect(await store.attributes.all(owner)).toBeUndefined();
    expect(await store.attributes.get(owner, "a")).toBeUndefined();
    expect(await store.attributes.set(owner, "a", "b")).toBeUndefined();
    expect(await store.attributes.remove(owner, "a")).toBe(false);
    expect(await store.attributes.remove({ user: (await created()).userRef }, "a")).toBe(true);
  });

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
