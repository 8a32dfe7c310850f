import { describe, expect, test } from "vitest";
import type { Session, SessionKey } from "../../../../lib/auth/model/session.ts";
import { noFailures } from "../../../../lib/auth/model/throttle.ts";
import type { AuthStore, SignInState } from "../../../../lib/auth/store.ts";
import { hours, plus } from "../../../../lib/time.ts";
import { identified, named, openAuthStorage, plainKey, username } from "../../../support/auth/store.ts";
import { addUsers } from "../../../support/auth/store-crowd.ts";

const storage = await openAuthStorage();
const { store, counted } = storage;
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

/** The calls of a sign-in, as far as storage sees them: reserve, check, answer. */
async function signIn(state: SignInState, otpkey?: string, withSession = true) {
  const { user, throttle, otpkeys } = state;
  const now = storage.now();
  const ends = plus(now, hours(1));
  const reserved = { failures: 0, reservations: [{ id: "mine", at: now }] };
  const [place] = await Promise.all([
    found(store.throttles.save(throttle, reserved, ends)),
    ...otpkeys.map(({ prefix }) => store.otpkeys.find(prefix)),
  ]);
  if (otpkey !== undefined) {
    const key = await found(Promise.resolve(keysRead.get(otpkey)));
    const form = { state: { counter: key.value.form.state.counter + 1 } };
    keysRead.set(otpkey, await found(store.otpkeys.save(key, { ...key.value, form })));
  }
  const { key, session } = sessionOf(user?.value.id ?? 0, throttle.userHash);
  await Promise.all([
    store.throttles.save(place, noFailures),
    ...(withSession ? [store.sessions.create(key, session)] : []),
  ]);
  return { key, session };
}

const keysRead = new Map<string, Awaited<ReturnType<AuthStore["otpkeys"]["create"]>>>();
const readKey = async (prefix: string) => keysRead.set(prefix, await store.otpkeys.find(prefix));

let sessions = 0;
function sessionOf(userId: number, userHash: string): { key: SessionKey; session: Session } {
  const createdAt = storage.now();
  const expiresAt = plus(createdAt, hours(24));
  const hash = String(sessions++).padStart(43, "h");
  return {
    key: { userHash, hour: expiresAt.slice(0, 13), hash },
    session: { userId, epoch: 1, createdAt, accessedAt: createdAt, expiresAt },
  };
}

