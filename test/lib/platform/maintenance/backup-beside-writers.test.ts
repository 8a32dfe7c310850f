import { randomBytes } from "node:crypto";
import * as fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { authBackedUp, restoreAuth, verifyAuth } from "../../../../lib/auth/restore.table.ts";
import { type AuthStore, authStore } from "../../../../lib/auth/store.table.ts";
import type { UserFilter } from "../../../../lib/auth/store.ts";
import { authTables, openAuthTables } from "../../../../lib/auth/tables.table.ts";
import { type Blobs, openBlobs } from "../../../../lib/platform/azure/blobs.ts";
import { openTables, type Tables } from "../../../../lib/platform/azure/tables.ts";
import { createLog } from "../../../../lib/platform/log.ts";
import { backUp } from "../../../../lib/platform/maintenance/back-up.ts";
import { backupsContainer, openBackup } from "../../../../lib/platform/maintenance/read-backup.ts";
import { restore } from "../../../../lib/platform/maintenance/restore.ts";
import { days, instant, type Now, seconds } from "../../../../lib/platform/time.ts";
import { named, plainKey, storageDeps, username } from "../../../support/auth/store.ts";
import { createStage } from "../../../support/auth/store-steps.ts";
import { breaches, matches, residue, snapshotOf, type Truth, truthOf } from "../../../support/auth/store-truth.ts";
import { type FreshStorage, freshStorage } from "../../../support/storage/fresh-storage.ts";

const timeoutMs = seconds(15);
const now: Now = () => instant(Date.now());
const random = (size: number) => randomBytes(size);
const lines: string[] = [];
const log = createLog((_, line) => lines.push(line));
const deps = { ...storageDeps, now, random, log };

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
    rename: store => store.users.rename(whom, username(`${user}.renamed`)),
    renameBack: store => store.users.rename(named(`${user}.renamed`), username(user)),
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

/** Sends a request for a page of a table, the first of which is 1, when it wants to. */
type Around = (table: string, page: number, send: () => Promise<void>) => Promise<unknown>;

/** Pages of two rows: as a table of many pages is read while others write. */
const inSmallPages = (around: Around) => {
  const counts = new Map<string, number>();
  return {
    position: "perCall" as const,
    policy: {
      name: "small-pages",
      async sendRequest<Q extends { url: string }, R>(request: Q, next: (request: Q) => Promise<R>): Promise<R> {
        if (!/(%24|\$)top=1000/.test(request.url)) return next(request);
        request.url = request.url.replace(/((?:%24|\$)top)=1000/, "$1=2");
        const table = /\/(\w+)\(\)/.exec(request.url)?.[1] ?? "";
        counts.set(table, (counts.get(table) ?? 0) + 1);
        const page = Promise.withResolvers<R>();
        await around(table, counts.get(table) ?? 0, () => next(request).then(page.resolve, page.reject));
        return page.promise;
      },
    },
  };
};

/** What the last restore has reported. */
let report: Awaited<ReturnType<typeof restoreAuth>> | undefined;

/** Backs up two users and two keys, one of them assigned, while others write, restores that, and holds it against itself. */
async function restoredBeside(
  beside: (backup: (around: Around) => Promise<void>) => Promise<void>,
): Promise<readonly Truth[]> {
  await Promise.all(
    authTables.map(async name => {
      const table = tables.table(name);
      for await (const { partitionKey, rowKey } of table.scan()) await table.remove(partitionKey, rowKey);
    }),
  );
  const store = authStore(tables, deps);
  for (const name of users) await store.users.create({ username: username(name) });
  for (const prefix of prefixes) await store.otpkeys.create(plainKey(prefix));
  for (const act of ["assign", "setX"] as const) await actsOn("ada", "kone")[act](store);

  let id = "";
  await beside(async around => {
    const { connectionString } = storage;
    const paged = openTables({ connectionString, timeoutMs, policies: [inSmallPages(around)] });
    const deps = { tables: paged, blobs, now, random, log, keepMs: days(30) };
    id = (await backUp(authBackedUp, deps)).backup;
  });

  const windows = { lookAhead: 15, resync: 100, steps: 1 };
  const backup = await openBackup(blobs, authBackedUp, id);
  const steps = {
    verify: () => verifyAuth(backup, log),
    write: () => restoreAuth(backup, openAuthTables(tables, deps), { uses: 0, windows }),
  };
  const how = { replace: true, skip_unreadable: false };
  report = await restore(backup, { tables: authTables, containers: [] }, how, steps, { tables, blobs, log });
  return holdsTogether(store);
}

