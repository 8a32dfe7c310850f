import { beforeEach, describe, expect, test } from "vitest";
import { noFailures } from "../../../../lib/auth/model/throttle.ts";
import type { AuthStore, UserRef } from "../../../../lib/auth/store.ts";
import { hashUsername } from "../../../../lib/auth/user-hash.ts";
import { Fault } from "../../../../lib/fault.ts";
import { hours, minutes, plus } from "../../../../lib/time.ts";
import {
  type AuthStorage,
  identified,
  named,
  openAuthStorage,
  plainKey,
  username,
} from "../../../support/auth/store.ts";
import { Crash, crashingAfter, repeating } from "../../../support/auth/store-steps.ts";
import { breaches, residue, truthOf } from "../../../support/auth/store-truth.ts";

let storage: AuthStorage;
let point = 0;

// Each its own: a look at all rows costs more with every crash before.
beforeEach(async () => {
  storage = await openAuthStorage();
});

/** Names of one crash, so that crashes do not meet. */
const names = (n: number) => ({
  user: `user${n}`,
  other: `other${n}`,
  prefix: `key${n}`,
  value: `v${n}`,
  next: `w${n}`,
});
type Names = ReturnType<typeof names>;

type Act = (store: AuthStore, of: Names) => Promise<unknown>;

const createUser: Act = (store, { user }) => store.users.create({ username: username(user) });
const removeUser: Act = (store, { user }) => store.users.remove(named(user));
const createKey: Act = (store, { prefix }) => store.otpkeys.create(plainKey(prefix));
const createKeys: Act = async (store, { prefix, value, next }) => {
  const results = await store.otpkeys.createMany([prefix, value, next].map(plainKey));
  for (const result of results) if (result.status === "rejected") throw result.reason;
  return results;
};
const createKeyInBatch: Act = async (store, { prefix }) => {
  const [result] = await store.otpkeys.createMany([plainKey(prefix)]);
  if (result?.status === "rejected") throw result.reason;
};
const removeKey: Act = (store, { prefix }) => store.otpkeys.remove(prefix);
const assign: Act = (store, { user, prefix }) => store.otpkeys.assign(named(user), prefix);
const assignFree: Act = (store, { user, prefix }) => store.otpkeys.assign(named(user), prefix, { onlyIfFree: true });
const unassign: Act = (store, { user, prefix }) => store.otpkeys.unassign(named(user), prefix);
const set: Act = (store, { user, value }) => store.attributes.set({ user: named(user) }, "a", value);
const setNext: Act = (store, { user, next }) => store.attributes.set({ user: named(user) }, "a", next);
const unset: Act = (store, { user }) => store.attributes.remove({ user: named(user) }, "a");
const rename: Act = (store, { user, other }) => store.users.rename(named(user), username(other));
const describeKey: Act = (store, { prefix }) => store.attributes.set({ otpkey: prefix }, "colour", "black");
const disable: Act = async (store, { prefix }) => {
  const key = await store.otpkeys.find(prefix);
  return key && store.otpkeys.save(key, { ...key.value, enabled: false });
};
const another: Act = async (store, { other, prefix, value }) => {
  await store.users.create({ username: username(other) });
  await store.otpkeys.assign(named(other), prefix);
  await store.attributes.set({ user: named(other) }, "a", value);
};
const failOnce: Act = async (store, { user }) => {
  const state = await store.users.signInState(named(user));
  const now = storage.now();
  const failures = { failures: 1, failedAt: now, reservations: [] };
  return state && store.throttles.save(state.throttle, failures, plus(now, hours(1)));
};

/** Does it with a crash before its first write, before its second, and so on until it comes to its end. */
async function atEachWrite(
  { before, act }: { readonly before: readonly Act[]; readonly act: Act },
  check: (of: Names, isDone: boolean) => Promise<void>,
): Promise<number> {
  for (let writes = 0; ; writes++) {
    const of = names(point++);
    for (const each of before) await each(storage.store, of);
    const crashing = crashingAfter(storage.tables, writes);
    const ending = await act(storage.on(crashing.tables), of).then(
      () => "done",
      error => error,
    );
    await crashing.dead();
    if (ending !== "done" && !(ending instanceof Crash)) throw ending;
    await check(of, ending === "done");
    if (ending === "done") return writes;
  }
}

