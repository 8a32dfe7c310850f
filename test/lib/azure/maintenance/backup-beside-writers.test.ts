import { randomBytes } from "node:crypto";
import * as fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { AuthStore, UserFilter } from "../../../../lib/auth/ports.ts";
import { authTables, openShelves } from "../../../../lib/azure/auth-shelves.ts";
import { authStore } from "../../../../lib/azure/auth-tables.ts";
import { type Blobs, openBlobs } from "../../../../lib/azure/blobs.ts";
import { backUp } from "../../../../lib/azure/maintenance/back-up.ts";
import { backupsContainer, openBackup } from "../../../../lib/azure/maintenance/backup-files.ts";
import { makeEmpty } from "../../../../lib/azure/maintenance/restore.ts";
import { authBackedUp, restoreAuth } from "../../../../lib/azure/maintenance/restore-auth.ts";
import { openTables, type Tables } from "../../../../lib/azure/tables.ts";
import { createLog } from "../../../../lib/log.ts";
import { days, instant, type Now, seconds } from "../../../../lib/time.ts";
import { named, plainKey, username } from "../../../support/auth-store.ts";
import { createStage, inTurns } from "../../../support/auth-store-steps.ts";
import { breaches, listBreaches, matches, residue, type Truth, truthOf } from "../../../support/auth-store-truth.ts";
import { type FreshStorage, freshStorage } from "../../../support/storage.ts";

const timeoutMs = seconds(15);
const now: Now = () => instant(Date.now());
const random = (size: number) => randomBytes(size);
const log = createLog(() => {});

let storage: FreshStorage;
let tables: Tables;
let blobs: Blobs;
beforeAll(async () => {
  storage = freshStorage();
  tables = openTables({ connectionString: storage.connectionString, timeoutMs });
  blobs = openBlobs({ connectionString: storage.connectionString, timeoutMs });
  await Promise.all([...authTables.map(name => tables.createTable(name)), blobs.createContainer(backupsContainer)]);
});

const users = ["ada", "grace"];
const prefixes = ["kone", "ktwo"];
const values = ["x", "y"];
const attribute = "dept";

type Act = (store: AuthStore) => Promise<unknown>;

/** What a writer does to one of two users, one of two keys and one of two values. */
const actsOn = (user: string, prefix: string) => {
  const whom = named(user);
  return {
    create: store => store.users.create({ username: username(user) }),
    remove: store => store.users.remove(whom),
    setX: store => store.attributes.set({ user: whom }, attribute, "x"),
    setY: store => store.attributes.set({ user: whom }, attribute, "y"),
    /** It sorts before the other. */
    setFirst: store => store.attributes.set({ user: whom }, "area", "x"),
    unset: store => store.attributes.remove({ user: whom }, attribute),
    make: store => store.otpkeys.create(plainKey(prefix)),
    drop: store => store.otpkeys.remove(prefix),
    assign: store => store.otpkeys.assign(whom, prefix),
    unassign: store => store.otpkeys.unassign(whom, prefix),
    enable: store => saveEnabled(store, prefix, true),
    disable: store => saveEnabled(store, prefix, false),
  } satisfies Readonly<Record<string, Act>>;
};

async function saveEnabled(store: AuthStore, prefix: string, enabled: boolean) {
  const found = await store.otpkeys.find(prefix);
  return found && store.otpkeys.save(found, { ...found.value, enabled });
}

const anyAct: fc.Arbitrary<Act> = fc
  .tuple(fc.constantFrom(...users), fc.constantFrom(...prefixes), fc.nat())
  .map(([user, prefix, choice]): Act => {
    const all: readonly Act[] = Object.values(actsOn(user, prefix));
    return all[choice % all.length] ?? (async () => undefined);
  });

type Actor = "one" | "two" | "backup";

const scenes = fc.record({
  writers: fc.tuple(fc.array(anyAct, { minLength: 3, maxLength: 8 }), fc.array(anyAct, { minLength: 3, maxLength: 8 })),
  /** Whose call comes next, over and over. */
  turns: fc.array(fc.constantFrom<Actor>("one", "two", "backup"), { minLength: 5, maxLength: 60 }),
});

type Choose = Parameters<ReturnType<typeof createStage>["run"]>[1];

/** A page of two rows, and not before it is the backup's turn: as a table of many pages is read while others write. */
const inSmallPages = (turn: (table: string) => Promise<unknown>) => ({
  position: "perCall" as const,
  policy: {
    name: "small-pages",
    async sendRequest<Q extends { url: string }, R>(request: Q, next: (request: Q) => Promise<R>): Promise<R> {
      if (/(%24|\$)top=1000/.test(request.url)) {
        await turn(/\/(\w+)\(\)/.exec(request.url)?.[1] ?? "");
        request.url = request.url.replace(/((?:%24|\$)top)=1000/, "$1=2");
      }
      return next(request);
    },
  },
});