/** Two writers and the backup, one storage call at a time. A call of the backup is sent in the place of one that names the page. */
async function byTurns(
  backup: (around: Around) => Promise<void>,
  { writers, turns }: { readonly writers: readonly [readonly Act[], readonly Act[]]; readonly turns: readonly Actor[] },
): Promise<void> {
  const pages = new Map<string, () => Promise<void>>();
  const withPages: Tables = {
    ...tables,
    table: name => {
      const real = tables.table(name);
      const get: typeof real.get = async (partitionKey, rowKey) => {
        const send = pages.get(`${name} ${partitionKey}`);
        return send === undefined ? real.get(partitionKey, rowKey) : void (await send());
      };
      return { ...real, get };
    },
  };
  const stage = createStage(withPages);
  const write = (actor: Actor, acts: readonly Act[]) => async () => {
    const own = authStore(stage.of(actor), deps);
    for (const act of acts) await act(own);
  };
  const around: Around = (table, page, send) => {
    pages.set(`${table} page ${page}`, send);
    return stage.of("backup").table(table).get(`page ${page}`, "none");
  };
  let at = 0;
  await stage.run(
    { one: write("one", writers[0]), two: write("two", writers[1]), backup: () => backup(around) },
    waiting => {
      const actor = turns[at++ % turns.length];
      return Math.max(
        0,
        waiting.findIndex(call => call.actor === actor),
      );
    },
  );
}

const filters: readonly UserFilter[] = [
  ...values.map(value => ({ attributes: new Map([[attribute, value]]) })),
  ...prefixes.map(otpkey => ({ attributes: new Map(), otpkey })),
];

async function holdsTogether(store: AuthStore): Promise<readonly Truth[]> {
  const rows = await snapshotOf(tables);
  const truths = truthOf(rows);
  expect([...breaches(rows), ...residue(rows)]).toEqual([]);
  for (const filter of filters) {
    const expected = truths.filter(truth => matches(filter, truth)).map(({ user }) => user.id);
    const { entries } = await store.users.list({ top: 1000 }, filter);
    expect(entries.map(({ id }) => id)).toEqual(expected.sort((one, other) => one - other));
  }
  // What was restored can be changed as before.
  for (const { user, attributes } of truths) {
    expect((await store.users.find(named(user.name)))?.value.id).toBe(user.id);
    const changed = await store.attributes.set({ user: named(user.name) }, "later", "z");
    expect(changed).toEqual({ ok: true, value: { ...attributes, later: "z" } });
  }
  return truths;
}

describe("a backup that is made while two writers write is restored to lists, filters and assignments that hold together", () => {
  test("with any actor next at each storage call", async () => {
    let found = 0;
    const check = fc.asyncProperty(scenes, async scene => {
      found += (await restoredBeside(backup => byTurns(backup, scene))).length;
    });
    await fc.assert(check, { numRuns: 8, seed: 6 });
    expect(found).toBeGreaterThan(4);
  });

  const { create, remove, rename, setY, setFirst, make, drop, assign } = actsOn("ada", "kone");
  const takeName: Act = store => store.users.rename(named("grace"), username("ada"));
  const removeRenamed: Act = store => store.users.remove(named("ada.renamed"));
  type Script = readonly [acts: readonly Act[], page: number, otpkeys: number, users?: number];
  const scripted: Readonly<Record<string, Script>> = {
    "an assigned key is made anew after keys were read": [[drop, make, assign], 1, 0],
    "an assigned key is deleted after keys were read": [[drop], 1, 0],
    // The first page of users ends within the rows of ada.
    "a user is made anew while their rows are read": [[remove, create, setY], 2, 0],
    "a user is renamed after users were read": [[rename], 9, 1],
    "a user is renamed before users are read": [[rename], 1, 1],
    "a user is renamed while their rows are read": [[rename], 2, 1],
    "a user is renamed while the other's rows are read": [[rename], 3, 1],
    "a user is renamed after they were read, and the other one takes the name": [[rename, takeName], 3, 1],
    "a user is renamed and deleted after they were read, and the other one takes the name": [
      [rename, removeRenamed, takeName],
      4,
      1,
    ],
    "an attribute that was passed already is set while the user's rows are read": [[setFirst], 2, 1],
  };
  test.each(Object.entries(scripted))("%s", async (_, [acts, before, otpkeys, found = 2]) => {
    const store = authStore(tables, deps);
    const truths = await restoredBeside(backup =>
      backup(async (table, page, send) => {
        if (table === "users" && page === before) for (const act of acts) await act(store);
        await send();
      }),
    );
    expect(truths.length).toBe(found);
    expect(truths.map(each => each.user.otpkeys.length).reduce((sum, size) => sum + size)).toBe(otpkeys);
  });

  test("of two users who would have one name the one who was read later has it, and the task reports the other", async () => {
    const store = authStore(tables, deps);
    const truths = await restoredBeside(backup =>
      backup(async (table, page, send) => {
        // The rows of ada are read, those of grace are not.
        if (table === "users" && page === 3) for (const act of [rename, takeName]) await act(store);
        await send();
      }),
    );
    const [first, second] = truths.map(({ user }) => user).toSorted((one, other) => one.id - other.id);
    expect([first?.name, second?.name]).toEqual([`ada~${first?.id}`, "ada"]);
    expect(report?.renamed).toEqual([{ id: first?.id, name: `ada~${first?.id}` }]);
    const events = lines.map(line => JSON.parse(line)).filter(({ event }) => event === "user_renamed");
    expect(events).toContainEqual({ event: "user_renamed", userId: first?.id, username: `ada~${first?.id}` });
  });
});