/** Whatever is read must agree with the rows that count. */
async function expectConsistent({ user, other, prefix, value, next }: Names) {
  const { store, rows } = storage;
  const truths = await truthOf(rows, [user, other]);
  expect(await breaches(rows, truths)).toEqual([]);
  const isOne = ({ name }: { readonly name: string }) => [user, other].includes(name.toLowerCase());
  const listed = (await store.users.list({ top: 1000 })).entries.filter(isOne);
  expect(listed.map(({ id }) => id).sort()).toEqual(truths.map(({ id }) => id).sort());
  const byName: number[] = [];
  // One after another: of two lists that repair rows of one user at once, one leaves that to a later list.
  for (const each of [user, other]) {
    const { entries } = await store.users.listByName(each, { top: 1000 });
    byName.push(...entries.filter(isOne).map(({ id }) => id));
  }
  expect(byName.sort()).toEqual(truths.map(({ id }) => id).sort());
  for (const each of [value, next]) {
    const found = await store.users.list({ top: 1000 }, { attributes: new Map([["a", each]]) });
    const expected = truths.filter(({ attributes }) => attributes.get("a") === each);
    expect(found.entries.map(({ id }) => id).sort()).toEqual(expected.map(({ id }) => id).sort());
  }
  const holders = await store.users.list({ top: 1000 }, { attributes: new Map(), otpkey: prefix });
  const expected = truths.filter(({ otpkeys }) => otpkeys.has(prefix));
  expect(holders.entries.map(({ id }) => id).sort()).toEqual(expected.map(({ id }) => id).sort());
  const key = await store.otpkeys.find(prefix);
  const keys = (await store.otpkeys.list({ top: 1000 })).entries.filter(each => each.prefix === prefix);
  expect(keys).toEqual(key === undefined ? [] : [{ id: key.value.id, prefix, enabled: key.value.enabled }]);
}

/** What is left goes when it is old enough and met: by the lists and filters, which agree with the rows meanwhile. */
async function expectHealed(of: Names) {
  storage.pass(minutes(61));
  await expectConsistent(of);
  expect(await residueOf(of)).toEqual([]);
}

const residueOf = ({ user, other, prefix, value, next }: Names) =>
  residue(storage.rows, {
    names: [user, other],
    prefixes: [prefix],
    values: [value, next].map(each => ["a", each] as const),
  });

