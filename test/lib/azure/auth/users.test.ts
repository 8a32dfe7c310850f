import { describe, expect, test } from "vitest";
import { attributeLimits } from "../../../../lib/auth/model/attributes.ts";
import { hashUsername } from "../../../../lib/auth/user-hash.ts";
import { attributeUsersKey, idKey } from "../../../../lib/azure/auth/rows/rows.ts";
import { days, hours, minutes, seconds } from "../../../../lib/time.ts";
import { identified, named, openAuthStorage, plainKey, username } from "../../../support/auth/store.ts";
import { addAttributes } from "../../../support/auth/store-crowd.ts";
import { withTable } from "../../../support/connector/crashing.ts";

let count = 0;

const storage = await openAuthStorage();
const store = storage.store;
const another = storage.another();

const fresh = () => `user${count++}`;
const password = { hash: "$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$dGFn", pepper: "v1" };

async function created(name = fresh()) {
  const user = await store.users.create({ username: username(name), password });
  if (user === undefined) throw new Error(`${name} is taken`);
  return { user, userRef: named(name), id: user.value.id };
}

describe("a rename", () => {
  test("takes along attributes of more than one transaction, last sign-in and password, and counts them on", async () => {
    const { user, id, userRef } = await created();
    const { userHash } = user.value;
    const keys = Array.from({ length: attributeLimits.count - 1 }, (_, n) => `many${n}`);
    const attributes = Object.fromEntries(keys.map(key => [key, key]));
    await addAttributes(storage.tables, { id, userHash }, attributes);
    const at = storage.now();
    await store.users.recordLogin({ by: "userHash", userHash, id }, at);
    const name = fresh();
    const renamed = await store.users.rename(userRef, username(name));
    expect(renamed).toMatchObject({ ...user.value, name, userHash: hashUsername(name), epoch: 2 });
    expect(await store.users.view(named(name))).toEqual({
      id,
      name,
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
    expect(await store.users.view(next.userRef)).toEqual({ id: next.id, name: second, attributes: {}, otpkeys: [] });
    expect((await store.users.find(identified(id)))?.value).toMatchObject({ name: first, epoch: 5 });
  });
});

describe("the new name of a user", () => {
  test("keeps nothing of a former owner", async () => {
    const { userRef, id } = await created();
    const name = fresh();
    const userHash = hashUsername(name);
    const left = { schema: 1, id: 999 };
    await storage.tables
      .table("users")
      .transact(userHash, [
        { insert: { rowKey: "attributes", ...left, count: 1, size: 2 } },
        { insert: { rowKey: "attr:a", ...left, value: "b" } },
      ]);
    expect(await store.users.rename(userRef, username(name))).toMatchObject({ id, name });
    const rows = await storage.rows("users", userHash);
    expect(rows.filter(row => row.id === left.id)).toEqual([]);
  });

  test("keeps nothing of an earlier attempt that the user has no longer", async () => {
    const { userRef, id } = await created();
    const name = fresh();
    const left = { schema: 1, id };
    await storage.tables
      .table("users")
      .transact(hashUsername(name), [
        { insert: { rowKey: "attributes", ...left, count: 1, size: 10 } },
        { insert: { rowKey: "attr:deleted", ...left, value: "since" } },
      ]);
    await store.users.rename(userRef, username(name));
    expect(await store.users.view(named(name))).toEqual({ id, name, attributes: {}, otpkeys: [] });
  });

  test("is free again, without a row, if the user is deleted during the rename", async () => {
    const own = await openAuthStorage();
    await own.store.users.create({ username: username("leaving"), password });
    const interrupted = withTable("users", table => ({
      transact: async (partitionKey, actions) => {
        const written = await table.transact(partitionKey, actions);
        if (actions.some(action => "insert" in action && "from" in action.insert))
          await own.store.users.remove(named("leaving"));
        return written;
      },
    }));
    expect(await own.on(interrupted(own.tables)).users.rename(named("leaving"), username("next"))).toBe("no_user");
    expect(await own.rows("users", hashUsername("next"))).toEqual([]);
  });
});

describe("the former name of a user", () => {
  test("is deleted a day after the rename, also if the rename was committed in the hour after its claim", async () => {
    const own = await openAuthStorage();
    const former = await own.store.users.create({ username: username("former"), password });
    own.pass(minutes(30) - seconds(3));
    const slow = withTable("users", table => ({
      transact: async (partitionKey, actions) => {
        const written = await table.transact(partitionKey, actions);
        if (actions.some(action => "insert" in action && "from" in action.insert)) own.pass(seconds(5));
        return written;
      },
    }));
    await own.on(slow(own.tables)).users.rename(named("former"), username("next"));
    own.pass(days(1) - seconds(2));
    expect((await own.store.cleanUp()).renames).toBe(0);
    expect(await own.rows("users", former?.value.userHash ?? "")).toHaveLength(1);
    own.pass(hours(1) + seconds(5));
    expect((await own.store.cleanUp()).renames).toBe(1);
    expect(await own.rows("users", former?.value.userHash ?? "")).toEqual([]);
    expect(await own.store.users.find(named("next"))).toMatchObject({ value: { name: "next" } });
  });
});

describe("a user", () => {
  test("is found by name and by id as created", async () => {
    const { user, id } = await created("Trillian Astra");
    expect(user.value).toMatchObject({ name: "Trillian Astra", password, epoch: 1 });
    for (const userRef of [
      named("TRILLIAN astra"),
      identified(id),
      { by: "userHash", userHash: user.value.userHash, id } as const,
    ]) {
      expect(await store.users.find(userRef)).toEqual(user);
      expect(await store.users.view(userRef)).toEqual({ id, name: "Trillian Astra", attributes: {}, otpkeys: [] });
      expect((await store.users.signInState(userRef))?.user).toEqual(user);
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
    const unknownRefs = [named("nobody"), identified(1), { by: "userHash", userHash: "x", id: 1 } as const];
    for (const userRef of unknownRefs) {
      expect(await store.users.find(userRef)).toBeUndefined();
      expect(await store.users.view(userRef)).toBeUndefined();
      expect(await store.users.remove(userRef)).toBe(false);
    }
    expect(await store.users.signInState(identified(1))).toBeUndefined();
    expect((await store.users.signInState(named("nobody")))?.user).toBeUndefined();
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

  test("gets an unused id, although clock and random source return a former one again", async () => {
    const own = await openAuthStorage();
    const frozen = own.fixed();
    const first = await frozen.users.create({ username: username(fresh()) });
    await frozen.users.remove(identified(first?.value.id ?? 0));
    const ids = new Set([first?.value.id]);
    for (let n = 0; n < 3; n++) ids.add((await frozen.users.create({ username: username(fresh()) }))?.value.id);
    expect(ids.size).toBe(4);
    expect(await own.rows("ids", "users")).toHaveLength(3);
  });

  test("is changed by version: of several changes one wins, and one of an older version none", async () => {
    const { user, userRef } = await created();
    const saves = [2, 3, 4].map(epoch => store.users.save(user, { epoch, password }));
    const saved = (await Promise.all(saves)).filter(each => each !== undefined);
    expect(saved).toHaveLength(1);
    expect(await store.users.find(userRef)).toEqual(saved[0]);
    expect(await store.users.save(user, { epoch: 9 })).toBeUndefined();
  });

  test("loses the password that is left out", async () => {
    const { user, userRef } = await created();
    const saved = await store.users.save(user, { epoch: 2 });
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
    expect(await store.users.save(user, { epoch: 2 })).toBeUndefined();
    expect(await store.users.list({ top: 10 }, { attributes: new Map([["gone", "yes"]]) })).toEqual({ entries: [] });
    expect(await store.otpkeys.findHolders(prefix)).toMatchObject({ candidates: [] });
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
    const index = own.tables.table("attributeusers");
    for (const [key, first] of [
      ["odd", 1],
      ["even", 2],
    ] as const) {
      for (let batch = 0; batch < 12; batch++) {
        const rows = Array.from({ length: 100 }, (_, n) => ({
          insert: { rowKey: idKey(first + 2 * (batch * 100 + n)), schema: 1, userHash: "x", writtenAt: own.now() },
        }));
        await index.transact(attributeUsersKey(key, "1"), rows);
      }
    }
    // One just behind the first page of either.
    const userHash = hashUsername("behind");
    const rows = [
      { rowKey: "user", name: "behind", epoch: 1, createdAt: own.now() },
      { rowKey: "attr:odd", value: "1" },
      { rowKey: "attr:even", value: "1" },
    ];
    const inserts = rows.map(row => ({ insert: { schema: 1, id: 2001, ...row } }));
    await own.tables.table("users").transact(userHash, inserts);
    for (const key of ["odd", "even"]) {
      const place = { partitionKey: attributeUsersKey(key, "1"), rowKey: idKey(2001) };
      await index.upsert({ ...place, schema: 1, userHash, writtenAt: own.now() });
    }
    const filter = { attributes: new Map([...odd, ...even]) };
    const { result, calls } = await own.counted(() => own.store.users.list({ top: 10 }, filter));
    expect(result.entries).toEqual([
      { id: 2001, name: "behind" },
      { id: both?.value.id, name: "both" },
    ]);
    // Two pages of each index; one read of a user at a page's end who may be in the other's next page, and two of each
    // match; and the pointer of a user of an index row who is not there: the user may have been renamed.
    expect(calls.total).toBe(10);
  });
});

describe("a user's attributes", () => {
  const values = ["", " ", "é".normalize("NFD"), "\u0000\n\t", "𝒳🔑", "x".repeat(32_768), "[1]", "'"];

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
    expect(await store.attributes.set(owner, "last", "x")).toEqual({ ok: true, value: { count: 1, size: 5 } });
  });
});
