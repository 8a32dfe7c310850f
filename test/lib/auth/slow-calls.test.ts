import { beforeEach, describe, expect, test } from "vitest";
import { type AuthStore, authStore } from "../../../lib/auth/store.table.ts";
import type { Tables } from "../../../lib/platform/azure/tables.ts";
import { Fault } from "../../../lib/platform/fault.ts";
import { hours } from "../../../lib/platform/time.ts";
import {
  type AuthStorage,
  identified,
  named,
  openAuthStorage,
  plainKey,
  storageDeps,
  username,
} from "../../support/auth/store.ts";
import { Crash, createStage, faultAt, inTurns } from "../../support/auth/store-steps.ts";
import { breaches, residue, snapshotOf } from "../../support/auth/store-truth.ts";

let storage: AuthStorage;
/** Id of the user arthur, who has planet=earth and the OTP key towel. */
let id: number;

beforeEach(async () => {
  storage = await openAuthStorage();
  const { users, attributes, otpkeys } = storage.store;
  id = (await users.create({ username: username("arthur") }))?.value.id ?? 0;
  await attributes.set({ user: identified(id) }, "planet", "earth");
  await otpkeys.create(plainKey("towel"));
  await otpkeys.assign(identified(id), "towel");
});

type Act = (store: AuthStore) => Promise<unknown>;

const rename = (name: string): Act => {
  return store => store.users.rename(identified(id), username(name));
};
const setPlanet = (value: string): Act => {
  return store => store.attributes.set({ user: identified(id) }, "planet", value);
};
const assign: Act = store => store.otpkeys.assign(identified(id), "towel");
const unassign: Act = store => store.otpkeys.unassign(identified(id), "towel");
const create: Act = store => store.users.create({ username: username("ford") });

/** Does not wait, because the turns say what comes first. */
const hostOn = (tables: Tables): AuthStore =>
  authStore(tables, { ...storageDeps, now: storage.now, sleep: async () => {} });

/** The storage call that makes a change of a user true. */
const commit = /^replace users/;
const afterCommit = /^(?!replace users)/;

/** Runs two calls in the turns given. Then every invariant must hold, and clean-up must leave nothing. */
async function runInTurns(slow: Act, other: Act, turns: readonly (readonly ["slow" | "other", RegExp?])[]) {
  const stage = createStage(storage.tables);
  const work = { slow: () => slow(hostOn(stage.of("slow"))), other: () => other(hostOn(stage.of("other"))) };
  await stage.run(work, inTurns(turns));
  await expectWhole();
}

async function expectWhole() {
  expect(breaches(await snapshotOf(storage.tables))).toEqual([]);
  storage.pass(hours(3));
  await storage.store.cleanUp();
  const rows = await snapshotOf(storage.tables);
  expect([...breaches(rows), ...residue(rows)]).toEqual([]);
}

async function crashAfter(writes: number, act: (tables: Tables) => Promise<unknown>) {
  const crashing = faultAt(storage.tables, writes, "crash", () => new Crash());
  await expect(act(crashing.tables)).rejects.toBeInstanceOf(Crash);
  await crashing.settled();
}

describe("a call that is slow after its commit leaves the row that another call is about to make true again", () => {
  const cases: Record<string, () => { slow: Act; other: Act }> = {
    "as a rename does with the rows of the former name": () => ({ slow: rename("ford"), other: rename("arthur") }),
    "as a change of an attribute does with the row of the former value": () => ({
      slow: setPlanet("magrathea"),
      other: setPlanet("earth"),
    }),
    "as an end of an assignment does with the row of the holder": () => ({ slow: unassign, other: assign }),
  };
  test.each(Object.entries(cases))("%s", async (_, calls) => {
    const { slow, other } = calls();
    await runInTurns(slow, other, [["slow", commit], ["slow", afterCommit], ["other", commit], ["slow"], ["other"]]);
    expect(await storage.store.users.view(named("arthur"))).toMatchObject({
      id,
      attributes: { planet: "earth" },
      otpkeys: ["towel"],
    });
  });
});