/** Starts from two users and two keys, one assigned, backs up while the writers write, and restores. @returns users that are there */
async function restoredBeside(writers: readonly [readonly Act[], readonly Act[]], choose: Choose) {
  const empty = () => makeEmpty({ tables: authTables, containers: [] }, true, { tables, blobs, log });
  await empty();
  const store = authStore(tables, { now, random });
  for (const name of users) await store.users.create({ username: username(name) });
  for (const prefix of prefixes) await store.otpkeys.create(plainKey(prefix));
  for (const act of ["assign", "setX"] as const) await actsOn("ada", "kone")[act](store);

  const stage = createStage(tables);
  const write = (actor: Actor, acts: readonly Act[]) => async () => {
    const own = authStore(stage.of(actor), { now, random });
    for (const act of acts) await act(own);
  };
  const pages = new Map<string, number>();
  const turn = (table: string) => {
    const page = (pages.get(table) ?? 0) + 1;
    pages.set(table, page);
    return stage.of("backup").table(table).get(`page ${page}`, "none");
  };
  const { connectionString } = storage;
  const slow = openTables({ connectionString, timeoutMs, policies: [inSmallPages(turn)] });
  const deps = { tables: slow, blobs, now, random, log, keepMs: days(30) };
  let id = "";
  const work = {
    one: write("one", writers[0]),
    two: write("two", writers[1]),
    backup: async () => {
      id = (await backUp({ wing: "auth", tables: authBackedUp, containers: [] }, deps)).backup;
    },
  };
  await stage.run(work, choose);

  await empty();
  const windows = { lookAhead: 15, resync: 100, steps: 1 };
  const backup = await openBackup(blobs, "auth", id);
  await restoreAuth(backup, openShelves(tables, { now, random }), { uses: 0, windows });
  return holdsTogether(store);
}

const filters: readonly UserFilter[] = [
  ...values.map(value => ({ attributes: new Map([[attribute, value]]) })),
  ...prefixes.map(otpkey => ({ attributes: new Map(), otpkey })),
];

async function holdsTogether(store: AuthStore): Promise<readonly Truth[]> {
  const truths = await truthOf(tables, users);
  expect(await breaches(tables, truths)).toEqual([]);
  for (const [at, name] of users.entries()) expect(await listBreaches(tables, name, prefixes[at] ?? "")).toEqual([]);
  const pairs = values.map(value => [attribute, value] as const);
  expect(await residue(tables, { names: users, prefixes, values: pairs })).toEqual([]);
  for (const filter of filters) {
    const expected = truths.filter(truth => matches(filter, truth)).map(({ id }) => id);
    const { entries } = await store.users.list({ top: 1000 }, filter);
    expect(entries.map(({ id }) => id)).toEqual(expected.sort((one, other) => one - other));
  }
  // What was restored can be changed as before, and the head row counts what there is.
  for (const name of users) {
    const user = await store.users.find(named(name));
    const before = truths.find(({ id }) => id === user?.value.id);
    const head = await store.attributes.set({ user: named(name) }, "later", "z");
    expect(head?.ok === true ? head.value.count : undefined).toBe(before && before.attributes.size + 1);
  }
  return truths;
}

describe("a backup that is made while two writers write is restored to lists, filters and assignments that hold together (decision G13)", () => {
  test("whoever comes next at each storage call", async () => {
    let found = 0;
    const check = fc.asyncProperty(scenes, async ({ writers, turns }) => {
      let at = 0;
      const truths = await restoredBeside(writers, waiting => {
        const actor = turns[at++ % turns.length];
        return Math.max(
          0,
          waiting.findIndex(call => call.actor === actor),
        );
      });
      found += truths.length;
    });
    await fc.assert(check, { numRuns: 8, seed: 6 });
    expect(found).toBeGreaterThan(4);
  });

  const { create, remove, setY, setFirst, make, drop, assign } = actsOn("ada", "kone");
  const between = { keysAndUsers: /^get users \["page 1"/, pagesOfUsers: /^get users \["page 2"/ } as const;
  const scripted: Readonly<Record<string, readonly [acts: readonly Act[], when: RegExp, otpkeys: number]>> = {
    "an assigned key is made anew after keys were read": [[drop, make, assign], between.keysAndUsers, 0],
    "an assigned key is deleted after keys were read": [[drop], between.keysAndUsers, 0],
    "a user is made anew while their rows are read": [[remove, create, setY], between.pagesOfUsers, 0],
    "an attribute that was passed already is set while their rows are read": [[setFirst], between.pagesOfUsers, 1],
  };
  test.each(Object.entries(scripted))("%s", async (_, [acts, when, otpkeys]) => {
    const turns = inTurns([["backup", when], ["one"], ["backup"]]);
    const truths = await restoredBeside([acts, []], turns);
    expect(truths.length).toBe(2);
    expect(truths.map(each => each.otpkeys.size).reduce((sum, size) => sum + size)).toBe(otpkeys);
  });
});