describe("a crash at any storage call leaves nothing wrong, and what it leaves goes by itself", () => {
  const cases: Record<string, { before: Act[]; act: Act }> = {
    "of creating a user": { before: [], act: createUser },
    "of setting an attribute": { before: [createUser, set], act: setNext },
    "of deleting an attribute": { before: [createUser, set], act: unset },
    "of creating a key": { before: [], act: createKey },
    "of creating several keys": { before: [], act: createKeys },
    "of creating several keys, one of which exists": { before: [createKey], act: createKeys },
    "of disabling a key": { before: [createKey], act: disable },
    "of assigning a key": { before: [createUser, createKey], act: assign },
    "of assigning a free key": { before: [createUser, createKey], act: assignFree },
    "of unassigning a key": { before: [createUser, createKey, assign], act: unassign },
    "of deleting a key": { before: [createUser, createKey, assign, another, describeKey], act: removeKey },
  };
  test.each(Object.entries(cases))("%s", async (_, { before, act }) => {
    const writes = await atEachWrite({ before, act }, async (of, isDone) => {
      await expectConsistent(of);
      if (!isDone) await act(storage.another(), of);
      await expectHealed(of);
    });
    expect(writes).toBeGreaterThan(1);
  });

  test.each([
    ["and no other user ever takes the name", false],
    ["and the name is created again, which inherits no attribute, key, session or throttle", true],
  ])("of deleting a user, %s", async (_, again) => {
    const before = [createUser, createKey, assign, set, failOnce, another];
    await atEachWrite({ before, act: removeUser }, async of => {
      const { store, rows } = storage;
      const former = (await truthOf(rows, [of.other]))[0]?.id;
      if (again) {
        await removeUser(storage.another(), of);
        const user = await store.users.create({ username: username(of.user) });
        // All but the former owner's list row, which a list removes when it is old enough.
        const left = await residueOf(of);
        expect(left.filter(row => !row.includes("list row"))).toEqual([]);
        const state = await store.users.signInState(named(of.user));
        expect(state).toMatchObject({ user, otpkeys: [], throttle: { value: noFailures } });
        expect(await store.users.view(named(of.user))).toMatchObject({ attributes: {}, otpkeys: [] });
        expect(await store.attributes.get({ user: named(of.user) }, "a")).toBeNull();
        expect(former).toBeDefined();
        await setNext(store, of);
        await assign(store, of);
        expect(await store.users.view(named(of.user))).toMatchObject({
          attributes: { a: of.next },
          otpkeys: [of.prefix],
        });
      }
      await expectConsistent(of);
      await expectHealed(of);
    });
  });

  test("of assigning a free key, which another user gets ten minutes later unless the first has it", async () => {
    const createOther: Act = (store, { other }) => store.users.create({ username: username(other) });
    await atEachWrite({ before: [createUser, createOther, createKey], act: assignFree }, async of => {
      const { store, rows, pass } = storage;
      const holds = async (name: string) => (await truthOf(rows, [name]))[0]?.otpkeys.has(of.prefix) === true;
      const isTaken = await holds(of.user);
      pass(minutes(11));
      const outcome = await store.otpkeys.assign(named(of.other), of.prefix, { onlyIfFree: true });
      expect([outcome, await holds(of.other)]).toEqual(isTaken ? ["taken", false] : ["assigned", true]);
      await expectConsistent(of);
    });
  });

  test.each([
    ["and no other user takes the former name", false],
    ["and the former name is created at once, which inherits nothing", true],
  ])("of renaming a user, %s", async (_, again) => {
    const before = [createUser, createKey, assign, set, failOnce];
    const { store, rows } = storage;
    const renamed: { readonly id: number; readonly of: Names }[] = [];
    await atEachWrite({ before, act: rename }, async (of, isDone) => {
      if (!again) await expectConsistent(of);
      const [truth, ...others] = await truthOf(rows, [of.user, of.other]);
      expect(others).toEqual([]);
      const { id = 0, attributes, otpkeys } = truth ?? {};
      expect([attributes?.get("a"), otpkeys?.has(of.prefix)]).toEqual([of.value, true]);
      const byId = await store.users.find(identified(id));
      expect(byId?.value.id).toBe(id);
      const isRenamed = byId?.value.name === of.other;
      const { value: { userHash = "" } = {} } = byId ?? {};
      expect(userHash).toBe(hashUsername(isRenamed ? of.other : of.user));
      expect((await store.users.find(named(isRenamed ? of.other : of.user)))?.value.id).toBe(id);
      expect(await store.users.find(named(isRenamed ? of.user : of.other))).toBeUndefined();
      if (isDone) expect(isRenamed).toBe(true);
      else if (!isRenamed) expect(await rename(storage.another(), of)).toMatchObject({ id, name: of.other });
      expect(await store.users.view(named(of.other))).toMatchObject({
        id,
        attributes: { a: of.value },
        otpkeys: [of.prefix],
      });
      if (again) {
        const user = await store.users.create({ username: username(of.user) });
        expect(await store.users.signInState(named(of.user))).toMatchObject({
          user,
          otpkeys: [],
          throttle: { value: noFailures },
        });
        expect(await store.users.view(named(of.user))).toMatchObject({ attributes: {}, otpkeys: [] });
        expect((await rows("users", hashUsername(of.user))).map(({ rowKey }) => rowKey)).toEqual(["user"]);
        expect((await store.users.find(identified(id)))?.value.name).toBe(of.other);
      }
      await expectHealed(of);
      renamed.push({ id, of });
    });
    storage.pass(hours(26));
    await store.cleanUp();
    for (const { id, of } of renamed) {
      const left = await rows("users", hashUsername(of.user));
      expect(left.map(({ rowKey }) => rowKey)).toEqual(again ? ["user"] : []);
      expect((await store.users.view(identified(id)))?.attributes).toEqual({ a: of.value });
      await expectConsistent(of);
    }
  });

  test.each([
    ["before it", true],
    ["after the crash", false],
  ])("of renaming a user, whom no list shows as unused after a sign-in %s", async (_, isBefore) => {
    const { store } = storage;
    const signIn = async (userRef: UserRef) => {
      const { userHash = "", id = 0 } = (await store.users.find(userRef))?.value ?? {};
      await store.users.recordLogin({ by: "userHash", userHash, id }, storage.now());
    };
    let unusedSince = storage.now();
    const later: Act = async () => {
      storage.pass(hours(48));
      unusedSince = storage.now();
      storage.pass(hours(1));
    };
    const signInFirst: Act = (_, { user }) => (isBefore ? signIn(named(user)) : Promise.resolve());
    await atEachWrite({ before: [createUser, createKey, assign, set, later, signInFirst], act: rename }, async of => {
      const [{ id = 0 } = {}] = await truthOf(storage.rows, [of.user, of.other]);
      if (!isBefore) await signIn(identified(id));
      const team = new Map([["a", of.value]]);
      const pages = [
        await store.users.list({ top: 1000 }, { attributes: new Map(), unusedSince }),
        await store.users.list({ top: 1000 }, { attributes: team, unusedSince }),
        await store.users.list({ top: 1000 }, { attributes: new Map(), otpkey: of.prefix, unusedSince }),
        await store.users.listByName(of.user, { top: 1000 }, { attributes: new Map(), unusedSince }),
        await store.users.listByName(of.other, { top: 1000 }, { attributes: team, unusedSince }),
      ];
      expect(pages.map(({ entries }) => entries.filter(entry => entry.id === id))).toEqual([[], [], [], [], []]);
    });
  });

  test("of deleting a key, and the prefix is created again, which inherits no attribute and no user", async () => {
    await atEachWrite({ before: [createUser, createKey, assign, describeKey], act: removeKey }, async of => {
      const { store } = storage;
      await removeKey(storage.another(), of);
      await createKey(store, of);
      const left = await residueOf(of);
      expect(left.filter(row => !row.includes("list row"))).toEqual([]);
      expect(await store.otpkeys.view(of.prefix)).toMatchObject({ attributes: {} });
      expect(await store.otpkeys.findHolders(of.prefix)).toMatchObject({ candidates: [] });
      expect(await store.attributes.set({ otpkey: of.prefix }, "colour", "white")).toMatchObject({ ok: true });
      await expectHealed(of);
    });
  });

  test("of deleting a user, and of creating the name again before it has tidied up", async () => {
    const of = names(point++);
    const { store, tables } = storage;
    for (const each of [createUser, createKey, assign, set, failOnce]) await each(store, of);
    const former = await store.users.find(named(of.user));
    const deletion = crashingAfter(tables, 4);
    await expect(removeUser(storage.on(deletion.tables), of)).rejects.toThrow(Crash);
    expect(await store.users.find(named(of.user))).toBeUndefined();
    // A throttle without a user: the count of the former owner no longer applies.
    expect((await store.users.signInState(named(of.user)))?.throttle.value).toEqual(noFailures);
    const creation = crashingAfter(tables, 5);
    await expect(createUser(storage.on(creation.tables), of)).rejects.toThrow(Crash);
    await creation.dead();

    const user = await store.users.find(named(of.user));
    expect(user?.value.id).not.toBe(former?.value.id);
    expect(await residueOf(of)).toContain(`attr:a of user ${former?.value.id}, who is gone`);
    expect(await store.users.view(named(of.user))).toMatchObject({ attributes: {}, otpkeys: [] });
    expect(await store.users.signInState(named(of.user))).toMatchObject({
      otpkeys: [],
      throttle: { value: noFailures },
    });
    expect(await store.attributes.get({ user: named(of.user) }, "a")).toBeNull();
    expect(await store.attributes.all({ user: named(of.user) })).toEqual({});
    expect(await store.otpkeys.view(of.prefix, named(of.user))).toBeUndefined();
    expect(await unassign(store, of)).toBe(false);
    await expectConsistent(of);
    const pointer = { by: "userHash", userHash: former?.value.userHash ?? "", id: former?.value.id ?? 0 } as const;
    for (const userRef of [pointer, { by: "id", id: former?.value.id ?? 0 } as const]) {
      expect(await store.users.find(userRef)).toBeUndefined();
      expect(await store.users.view(userRef)).toBeUndefined();
      expect((await store.users.signInState(userRef))?.user).toBeUndefined();
      expect(await store.attributes.set({ user: userRef }, "a", "b")).toBeUndefined();
    }
    for (const each of [set, setNext, assign]) await each(store, of);
    expect(await store.users.view(named(of.user))).toMatchObject({ attributes: { a: of.next }, otpkeys: [of.prefix] });
    await expectHealed(of);
  });
});