describe("a creation that is slow before its commit gets no OTP key that another call has", () => {
  const createWithTowel: Act = store =>
    store.users.create({ username: username("ford"), otpkeys: ["towel"] }).catch(error => {
      if (!(error instanceof Fault && error.kind === "invalid")) throw error;
    });
  const beforeCommit = /^transact users/;

  test("as one that is deleted: then there is no user", async () => {
    await unassign(storage.store);
    const other: Act = store => store.otpkeys.remove("towel");
    await runInTurns(createWithTowel, other, [["slow", beforeCommit], ["other"], ["slow"]]);
    expect(await storage.store.users.find(named("ford"))).toBeUndefined();
  });

  test("as one that was free for another user: then both have it, and the first was alone with it", async () => {
    await unassign(storage.store);
    let isAlone: boolean | undefined;
    const other: Act = async store => {
      const outcome = await store.otpkeys.assign(identified(id), "towel", { onlyIfFree: true });
      isAlone = outcome === "assigned" && (await storage.store.users.find(named("ford"))) === undefined;
    };
    await runInTurns(createWithTowel, other, [["slow", beforeCommit], ["other"], ["slow"]]);
    expect(isAlone).toBe(true);
    const [one, two] = await Promise.all(["arthur", "ford"].map(name => storage.store.users.view(named(name))));
    expect([one?.otpkeys, two?.otpkeys]).toEqual([["towel"], ["towel"]]);
  });
});

test("a rename that is slow after its commit leaves the name row of a user who was created with the former name", async () => {
  let created: number | undefined;
  const other: Act = async store => {
    created = (await store.users.create({ username: username("arthur") }))?.value.id;
  };
  await runInTurns(rename("ford"), other, [["slow", commit], ["slow", afterCommit], ["other"], ["slow"]]);
  expect(created).toBeGreaterThan(0);
  expect((await storage.store.users.find(named("arthur")))?.value.id).toBe(created);
});

test("an end of an assignment that another call has ended first leaves the row of the assignment that follows", async () => {
  const other: Act = async store => {
    await unassign(store);
    await assign(store);
  };
  // The slow call reads the user before the first end, and the index row after the new assignment has written it.
  const turns = [
    ["slow", /^get otpkeys/],
    ["other", /^transact otpkeys/],
    ["other", commit],
    ["slow"],
    ["other"],
  ] as const;
  await runInTurns(unassign, other, turns);
  expect((await storage.store.users.view(identified(id)))?.otpkeys).toEqual(["towel"]);
});

describe("a rename to a name whose row an unfinished rename of the user has left keeps the row", () => {
  beforeEach(async () => {
    await crashAfter(3, tables => rename("ford")(hostOn(tables)));
    storage.pass(hours(3));
  });

  test("from a clean-up that has found it false before", async () => {
    const cleanUp: Act = store => store.cleanUp();
    await runInTurns(cleanUp, rename("ford"), [["slow", /^remove names/], ["other"], ["slow"]]);
    expect((await storage.store.users.find(named("ford")))?.value.id).toBe(id);
  });

  test("from a creation that has found the name free before", async () => {
    await runInTurns(create, rename("ford"), [["slow", /^replace names/], ["other"], ["slow"]]);
    expect((await storage.store.users.find(named("ford")))?.value.id).toBe(id);
  });
});

test("a creation that draws the id of an unfinished one for the same name lists its user by name", async () => {
  const at = storage.now();
  const hostWithId = (tables: Tables): AuthStore => {
    let drawn = 0;
    const random = (bytes: number) =>
      bytes === 2 && drawn++ === 0 ? new Uint8Array(bytes) : storageDeps.random(bytes);
    return authStore(tables, { ...storageDeps, now: () => at, random, sleep: async () => {} });
  };
  await crashAfter(2, tables => create(hostWithId(tables)));
  expect(await storage.store.users.idOf("ford")).toBeGreaterThan(0);
  await create(hostWithId(storage.tables));
  expect((await storage.store.users.list({ top: 10 }, { beginning: "ford" })).entries).toMatchObject([
    { name: "ford" },
  ]);
  await expectWhole();
});
