import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  partitionsOfHour,
  type SessionKey,
  sessionKey,
  sessionPartition,
} from "../../../lib/auth/sessions/sessions.table.ts";
import { noFailures, type Throttle } from "../../../lib/auth/sign-in/throttle.ts";
import { authStore } from "../../../lib/auth/store.table.ts";
import type { ThrottleKey } from "../../../lib/auth/store.ts";
import { days, hours, minutes, plus } from "../../../lib/platform/time.ts";
import { type AuthStorage, openAuthStorage, storageDeps } from "../../support/auth/store.ts";
import { createStage, inTurns } from "../../support/auth/store-steps.ts";
import { memoryTables } from "../../support/storage/memory-tables.ts";

const storage = await openAuthStorage();
const store = storage.store;

/** Creates a session of a user who need not exist. */
const begin = async (absoluteMs: number, { store, now }: Pick<AuthStorage, "store" | "now"> = storage) =>
  sessionKeyOf(await store.sessions.create({ id: 1, epoch: 1 }, undefined, now(), { absoluteMs }));

function sessionKeyOf(value: string): SessionKey {
  const key = sessionKey(value);
  if (key === undefined) throw new Error("no value of a session");
  return key;
}

async function found(key: SessionKey) {
  const { session } = await store.sessions.find(key);
  if (session === undefined) throw new Error("no session");
  return session;
}

describe("a session", () => {
  test("is in one of the partitions of its hour, which share the hour's sessions evenly", () => {
    const hashes = Array.from({ length: 800 }, (_, n) => createHash("sha256").update(String(n)).digest("base64url"));
    const partitions = Map.groupBy(hashes, hash => sessionPartition({ hour: "2026-11-21T13", hash }));
    expect(partitions.size).toBe(partitionsOfHour);
    for (const [partition, { length }] of partitions) {
      expect(length).toBeLessThan(150);
      expect(partition > "2026-11-21T13" && partition < "2026-11-21T14").toBe(true);
    }
  });

  test("is touched by version; a touch that comes after its end does not begin it again", async () => {
    const key = await begin(hours(24));
    const session = await found(key);
    const next = { epoch: 2, accessedAt: storage.now() };
    const saves = await Promise.all([1, 2, 3].map(() => store.sessions.save(key, session, next)));
    expect(saves.filter(saved => saved !== undefined)).toHaveLength(1);
    expect((await found(key)).value).toEqual({ ...session.value, ...next });
    const read = await found(key);
    expect(await store.sessions.end(key)).toBe(true);
    expect(await store.sessions.save(key, read, next)).toBeUndefined();
    expect(await store.sessions.end(key)).toBe(false);
    expect((await store.sessions.find(key)).session).toBeUndefined();
  });
});

const failures: Throttle = { failures: 4, failedAt: "2026-11-21T12:00:00.000Z", reservations: [] };

const keyOf = (text: string): ThrottleKey => ({ kind: "name", text });

describe("a throttle", () => {
  const ends = () => plus(storage.now(), hours(1));
  const stateOf = (name: string) => store.throttles.find(keyOf(name), store.users.idOf(name));

  test("is reserved by version: of 100 attempts at the same time one is first", async () => {
    const entry = await stateOf("ghost");
    const save = () => Promise.all(Array.from({ length: 50 }, () => store.throttles.save(entry, failures, ends())));
    expect((await save()).filter(saved => saved !== undefined)).toHaveLength(1);
    const next = await stateOf("ghost");
    const again = Array.from({ length: 50 }, () => store.throttles.save(next, noFailures, ends()));
    expect((await Promise.all(again)).filter(saved => saved !== undefined)).toHaveLength(1);
  });

  test("of an address counts attempts at the same time one by one, and its address is not stored", async () => {
    const group = "203.0.113.7";
    const limits = { attempts: 3, windowMs: hours(1) };
    const count = () => store.addresses.count(group, limits);
    const counted = await Promise.allSettled(Array.from({ length: 5 }, count));
    const [since = "", ...others] = counted.flatMap(each => (each.status === "fulfilled" ? [each.value] : []));
    expect(others).toEqual([since, since]);
    await store.addresses.uncount(group, plus(since, -1), limits);
    await expect(count()).rejects.toMatchObject({ kind: "throttled", retryAfterSeconds: 3600 });
    await Promise.all([1, 2, 3, 4].map(() => store.addresses.uncount(group, since, limits)));
    const partition = await storageDeps.keyedHash("address", group);
    expect(await storage.rows("addresses", partition)).toMatchObject([{ since, attempts: 0 }]);
    expect(JSON.stringify(await storage.rows("expiry", "addresses"))).not.toContain("203.0");
  });
});