describe("a call during which storage becomes unavailable either fails and has changed nothing, or succeeds", () => {
  const cases: Record<string, { before: Act[]; act: Act; isMade: (of: Names) => Promise<boolean> }> = {
    "creating a user": {
      before: [],
      act: createUser,
      isMade: async ({ user }) => (await storage.store.users.find(named(user))) !== undefined,
    },
    "deleting a user": {
      before: [createUser, createKey, assign, set],
      act: removeUser,
      isMade: async ({ user }) => (await storage.store.users.find(named(user))) === undefined,
    },
    "renaming a user": {
      before: [createUser, createKey, assign, set],
      act: rename,
      isMade: async ({ other }) => (await storage.store.users.find(named(other))) !== undefined,
    },
    "changing the case of a username": {
      before: [createUser],
      act: (store, { user }) => store.users.rename(named(user), username(user.toUpperCase())),
      isMade: async ({ user }) => (await storage.store.users.find(named(user)))?.value.name === user.toUpperCase(),
    },
    "setting an attribute": {
      before: [createUser, set],
      act: setNext,
      isMade: async ({ user, next }) => (await storage.store.attributes.get({ user: named(user) }, "a")) === next,
    },
    "assigning a key": {
      before: [createUser, createKey],
      act: assign,
      isMade: async ({ user }) => (await storage.store.users.view(named(user)))?.otpkeys.length === 1,
    },
    "unassigning a key": {
      before: [createUser, createKey, assign],
      act: unassign,
      isMade: async ({ user }) => (await storage.store.users.view(named(user)))?.otpkeys.length === 0,
    },
    "creating a key": {
      before: [],
      act: createKey,
      isMade: async ({ prefix }) => (await storage.store.otpkeys.find(prefix)) !== undefined,
    },
    "creating a key of a batch": {
      before: [],
      act: createKeyInBatch,
      isMade: async ({ prefix }) => (await storage.store.otpkeys.find(prefix)) !== undefined,
    },
    "disabling a key": {
      before: [createKey],
      act: disable,
      isMade: async ({ prefix }) => (await storage.store.otpkeys.find(prefix))?.value.enabled === false,
    },
    "deleting a key": {
      before: [createKey, describeKey],
      act: removeKey,
      isMade: async ({ prefix }) => (await storage.store.otpkeys.find(prefix)) === undefined,
    },
  };
  test.each(Object.entries(cases))("%s", async (_, { before, act, isMade }) => {
    for (let writes = 0, isHit = true; isHit; writes++) {
      const of = names(point++);
      for (const each of before) await each(storage.store, of);
      const failing = crashingAfter(storage.tables, writes, () => new Fault("unavailable", "no storage"));
      const hasSucceeded = await act(storage.on(failing.tables), of).then(
        () => true,
        error => !(error instanceof Fault && error.kind === "unavailable"),
      );
      await failing.dead();
      expect(await isMade(of), `after ${writes} writes`).toBe(hasSucceeded);
      await expectConsistent(of);
      await expectHealed(of);
      isHit = failing.isDead();
    }
  });
});

