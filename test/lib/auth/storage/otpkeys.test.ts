import { describe, expect, test } from "vitest";
import { openAuthTables } from "../../../../lib/auth/storage/tables.table.ts";
import { maxAssignedKeys, type NewOtpKey } from "../../../../lib/auth/store.ts";
import { replaceUser } from "../../../../lib/auth/users/user-rows.table.ts";
import { days, plus } from "../../../../lib/platform/time.ts";
import { identified, named, openAuthStorage, plainKey, storageDeps, username } from "../../../support/auth/store.ts";

let count = 0;

const storage = await openAuthStorage();
const store = storage.store;
const another = storage.another();

const fresh = () => `key${count++}`;

async function created(key: NewOtpKey = plainKey(fresh())) {
  const stored = await store.otpkeys.create(key);
  if (stored === undefined) throw new Error(`${key.prefix} is taken`);
  return stored;
}

async function user() {
  const name = `user${count++}`;
  const stored = await store.users.create({ username: username(name) });
  return { userRef: named(name), id: stored?.value.id ?? 0, name };
}

describe("a key", () => {
  test("comes back as created, with an id of its own", async () => {
    const given: NewOtpKey = {
      prefix: fresh(),
      kind: "hotp",
      enabled: false,
      failures: 3,
      stopped: true,
      form: { digits: 8, state: { counter: 2 ** 48, resync: 2 ** 48 + 20, drift: -3 } },
      sealedSecret: "e30.sealed",
    };
    const key = await created(given);
    expect(key.value).toMatchObject(given);
    expect(key.value.id).toBeGreaterThan(0);
    expect(await another.otpkeys.find(given.prefix)).toEqual(key);
    expect(await another.otpkeys.view(given.prefix)).toEqual({ key, attributes: {} });
    expect(await store.users.find(identified(key.value.id))).toBeUndefined();
  });

  test("is one: of simultaneous creations over two hosts one wins", async () => {
    const prefix = fresh();
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 ? store : another).otpkeys.create(plainKey(prefix))),
    );
    expect(all.filter(key => key !== undefined)).toHaveLength(1);
    expect((await store.otpkeys.list({ top: 1000 })).entries.filter(key => key.prefix === prefix)).toHaveLength(1);
  });

  test("counts one use of one OTP: of 100 simultaneous records of what was read one wins", async () => {
    const key = await created();
    const form = { state: { counter: 1 } };
    const saves = Array.from({ length: 100 }, (_, n) =>
      (n % 2 ? store : another).otpkeys.save(key, { ...key.value, form }),
    );
    const won = (await Promise.all(saves)).filter(saved => saved !== undefined);
    expect(won).toHaveLength(1);
    expect(await store.otpkeys.find(key.value.prefix)).toEqual(won[0]);
    expect(await store.otpkeys.save(key, { ...key.value, form: { state: { counter: 7 } } })).toBeUndefined();
  });

  test("keeps id and prefix with any write", async () => {
    const key = await created();
    const saved = await store.otpkeys.save(key, { ...plainKey("other"), failures: 1 });
    expect(saved?.value).toMatchObject({ id: key.value.id, prefix: key.value.prefix, failures: 1 });
  });

  test("is listed in the order of prefixes, with what it is now", async () => {
    const own = await openAuthStorage();
    for (const prefix of ["c", "a", "b"]) await own.store.otpkeys.create(plainKey(prefix));
    const key = await own.store.otpkeys.find("a");
    if (key) await own.store.otpkeys.save(key, { ...key.value, enabled: false });
    const page = await own.store.otpkeys.list({ top: 2 });
    expect(page).toEqual({
      entries: [
        { id: key?.value.id, prefix: "a", enabled: false },
        { id: expect.any(Number), prefix: "b", enabled: true },
      ],
      next: "b",
    });
    const { result, calls } = await own.counted(() => own.store.otpkeys.list({ top: 2, after: "b" }));
    expect(result).toEqual({ entries: [{ id: expect.any(Number), prefix: "c", enabled: true }] });
    expect(calls.total).toBe(1);
  });

  test("that is deleted is gone with attributes and assignments, and one of its prefix inherits none", async () => {
    const [one, two] = [await user(), await user()];
    const key = await created();
    const { prefix } = key.value;
    for (const { userRef } of [one, two]) await store.otpkeys.assign(userRef, prefix);
    await store.attributes.set({ otpkey: prefix }, "colour", "black");
    expect(await store.otpkeys.remove(prefix)).toBe(true);
    expect(await store.otpkeys.find(prefix)).toBeUndefined();
    expect(await store.otpkeys.remove(prefix)).toBe(false);
    expect((await store.users.view(one.userRef))?.otpkeys).toEqual([]);
    expect(await store.otpkeys.save(key, key.value)).toBeUndefined();
    expect(await store.otpkeys.assign(one.userRef, prefix)).toBe("no_key");

    const next = await created(plainKey(prefix));
    expect(next.value.id).not.toBe(key.value.id);
    expect(await store.otpkeys.view(prefix)).toMatchObject({ attributes: {} });
    expect(await store.otpkeys.findHolders(prefix)).toMatchObject({ userIds: [] });
  });
});

