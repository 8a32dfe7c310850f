import { describe, expect, test } from "vitest";
import { maxAssignedKeys, type NewOtpKey } from "../../../lib/auth/store.ts";
import { openAuthTables } from "../../../lib/auth/tables.table.ts";
import { replaceUser } from "../../../lib/auth/users/user-rows.table.ts";
import { days, plus } from "../../../lib/platform/time.ts";
import { named, openAuthStorage, plainKey, storageDeps, username } from "../../support/auth/store.ts";
import { faultAt } from "../../support/auth/store-steps.ts";
import { aroundCalls } from "../../support/storage/around-calls.ts";

let count = 0;

const storage = await openAuthStorage();
const store = storage.store;
const another = storage.another();

const fresh = () => `key${count++}`;

async function created(key: NewOtpKey = plainKey(fresh())) {
  const stored = await store.otpkeys.create(key);
  if (!stored?.isNew) throw new Error(`${key.prefix} is taken`);
  return stored.key;
}

async function user() {
  const name = `user${count++}`;
  const stored = await store.users.create({ username: username(name) });
  return { userRef: named(name), id: stored?.value.id ?? 0, name };
}

describe("a key", () => {
  test("counts one use of one OTP: of 100 simultaneous records of what was read one wins", async () => {
    const key = await created();
    const parameters = { state: { counter: 1 } };
    const saves = Array.from({ length: 100 }, (_, n) =>
      (n % 2 ? store : another).otpkeys.save(key, { ...key.value, parameters }),
    );
    const won = (await Promise.all(saves)).filter(saved => saved !== undefined);
    expect(won).toHaveLength(1);
    expect(await store.otpkeys.find(key.value.prefix)).toEqual(won[0]);
    expect(await store.otpkeys.save(key, { ...key.value, parameters: { state: { counter: 7 } } })).toBeUndefined();
  });

  test("keeps id and prefix with any write", async () => {
    const key = await created();
    const saved = await store.otpkeys.save(key, { ...plainKey("other"), failures: 1 });
    expect(saved?.value).toMatchObject({ id: key.value.id, prefix: key.value.prefix, failures: 1 });
  });
});

describe("an assignment", () => {
  test("is refused beyond the OTP keys that a user's row can have", async () => {
    const { userRef } = await user();
    const { prefix } = (await created()).value;
    const found = await store.users.find(userRef);
    if (found === undefined) throw new Error("there is no user");
    const otpkeys = Array.from({ length: maxAssignedKeys }, (_, n) => ({
      prefix: `${"p".repeat(29)}${n}`,
      id: 2 ** 52 - 1,
    }));
    await replaceUser(openAuthTables(storage.tables, storageDeps), found, { ...found.value, otpkeys });
    expect(await store.otpkeys.assign(userRef, prefix)).toBe("too_many");
    // Not "no_key", after which the caller creates the key.
    expect(await store.otpkeys.assign(userRef, `${prefix}x`)).toBe("too_many");
    expect((await store.users.find(userRef))?.value.otpkeys).toEqual(otpkeys);
  });

  test("is reported also if its response is lost, and the user is reset before the write is repeated", async () => {
    const { userRef } = await user();
    const { prefix } = (await created()).value;
    const epoch = (await store.users.find(userRef))?.value.epoch ?? 0;
    const reset = async () => {
      const found = await store.users.find(userRef);
      if (found === undefined) throw new Error("there is no user");
      await replaceUser(openAuthTables(storage.tables, storageDeps), found, { ...found.value, epoch: epoch + 1 });
    };
    const tables = aroundCalls(storage.tables, async (call, send) => {
      if (!call.name.startsWith("replace users")) return send();
      await send();
      await reset();
      return send();
    });
    expect(await storage.on(tables).otpkeys.assign(userRef, prefix, { epoch })).toBe("assigned");
    expect(await store.otpkeys.assign(userRef, prefix, { epoch })).toBe("no_user");
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
  test("keep to their limits, also if several callers write at once", async () => {
    const { prefix } = (await created()).value;
    const owner = { prefix };
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
    const lost = storage.on(faultAt(storage.tables, 0, "repeated").tables);
    expect(await lost.otpkeys.spendOtp(two, hash, until), "also if the response is lost").toBe(true);
    expect(await store.otpkeys.spendOtp(one, hash, until)).toBe(false);
  });
});