describe("clean-up", () => {
  test("removes sessions of hours that are over, hour after hour, and no other", async () => {
    const own = await openAuthStorage();
    const keys: SessionKey[] = [];
    for (const ms of [minutes(10), hours(1), hours(3), hours(3)]) keys.push(await begin(ms, own));
    const there = async () =>
      (await Promise.all(keys.map(key => own.store.sessions.find(key)))).map(({ session }) => session !== undefined);
    expect((await own.store.cleanUp()).sessions).toBe(0);
    expect(await there()).toEqual([true, true, true, true]);
    own.pass(hours(2));
    expect((await own.store.cleanUp()).sessions).toBe(2);
    expect(await there()).toEqual([false, false, true, true]);
    own.pass(hours(2));
    const { result, calls } = await own.counted(() => own.store.cleanUp());
    expect(result.sessions).toBe(2);
    expect(await there()).toEqual([false, false, false, false]);
    // One query for all past hours, the rows of each partition, and one page of each of the five queues.
    expect(calls.total).toBeLessThanOrEqual(8);
    expect((await own.counted(() => own.store.cleanUp())).calls.total).toBe(5);
    own.pass(days(4));
    keys.push(await begin(minutes(10), own));
    own.pass(hours(2));
    expect((await own.store.cleanUp()).sessions).toBe(1);
  });

  test("empties an hour of hundreds, also while others end", async () => {
    const own = await openAuthStorage();
    const hour = own.now().slice(0, 13);
    const partition = sessionPartition({ hour, hash: "s150" });
    const row = (n: number) => ({ insert: { rowKey: `s${String(n).padStart(3, "0")}`, schema: 1 } });
    for (const start of [0, 100, 200]) {
      await own.tables.table("sessions").transact(
        partition,
        Array.from({ length: 100 }, (_, n) => row(start + n)),
      );
    }
    own.pass(hours(1));
    const stage = createStage(own.tables);
    await stage.run(
      {
        cleaner: () => own.on(stage.of("cleaner")).cleanUp(),
        other: () => own.on(stage.of("other")).sessions.end({ hour, hash: "s150", userId: 1 }),
      },
      inTurns([["cleaner", /^transact sessions/], ["other"], ["cleaner"]]),
    );
    expect(await own.rows("sessions", partition)).toEqual([]);
  });

  test("removes the sessions of all past hours, and no others", async () => {
    const tables = memoryTables();
    let now = storage.now();
    const later = authStore(tables, { ...storageDeps, now: () => now });
    const on = { store: later, now: () => now };
    for (const ms of [hours(1), hours(2), hours(30)]) for (let n = 0; n < 20; n++) await begin(ms, on);
    const live = await begin(hours(31), on);
    now = plus(now, hours(31));
    expect((await later.cleanUp()).sessions).toBe(60);
    expect((await later.sessions.find(live)).session).toBeDefined();
    expect(tables.rowsOf("sessions").map(({ partitionKey }) => partitionKey)).toEqual([sessionPartition(live)]);
  });

  test("removes throttles, address counts and spent OTPs when they say nothing any more, in the order of expiry", async () => {
    const own = await openAuthStorage();
    const throttled = async (name: string, ms: number) => {
      const throttle = await own.store.throttles.find(keyOf(name));
      return own.store.throttles.save(throttle, failures, plus(own.now(), ms));
    };
    await throttled("early", hours(1));
    await throttled("late", hours(5));
    await throttled("moved", hours(1));
    await throttled("moved", hours(5));
    await throttled("cleared", hours(1));
    await own.store.throttles.save(await own.store.throttles.find(keyOf("cleared")), noFailures);
    await own.store.addresses.count("203.0.113.7", { attempts: 1, windowMs: hours(1) });
    await own.store.otpkeys.spendOtp("ubhe", "h", plus(own.now(), days(30)));
    const value = async (name: string) => (await own.store.throttles.find(keyOf(name))).value.failures;

    own.pass(minutes(59));
    const none = { sessions: 0, throttles: 0, addresses: 0, spentOtps: 0, notices: 0 };
    expect(await own.store.cleanUp()).toEqual(none);
    own.pass(hours(1));
    expect(await own.store.cleanUp()).toEqual({ ...none, throttles: 2, addresses: 1 });
    expect(await Promise.all(["early", "late", "moved"].map(value))).toEqual([0, 4, 4]);
    expect(await own.rows("addresses", await storageDeps.keyedHash("address", "203.0.113.7"))).toEqual([]);
    own.pass(hours(5));
    expect((await own.store.cleanUp()).throttles).toBe(2);
    expect(await own.store.otpkeys.spendOtp("ubhe", "h", plus(own.now(), days(30)))).toBe(false);
    own.pass(days(30));
    expect(await own.store.cleanUp()).toMatchObject({ spentOtps: 1 });
    expect(await own.store.otpkeys.spendOtp("ubhe", "h", own.now())).toBe(true);
    own.pass(hours(9));
    expect(await own.store.cleanUp()).toMatchObject({ spentOtps: 1 });
    for (const queue of ["throttles", "addresses", "spentotps"]) {
      expect(await own.rows("expiry", queue)).toEqual([]);
    }
  });

  test("leaves alone what counts again since it was looked at, and finds it when that is over", async () => {
    const own = await openAuthStorage();
    const stateOf = () => own.store.throttles.find(keyOf("ghost"));
    await own.store.throttles.save(await stateOf(), failures, plus(own.now(), hours(1)));
    own.pass(hours(3));
    const [stage, old] = [createStage(own.tables), await stateOf()];
    await stage.run(
      {
        cleaner: () => own.on(stage.of("cleaner")).cleanUp(),
        guesser: () => own.on(stage.of("guesser")).throttles.save(old, failures, plus(own.now(), hours(1))),
      },
      inTurns([["cleaner", /^remove throttles/], ["guesser"], ["cleaner"]]),
    );
    expect((await stateOf()).value).toEqual(failures);
    own.pass(hours(3));
    expect((await own.store.cleanUp()).throttles).toBe(1);
    expect(await own.rows("expiry", "throttles")).toEqual([]);
  });

  test("has one index row of many first attempts at once, and reads what is over, not what there is", async () => {
    const own = await openAuthStorage();
    const cost = async () => (await own.counted(() => own.store.cleanUp())).calls.total;
    const before = await cost();
    const throttle = await own.store.throttles.find(keyOf("ghost"));
    const save = () => own.store.throttles.save(throttle, failures, plus(own.now(), hours(1)));
    await Promise.all(Array.from({ length: 20 }, save));
    expect(await own.rows("expiry", "throttles")).toHaveLength(1);
    expect(await cost()).toBe(before);
  });

  test("ends early at the signal", async () => {
    const own = await openAuthStorage();
    await own.store.otpkeys.spendOtp("ubhe", "h", own.now());
    own.pass(hours(2));
    expect(await own.store.cleanUp(AbortSignal.abort())).toMatchObject({ spentOtps: 0 });
    expect(await own.store.cleanUp()).toMatchObject({ spentOtps: 1 });
  });
});