describe("an assignment", () => {
  test("is seen from both sides until it ends; the key keeps what it is", async () => {
    const [one, two] = [await user(), await user()];
    const key = await created();
    const { prefix, id } = key.value;
    expect(await store.otpkeys.assign(one.userRef, prefix)).toBe("assigned");
    expect(await store.otpkeys.assign(identified(one.id), prefix)).toBe("assigned");
    expect(await store.otpkeys.assign(two.userRef, prefix)).toBe("assigned");

    const userIds = [one.id, two.id];
    expect((await store.otpkeys.findHolders(prefix))?.userIds).toEqual(userIds);
    expect((await store.users.view(one.userRef))?.otpkeys).toEqual([prefix]);
    expect((await store.users.find(one.userRef))?.value.otpkeys).toEqual([{ prefix, id }]);
    expect(await store.otpkeys.view(prefix, one.userRef)).toMatchObject({ key: { value: { id } } });

    expect(await store.otpkeys.unassign(one.userRef, prefix)).toBe(true);
    expect(await store.otpkeys.unassign(one.userRef, prefix)).toBe(false);
    expect(await store.otpkeys.view(prefix, one.userRef)).toBeUndefined();
    expect((await store.otpkeys.findHolders(prefix))?.userIds).toEqual(userIds.slice(1));
    expect((await store.otpkeys.find(prefix))?.value).toEqual(key.value);
  });

  test("needs both", async () => {
    const { prefix } = (await created()).value;
    const { userRef } = await user();
    expect(await store.otpkeys.assign(named("nobody"), prefix)).toBe("no_user");
    expect(await store.otpkeys.assign(identified(1), prefix)).toBe("no_user");
    expect(await store.otpkeys.assign(userRef, "nosuchkey")).toBe("no_key");
    expect(await store.otpkeys.unassign(named("nobody"), prefix)).toBe(false);
    expect(await store.otpkeys.findHolders("nosuchkey")).toBeUndefined();
  });

  test("is refused beyond the OTP keys that a user's row can have", async () => {
    const { userRef } = await user();
    const { prefix } = (await created()).value;
    const found = await store.users.find(userRef);
    if (found === undefined) throw new Error("there is no user");
    const otpkeys = Array.from({ length: maxAssignedKeys }, (_, n) => ({
      prefix: `${"p".repeat(29)}${n}`,
      id: 2 ** 52 - 1,
    }));
    await replaceUser(openAuthTables(storage.tables, storageDeps), { ...found.value, otpkeys }, found.version);
    expect(await store.otpkeys.assign(userRef, prefix)).toBe("too_many");
    expect((await store.users.find(userRef))?.value.otpkeys).toEqual(otpkeys);
  });

  test("is one, also if several callers assign and unassign at once", async () => {
    const { userRef } = await user();
    const { prefix } = (await created()).value;
    const work = Array.from({ length: 12 }, (_, n) =>
      n % 3 ? another.otpkeys.assign(userRef, prefix) : store.otpkeys.unassign(userRef, prefix),
    );
    await Promise.all(work);
    const isAssigned = (await store.users.view(userRef))?.otpkeys.length === 1;
    expect((await store.otpkeys.findHolders(prefix))?.userIds.length).toBe(isAssigned ? 1 : 0);
  });
});

describe("a key's attributes", () => {
  test("are the same through the key and through a user who has it", async () => {
    const { userRef } = await user();
    const { prefix } = (await created()).value;
    await store.otpkeys.assign(userRef, prefix);
    const through = { user: userRef, otpkey: prefix };
    expect(await store.attributes.set(through, "colour", "black")).toEqual({ ok: true, value: { colour: "black" } });
    expect(await store.attributes.get({ otpkey: prefix }, "colour")).toBe("black");
    expect(await store.attributes.all(through)).toEqual({ colour: "black" });
    expect((await store.otpkeys.view(prefix))?.attributes).toEqual({ colour: "black" });
    expect((await store.users.view(userRef))?.attributes).toEqual({});
    expect(await store.users.list({ top: 10 }, { attributes: new Map([["colour", "black"]]) })).toEqual({
      entries: [],
    });
    expect(await store.attributes.remove(through, "colour")).toBe(true);
    expect(await store.attributes.get(through, "colour")).toBeNull();
  });

  test("are none through a user who does not have it, and of no key", async () => {
    const { userRef } = await user();
    const { prefix } = (await created()).value;
    for (const owner of [{ user: userRef, otpkey: prefix }, { otpkey: "nosuchkey" }]) {
      expect(await store.attributes.all(owner)).toBeUndefined();
      expect(await store.attributes.get(owner, "a")).toBeUndefined();
      expect(await store.attributes.set(owner, "a", "b")).toBeUndefined();
      expect(await store.attributes.remove(owner, "a")).toBe(false);
    }
  });

  test("keep to their limits, also if several callers write at once", async () => {
    const { prefix } = (await created()).value;
    const owner = { otpkey: prefix };
    const sets = Array.from({ length: 12 }, (_, n) =>
      (n % 2 ? store : another).attributes.set(owner, `k${n}`, "x".repeat(32_700)),
    );
    expect((await Promise.all(sets)).filter(result => result?.ok)).toHaveLength(8);
  });
});

describe("an OTP that validation servers check", () => {
  test("is spent once, of 100 at the same time over two hosts, and under its own key alone", async () => {
    const until = plus(storage.now(), days(30));
    const [one, two] = [(await created()).value.prefix, (await created()).value.prefix];
    const hash = "uU0nuZNNPgilLlLX2n2r-sSE7-N6U4DukIj3rOLvzek";
    const spends = Array.from({ length: 100 }, (_, n) => (n % 2 ? store : another).otpkeys.spendOtp(one, hash, until));
    expect((await Promise.all(spends)).filter(Boolean)).toHaveLength(1);
    expect(await store.otpkeys.spendOtp(two, hash, until)).toBe(true);
    expect(await store.otpkeys.spendOtp(one, hash, until)).toBe(false);
  });
});
