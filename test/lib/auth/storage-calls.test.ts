import { describe, expect, test } from "vitest";
import { identified, named, openAuthStorage, plainKey, username } from "../../support/auth/store.ts";
import { addUsers } from "../../support/auth/store-crowd.ts";

const { store, counted } = await openAuthStorage();
const user = await store.users.create({ username: username("Ford Prefect") });
const by = { name: named("ford prefect"), id: identified(user?.value.id ?? 0) };
for (const prefix of ["ubhe0001", "ubhe0002"]) {
  await store.otpkeys.create(plainKey(prefix));
  await store.otpkeys.assign(by.name, prefix);
}
await store.attributes.set({ user: by.name }, "planet", "betelgeuse five");

const callsOf = async (work: () => Promise<unknown>) => (await counted(work)).calls;
const depthOf = async (work: () => Promise<unknown>) => (await callsOf(work)).depth;

const found = async <T>(value: Promise<T | undefined>): Promise<T> => {
  const result = await value;
  if (result === undefined) throw new Error("not found");
  return result;
};

const ways = [
  ["id", 0],
  ["name", 1],
] as const;

describe("storage calls one after another, without contention", () => {
  test("a user by id 1, by name 2", async () => {
    for (const read of [store.users.find, store.users.view]) {
      expect(await callsOf(() => read(by.id))).toEqual({ total: 1, depth: 1 });
      expect(await callsOf(() => read(by.name))).toEqual({ total: 2, depth: 2 });
    }
  });

  test("create a user 4; 409 2, which writes nothing", async () => {
    const create = () => store.users.create({ username: username("Zaphod") });
    // The name; the notices; name and index row; the user.
    expect(await callsOf(create)).toEqual({ total: 5, depth: 4 });
    const again = await counted(create);
    expect(again.result).toBeUndefined();
    expect(again.calls).toEqual({ total: 2, depth: 2 });
  });

  test("create a user with attributes and OTP keys 5", async () => {
    const attributes = { planet: "betelgeuse five", mood: "good" };
    const otpkeys = ["ubhe0001", "ubhe0002"];
    // The name and the OTP keys; the notices; name and index rows; the rows of the holders; the user.
    expect(await callsOf(() => store.users.create({ username: username("Eddie"), attributes, otpkeys }))).toEqual({
      total: 11,
      depth: 5,
    });
  });

  test.each(ways)("rename a user by %s 5, and %i more; another spelling 2 less three", async (way, more) => {
    const { value } = await found(store.users.create({ username: username(`Trillian ${way}`) }));
    const userRef = way === "id" ? identified(value.id) : named(value.name);
    expect(await depthOf(() => store.users.rename(userRef, username(`Tricia ${way}`)))).toBe(5 + more);
    const self = way === "id" ? userRef : named(`Tricia ${way}`);
    expect(await depthOf(() => store.users.rename(self, username(`TRICIA ${way}`)))).toBe(2 + more);
  });

  test.each(ways)("delete a user by %s 5, and %i more", async (way, more) => {
    const { value } = await found(store.users.create({ username: username(`Marvin ${way}`) }));
    const userRef = way === "id" ? identified(value.id) : named(value.name);
    await store.otpkeys.assign(userRef, "ubhe0001");
    await store.attributes.set({ user: userRef }, "mood", "bad");
    // The rows and the notice; the commit; the name and the index rows; the name row; the rows.
    expect(await depthOf(() => store.users.remove(userRef))).toBe(5 + more);
  });

  test.each(ways)("a user's attribute by %s: set 4 to 5, read 1, unchanged 1; %i more", async (way, more) => {
    const owner = { user: by[way] };
    const set = (value: string) => depthOf(() => store.attributes.set(owner, "towel", value));
    expect(await set("blue")).toBe(4 + more);
    expect(await set("green")).toBe(5 + more);
    expect(await set("green")).toBe(1 + more);
    expect(await depthOf(() => store.attributes.remove(owner, "towel"))).toBe(5 + more);
    expect(await depthOf(() => store.attributes.remove(owner, "towel"))).toBe(1 + more);
    expect(await callsOf(() => store.attributes.all(owner))).toEqual({ total: 1 + more, depth: 1 + more });
  });

  test.each([
    ["itself", undefined, 2],
    ["its user's id", "id", 2],
    ["its user's name", "name", 3],
  ] as const)("a key's attribute through %s: set and deleted by %3$d", async (_, way, depth) => {
    const owner = way === undefined ? { prefix: "ubhe0001" } : { user: by[way], prefix: "ubhe0001" };
    expect(await depthOf(() => store.attributes.set(owner, "colour", "black"))).toBe(depth);
    expect(await depthOf(() => store.attributes.set(owner, "colour", "white"))).toBe(depth);
    expect(await depthOf(() => store.attributes.remove(owner, "colour"))).toBe(depth);
    expect(await depthOf(() => store.attributes.all(owner))).toBe(depth - 1);
  });

  test("create a key 1; a taken prefix 2, which returns the key that has it", async () => {
    const create = () => store.otpkeys.create(plainKey("single"));
    const { result, calls } = await counted(create);
    expect([result?.isNew, calls]).toEqual([true, { total: 1, depth: 1 }]);
    const again = await counted(create);
    expect(again.result).toEqual({ ...result, isNew: false });
    expect(again.calls).toEqual({ total: 2, depth: 2 });
  });

  test("a key 1, also through its user's id; enabled by 2; deleted with one holder by 6", async () => {
    expect(await depthOf(() => store.otpkeys.find("ubhe0001"))).toBe(1);
    expect(await depthOf(() => store.otpkeys.view("ubhe0001", by.id))).toBe(1);
    await store.otpkeys.create(plainKey("ubhe0003"));
    await store.otpkeys.assign(by.id, "ubhe0003");
    const save = async () => {
      const key = await found(store.otpkeys.find("ubhe0003"));
      await store.otpkeys.save(key, { ...key.value, enabled: false });
    };
    expect(await callsOf(save)).toEqual({ total: 2, depth: 2 });
    // The rows; the notice; the holder; the holder without the key; the index row; the key.
    expect(await callsOf(() => store.otpkeys.remove("ubhe0003"))).toEqual({ total: 6, depth: 6 });
  });

  test.each(ways)("a key is assigned by %s by 3, unassigned by 3; %i more", async (way, more) => {
    await store.otpkeys.create(plainKey(`ubhe09${way}`));
    expect(await depthOf(() => store.otpkeys.assign(by[way], `ubhe09${way}`))).toBe(3 + more);
    expect(await depthOf(() => store.otpkeys.unassign(by[way], `ubhe09${way}`))).toBe(3 + more);
  });
});