describe("storage calls one after another, without contention", () => {
  test("a user by name 1, by id 2", async () => {
    for (const read of [store.users.find, store.users.view, store.users.signInState]) {
      expect(await callsOf(() => read(by.name))).toEqual({ total: 1, depth: 1 });
      expect(await callsOf(() => read(by.id))).toEqual({ total: 2, depth: 2 });
    }
  });

  test("create user 3, and 409 no more", async () => {
    const create = () => store.users.create({ username: username("Zaphod") });
    // The partition, pointer, two list rows; the user; both list rows marked clean.
    expect(await callsOf(create)).toEqual({ total: 7, depth: 3 });
    const again = await counted(create);
    expect(again.result).toBeUndefined();
    expect(again.calls.depth).toBe(2);
  });

  test("status 1, with user and session side by side; plus 1 write a minute", async () => {
    const state = await found(store.users.signInState(by.name));
    const { key } = await signIn(state);
    expect(await callsOf(() => store.sessions.find(key))).toEqual({ total: 2, depth: 1 });
    const { session } = await store.sessions.find(key);
    const touched = session && (await callsOf(() => store.sessions.save(key, session, session.value)));
    expect(touched).toEqual({ total: 1, depth: 1 });
    expect(await callsOf(() => store.sessions.end(key))).toEqual({ total: 1, depth: 1 });
  });

  test.each(["before anything counts", "when something counted"])("login by password 3, %s", async () => {
    expect(await depthOf(async () => signIn(await found(store.users.signInState(by.name))))).toBe(3);
  });

  test("authenticate by password 3", async () => {
    const work = async () => signIn(await found(store.users.signInState(by.name)), undefined, false);
    expect(await depthOf(work)).toBe(3);
  });

  test("a login with an unknown name makes no more calls, and as many before the response", async () => {
    const ghost = (name: string) =>
      callsOf(async () => signIn(await found(store.users.signInState(named(name))), undefined, false));
    expect((await ghost("nobody")).depth).toBe(3);
  });

  test("login with OTP 4", async () => {
    const depth = await depthOf(async () => {
      const [state] = await Promise.all([found(store.users.signInState(by.name)), readKey("ubhe0001")]);
      return signIn(state, "ubhe0001");
    });
    expect(depth).toBe(4);
  });

  test("login identified by OTP 5", async () => {
    const depth = await depthOf(async () => {
      const { key, candidates } = await found(store.otpkeys.findHolders("ubhe0002"));
      keysRead.set("ubhe0002", key);
      const [state] = await Promise.all(candidates.map(pointer => found(store.users.signInState(pointer))));
      if (state === undefined) throw new Error("no user has the key");
      return signIn(state, "ubhe0002");
    });
    expect(depth).toBe(5);
  });

  test.each([
    ["name", 2],
    ["id", 3],
  ] as const)("validate by %s %d", async (way, depth) => {
    const work = async () => {
      await Promise.all([store.users.signInState(by[way]), readKey("ubhe0001")]);
      const key = await found(Promise.resolve(keysRead.get("ubhe0001")));
      return store.otpkeys.save(key, key.value);
    };
    expect(await depthOf(work)).toBe(depth);
  });

  test("an OTP that validation servers check is spent by 1", async () => {
    const spend = () => store.otpkeys.spendOtp("ubhe0001", "h".repeat(43), storage.now());
    expect(await callsOf(spend)).toEqual({ total: 2, depth: 1 });
  });

  test.each([
    ["name", 4],
    ["id", 5],
  ] as const)("a user's attribute by %s: set and deleted by %d", async (way, depth) => {
    const owner = { user: by[way] };
    const set = (value: string) => depthOf(() => store.attributes.set(owner, "towel", value));
    expect(await set("blue")).toBe(depth - 1);
    expect(await set("green")).toBe(depth);
    expect(await depthOf(() => store.attributes.remove(owner, "towel"))).toBe(depth);
    expect(await depthOf(() => store.attributes.get(owner, "planet"))).toBe(depth - 3);
    // An absent one costs one more read: the user may have been renamed between the reads.
    expect(await depthOf(() => store.attributes.remove(owner, "towel"))).toBe(depth - 2);
    expect(await depthOf(() => store.attributes.get(owner, "towel"))).toBe(depth - 2);
    expect(await depthOf(() => store.attributes.all(owner))).toBe(depth - 3);
  });

  test.each([
    ["itself", undefined, 2],
    ["its user's name", "name", 2],
    ["its user's id", "id", 3],
  ] as const)("a key's attribute through %s: set and deleted by %4$d", async (_, way, depth) => {
    const owner = way === undefined ? { otpkey: "ubhe0001" } : { user: by[way], otpkey: "ubhe0001" };
    expect(await depthOf(() => store.attributes.set(owner, "colour", "black"))).toBe(depth);
    expect(await depthOf(() => store.attributes.set(owner, "colour", "white"))).toBe(depth);
    expect(await depthOf(() => store.attributes.remove(owner, "colour"))).toBe(depth);
    expect(await depthOf(() => store.attributes.all(owner))).toBe(depth - 1);
  });

  test.each([1, 10, 100])("create %d keys together: one call for each and 3; up to 32 one after another 3", async n => {
    const create = () => store.otpkeys.createMany(Array.from({ length: n }, (_, i) => plainKey(`batch${n}x${i}`)));
    const { result, calls } = await counted(create);
    expect(result.every(each => each.status === "fulfilled" && each.value !== undefined)).toBe(true);
    // Pointers and list rows; the keys, 32 at a time; the list rows marked clean.
    expect(calls.total).toBe(n + 3);
    if (n <= 32) expect(calls.depth).toBe(3);
    // A taken prefix costs a refused insert and a look at whose row it is.
    const again = await counted(create);
    expect(again.result.map(each => each.status === "fulfilled" && each.value)).toEqual(Array(n).fill(undefined));
    expect(again.calls.total).toBe(2 * n + 3);
  });

  test("a key 1, also through its user's name; assigned by 3, unassigned by 4", async () => {
    expect(await depthOf(() => store.otpkeys.find("ubhe0001"))).toBe(1);
    expect(await depthOf(() => store.otpkeys.view("ubhe0001", by.name))).toBe(1);
    await store.otpkeys.create(plainKey("ubhe0009"));
    expect(await depthOf(() => store.otpkeys.assign(by.name, "ubhe0009"))).toBe(3);
    expect(await depthOf(() => store.otpkeys.unassign(by.name, "ubhe0009"))).toBe(4);
  });
});