describe("a write whose answer got lost, and which is sent again, is known as one's own", () => {
  const cases: Record<string, { before: Act[]; act: Act; result: unknown }> = {
    "creating a user": { before: [], act: createUser, result: { value: { epoch: 1 } } },
    "deleting a user": { before: [createUser, createKey, assign, set], act: removeUser, result: true },
    "renaming a user": { before: [createUser, createKey, assign, set], act: rename, result: { epoch: 2 } },
    "setting an attribute": { before: [createUser, set], act: setNext, result: { ok: true } },
    "deleting an attribute": { before: [createUser, set], act: unset, result: true },
    "creating a key": { before: [], act: createKey, result: { value: { enabled: true } } },
    "creating several keys": {
      before: [],
      act: createKeys,
      result: ["fulfilled", "fulfilled", "fulfilled"].map(status => ({ status, value: { value: { enabled: true } } })),
    },
    "deleting a key": { before: [createUser, createKey, assign, describeKey], act: removeKey, result: true },
    "assigning a key": { before: [createUser, createKey], act: assign, result: "assigned" },
    "unassigning a key": { before: [createUser, createKey, assign], act: unassign, result: true },
  };
  test.each(Object.entries(cases))("%s", async (_, { before, act, result }) => {
    for (let write = 0, isRepeated = true; isRepeated; write++) {
      const of = names(point++);
      for (const each of before) await each(storage.store, of);
      const repeated = repeating(storage.tables, write);
      const outcome = await act(storage.on(repeated.tables), of);
      if (typeof result === "object") expect(outcome).toMatchObject(result as object);
      else expect(outcome).toBe(result);
      await expectConsistent(of);
      await expectHealed(of);
      isRepeated = repeated.isRepeated();
    }
  });
});
