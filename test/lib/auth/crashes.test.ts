import { beforeEach, describe, expect, test } from "vitest";
import { noFailures } from "../../../lib/auth/sign-in/throttle.ts";
import type { AuthStore } from "../../../lib/auth/store.table.ts";
import type { ThrottleKey } from "../../../lib/auth/store.ts";
import { hours, plus } from "../../../lib/platform/time.ts";
import { type AuthStorage, identified, named, openAuthStorage, plainKey, username } from "../../support/auth/store.ts";
import { Crash, crashingAfter } from "../../support/auth/store-steps.ts";
import { breaches, residue, snapshotOf, truthOf } from "../../support/auth/store-truth.ts";

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
const createWithAll: Act = (store, { user, prefix, value }) =>
  store.users.create({ username: username(user), attributes: { a: value, b: "c" }, otpkeys: [prefix] });
const removeUser: Act = (store, { user }) => store.users.remove(named(user));
const createKey: Act = (store, { prefix }) => store.otpkeys.create(plainKey(prefix));
const removeKey: Act = (store, { prefix }) => store.otpkeys.remove(prefix);
const assign: Act = (store, { user, prefix }) => store.otpkeys.assign(named(user), prefix);
const assignFree: Act = (store, { user, prefix }) => store.otpkeys.assign(named(user), prefix, { onlyIfFree: true });
const unassign: Act = (store, { user, prefix }) => store.otpkeys.unassign(named(user), prefix);
const set: Act = (store, { user, value }) => store.attributes.set({ user: named(user) }, "a", value);
const setNext: Act = (store, { user, next }) => store.attributes.set({ user: named(user) }, "a", next);
const unset: Act = (store, { user }) => store.attributes.remove({ user: named(user) }, "a");
const rename: Act = (store, { user, other }) => store.users.rename(named(user), username(other));
const describeKey: Act = (store, { prefix }) => store.attributes.set({ prefix }, "colour", "black");
const disable: Act = async (store, { prefix }) => {
  const key = await store.otpkeys.find(prefix);
  return key && store.otpkeys.save(key, { ...key.value, enabled: false });
};
const another: Act = async (store, { other, prefix, value }) => {
  await store.users.create({ username: username(other) });
  await store.otpkeys.assign(named(other), prefix);
  await store.attributes.set({ user: named(other) }, "a", value);
};
const throttleOf = (user: string): ThrottleKey => ({ kind: "name", text: user });
const failOnce: Act = async (store, { user }) => {
  const state = await store.throttles.find(throttleOf(user), store.users.idOf(user));
  const now = storage.now();
  const failures = { failures: 1, failedAt: now, reservations: [] };
  return store.throttles.save(state, failures, plus(now, hours(1)));
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

const truthsOf = async ({ user, other }: Names) =>
  truthOf(await snapshotOf(storage.tables)).filter(({ user: { name } }) => [user, other].includes(name.toLowerCase()));

/** Whatever is read must agree with the rows that count. */
async function expectConsistent(of: Names) {
  const { user, other, prefix, value, next } = of;
  const { store, tables } = storage;
  expect(breaches(await snapshotOf(tables))).toEqual([]);
  const truths = await truthsOf(of);
  const idsOf = (some: readonly { readonly id: number }[]) => some.map(({ id }) => id).sort();
  const everyone = truths.map(truth => truth.user);
  const isOne = ({ name }: { readonly name: string }) => [user, other].includes(name.toLowerCase());
  expect(idsOf((await store.users.list({ top: 1000 })).entries.filter(isOne))).toEqual(idsOf(everyone));
  const byName = await Promise.all([user, other].map(each => store.users.list({ top: 1000 }, { beginning: each })));
  expect(idsOf(byName.flatMap(({ entries }) => entries.filter(isOne)))).toEqual(idsOf(everyone));
  for (const each of [value, next]) {
    const found = await store.users.list({ top: 1000 }, { attributes: new Map([["a", each]]) });
    const expected = truths.filter(({ attributes }) => attributes.a === each);
    expect(idsOf(found.entries)).toEqual(idsOf(expected.map(truth => truth.user)));
  }
  const holders = await store.users.list({ top: 1000 }, { attributes: new Map(), otpkey: prefix });
  const expected = everyone.filter(({ otpkeys }) => otpkeys.some(each => each.prefix === prefix));
  expect(idsOf(holders.entries)).toEqual(idsOf(expected));
  const key = await store.otpkeys.find(prefix);
  const keys = (await store.otpkeys.list({ top: 1000 })).entries.filter(each => each.prefix === prefix);
  expect(keys).toEqual(key === undefined ? [] : [{ id: key.value.id, prefix, enabled: key.value.enabled }]);
}

/** What is left is removed by clean-up when it is old enough. */
async function expectHealed(of: Names) {
  storage.pass(hours(3));
  await storage.store.cleanUp();
  await expectConsistent(of);
  expect(residue(await snapshotOf(storage.tables))).toEqual([]);
}

describe("a crash at any storage call leaves nothing wrong, and what it leaves goes by itself", () => {
  const cases: Record<string, { before: Act[]; act: Act }> = {
    "of creating a user": { before: [], act: createUser },
    "of creating a user with attributes and a key": { before: [createKey], act: createWithAll },
    "of setting an attribute": { before: [createUser, set], act: setNext },
    "of deleting an attribute": { before: [createUser, set], act: unset },
    "of creating a key": { before: [], act: createKey },
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
    expect(writes).toBeGreaterThan(0);
  });

  test("of creating a user with attributes and a key leaves all of the user or nothing, and a repetition completes it", async () => {
    await atEachWrite({ before: [createKey], act: createWithAll }, async (of, isDone) => {
      const view = { name: of.user, attributes: { a: of.value, b: "c" }, otpkeys: [of.prefix], enabled: true };
      const there = await storage.store.users.view(named(of.user));
      if (there !== undefined) expect(there).toMatchObject(view);
      if (isDone) expect(there).toBeDefined();
      const made = await createWithAll(storage.another(), of);
      expect(made === undefined).toBe(there !== undefined);
      expect(await storage.store.users.view(named(of.user))).toMatchObject(view);
      await expectHealed(of);
    });
  });

  test.each([
    ["and no other user ever takes the name", false],
    ["and the name is created again, which inherits no attribute, key or throttle", true],
  ])("of deleting a user, %s", async (_, again) => {
    const before = [createUser, createKey, assign, set, failOnce, another];
    await atEachWrite({ before, act: removeUser }, async of => {
      const { store } = storage;
      if (again) {
        await removeUser(storage.another(), of);
        const user = await store.users.create({ username: username(of.user) });
        const throttle = await store.throttles.find(throttleOf(of.user), store.users.idOf(of.user));
        expect(throttle.value).toEqual(noFailures);
        expect(await store.users.find(named(of.user))).toEqual(user);
        expect(await store.users.view(named(of.user))).toMatchObject({ attributes: {}, otpkeys: [] });
        expect(await store.attributes.all({ user: named(of.user) })).toEqual({});
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

  test("of assigning a free key, which another user gets at once unless the first has it", async () => {
    const createOther: Act = (store, { other }) => store.users.create({ username: username(other) });
    await atEachWrite({ before: [createUser, createOther, createKey], act: assignFree }, async of => {
      const { store } = storage;
      const holds = async (name: string) => (await store.users.view(named(name)))?.otpkeys.includes(of.prefix) === true;
      const isTaken = await holds(of.user);
      const outcome = await store.otpkeys.assign(named(of.other), of.prefix, { onlyIfFree: true });
      expect([outcome, await holds(of.other)]).toEqual(isTaken ? ["taken", false] : ["assigned", true]);
      await expectConsistent(of);
      await expectHealed(of);
    });
  });

  test.each([
    ["and no other user takes the former name", false],
    ["and the former name is created at once, which inherits nothing", true],
  ])("of renaming a user, %s", async (_, again) => {
    const before = [createUser, createKey, assign, set, failOnce];
    const { store } = storage;
    await atEachWrite({ before, act: rename }, async (of, isDone) => {
      await expectConsistent(of);
      const [truth, ...others] = await truthsOf(of);
      expect(others).toEqual([]);
      const { id, name } = truth?.user ?? { id: 0, name: "" };
      expect(truth?.attributes).toEqual({ a: of.value });
      const isRenamed = name === of.other;
      expect((await store.users.find(named(isRenamed ? of.other : of.user)))?.value.id).toBe(id);
      expect(await store.users.find(named(isRenamed ? of.user : of.other))).toBeUndefined();
      if (isDone) expect(isRenamed).toBe(true);
      else if (!isRenamed) expect(await rename(storage.another(), of)).toMatchObject({ id, name: of.other });
      const view = { id, attributes: { a: of.value }, otpkeys: [of.prefix] };
      expect(await store.users.view(named(of.other))).toMatchObject(view);
      if (again) {
        const user = await store.users.create({ username: username(of.user) });
        expect(await store.users.find(named(of.user))).toEqual(user);
        const throttle = await store.throttles.find(throttleOf(of.user), store.users.idOf(of.user));
        expect(throttle.value).toEqual(noFailures);
        expect(await store.users.view(named(of.user))).toMatchObject({ attributes: {}, otpkeys: [] });
        expect((await store.users.find(identified(id)))?.value.name).toBe(of.other);
      }
      await expectHealed(of);
    });
  });

  test("of deleting a key, and the prefix is created again, which inherits no attribute and no user", async () => {
    await atEachWrite({ before: [createUser, createKey, assign, describeKey], act: removeKey }, async of => {
      const { store } = storage;
      await removeKey(storage.another(), of);
      await createKey(store, of);
      expect(await store.otpkeys.view(of.prefix)).toMatchObject({ attributes: {} });
      expect(await store.otpkeys.findHolders(of.prefix)).toMatchObject({ userIds: [] });
      expect(await store.attributes.set({ prefix: of.prefix }, "colour", "white")).toMatchObject({ ok: true });
      await expectHealed(of);
    });
  });
});