describe("a rename", () => {
  test("costs a renamed user no further call: by name 1, by id 2, a filter 2", async () => {
    const user = await found(store.users.create({ username: username("Trillian") }));
    const filter = { attributes: new Map([["ship", "heart of gold"]]) };
    await store.attributes.set({ user: named("Trillian") }, "ship", "heart of gold");
    const { result, calls } = await counted(() =>
      store.users.rename(identified(user.value.id), username("Tricia McMillan")),
    );
    expect(result).toMatchObject({ id: user.value.id, name: "Tricia McMillan" });
    expect(calls.total).toBeLessThanOrEqual(40);
    for (const read of [store.users.find, store.users.view, store.users.signInState]) {
      expect(await callsOf(() => read(named("Tricia McMillan")))).toEqual({ total: 1, depth: 1 });
      expect(await callsOf(() => read(identified(user.value.id)))).toEqual({ total: 2, depth: 2 });
      expect(await callsOf(() => read(named("Trillian")))).toEqual({ total: 1, depth: 1 });
    }
    expect(await depthOf(() => store.users.list({ top: 10 }, filter))).toBe(2);
    expect(await callsOf(() => store.users.list({ top: 10 }))).toEqual({ total: 1, depth: 1 });
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
  test("one page of the index and one call for each hit", async () => {
    const { store, counted: countedHere } = await openAuthStorage();
    for (let n = 0; n < 40; n++) {
      await store.users.create({ username: username(`Member ${n}`) });
      await store.attributes.set({ user: named(`Member ${n}`) }, "team", "red");
    }
    const filter = { attributes: new Map([["team", "red"]]) };
    const { result, calls } = await countedHere(() => store.users.list({ top: 1000 }, filter));
    expect(result.entries).toHaveLength(40);
    // Candidates are checked 32 at a time.
    expect(calls).toEqual({ total: 1 + 40, depth: 1 + 2 });
  });

  test.each([3, 3000])("beside %d other users", async others => {
    const crowd = await openAuthStorage();
    await addUsers(crowd, { count: others, attributes: { guild: "all" }, prefix: "ubhe0078" });
    const match = await found(crowd.store.users.create({ username: username("Marvin") }));
    const user = named("Marvin");
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
      "by two attributes, one of which every user has": { total: 4, depth: 3 },
      "by key": { total: 2, depth: 2 },
      "by key and an attribute that every user has": { total: 4, depth: 3 },
      "by a value that no user has": { total: 1, depth: 1 },
    });
    const byName = await crowd.counted(() => crowd.store.users.listByName("CROWD", { top: 1000 }));
    expect(byName.result.entries).toHaveLength(Math.min(others, 1000));
    expect(byName.calls.total).toBe(1);
    const few = await crowd.counted(() => crowd.store.users.listByName("crowd2", { top: 20 }));
    expect(few.calls).toEqual({ total: 1, depth: 1 });
    const rest = await crowd.counted(() => crowd.store.users.listByName("marv", { top: 20 }));
    expect(rest).toEqual({
      result: { entries: [{ id: match.value.id, name: "Marvin" }] },
      calls: { total: 1, depth: 1 },
    });
    const both = await crowd.counted(() => crowd.store.users.listByName("crowd", { top: 5 }, filters["by attribute"]));
    expect(both.result.entries).toEqual([]);
    // One page of names, then user and attribute of each together, and the pointer of each who is not there.
    const absent = Math.min(others, 1000) - both.result.entries.length - (others > 100 ? 11 : others);
    expect(both.calls.total).toBe(1 + Math.min(others, 1000) + absent);
    const unfiltered = await crowd.counted(() => crowd.store.users.list({ top: 5000 }));
    expect(unfiltered.result.entries).toHaveLength(others + 1);
    expect(unfiltered.calls.total).toBe(Math.ceil((others + 1) / 1000));
  });
});