describe("a filtered list costs in proportion to its matches", () => {
  const filters = {
    "by attribute": { attributes: new Map([["badge", "77"]]) },
    "by two attributes, one of which every user has": {
      attributes: new Map([
        ["badge", "77"],
        ["guild", "all"],
      ]),
    },
    "by key": { attributes: new Map<string, string>(), otpkey: "ubhe0077" },
    "by key and an attribute that every user has": { attributes: new Map([["guild", "all"]]), otpkey: "ubhe0077" },
    "by a value that no user has": { attributes: new Map([["badge", "none"]]) },
  };

  test.each([3, 1100])("beside %d other users", async others => {
    const crowd = await openAuthStorage();
    await addUsers(crowd, { count: others, attributes: { guild: "all" }, prefix: "ubhe0078" });
    const match = await found(crowd.store.users.create({ username: username("Marvin") }));
    const user = identified(match.value.id);
    await crowd.store.attributes.set({ user }, "badge", "77");
    await crowd.store.attributes.set({ user }, "guild", "all");
    await crowd.store.otpkeys.create(plainKey("ubhe0077"));
    await crowd.store.otpkeys.assign(user, "ubhe0077");
    const cost: Record<string, unknown> = {};
    for (const [name, filter] of Object.entries(filters)) {
      const { result, calls } = await crowd.counted(() => crowd.store.users.list({ top: 1000 }, filter));
      cost[name] = calls;
      const isMatched = name !== "by a value that no user has";
      expect(result, name).toEqual({ entries: isMatched ? [{ id: match.value.id, name: "Marvin" }] : [] });
    }
    expect(cost).toEqual({
      "by attribute": { total: 2, depth: 2 },
      "by two attributes, one of which every user has": { total: 3, depth: 2 },
      "by key": { total: 2, depth: 2 },
      "by key and an attribute that every user has": { total: 3, depth: 2 },
      "by a value that no user has": { total: 1, depth: 1 },
    });
    const few = await crowd.counted(() => crowd.store.users.list({ top: 20 }, { beginning: "CROWD2" }));
    // A page of names, and the rows of each user that it has.
    expect(few.calls.total).toBe(1 + Math.min(21, others === 3 ? 1 : 111));
    const rest = await crowd.counted(() => crowd.store.users.list({ top: 20 }, { beginning: "marv" }));
    expect(rest).toEqual({
      result: { entries: [{ id: match.value.id, name: "Marvin" }] },
      calls: { total: 2, depth: 2 },
    });
    const unfiltered = await crowd.counted(() => crowd.store.users.list({ top: 5000 }));
    expect(unfiltered.result.entries).toHaveLength(others + 1);
    expect(unfiltered.calls.total).toBe(Math.ceil((others + 1) / 1000));
    const unusedSince = crowd.now();
    const unused = await crowd.counted(() =>
      crowd.store.users.list({ top: 1000 }, { attributes: new Map(), unusedSince }),
    );
    // 500 users a call, and no more than 1,000.
    expect(unused.calls.total).toBe(Math.min(2, Math.ceil((others + 1) / 500)));
  });
});
