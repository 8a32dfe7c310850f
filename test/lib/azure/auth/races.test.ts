import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AuthStore, UserFilter } from "../../../../lib/auth/store.ts";
import { minutes } from "../../../../lib/time.ts";
import { identified, named, openAuthStorage, plainKey, username } from "../../../support/auth/store.ts";
import { createStage, inTurns } from "../../../support/auth/store-steps.ts";
import { breaches, indexed, listBreaches, matches, truthOf } from "../../../support/auth/store-truth.ts";

const storage = await openAuthStorage();
/** Without the users of the scenes, which every list would show. */
const listStorage = await openAuthStorage();
let scene = 0;

type Act = (store: AuthStore) => Promise<unknown>;

/** What two writers do, and what a reader asks for meanwhile. */
interface Scene {
  readonly before: readonly Act[];
  readonly writers: readonly [readonly Act[], readonly Act[]];
  readonly filter: UserFilter;
}

/** Names of one run, so that runs do not meet. */
const names = (n: number) => ({ user: `user${n}`, other: `other${n}`, prefix: `key${n}`, key: `k${n}` });

const create =
  (name: string): Act =>
  store =>
    store.users.create({ username: username(name) });

/** Every scene plays with one user, two attributes and one key. */
function acts({ user, other, prefix, key }: ReturnType<typeof names>) {
  const userRef = named(user);
  return {
    createUser: create(user),
    createOther: create(other),
    /** Renames the user of the one name to the other name. */
    rename: (store: AuthStore) => store.users.rename(userRef, username(other)),
    renameBack: (store: AuthStore) => store.users.rename(named(other), username(user)),
    removeOther: (store: AuthStore) => store.users.remove(named(other)),
    setOther: (value: string) => (store: AuthStore) => store.attributes.set({ user: named(other) }, key, value),
    removeUser: (store: AuthStore) => store.users.remove(userRef),
    set: (value: string) => (store: AuthStore) => store.attributes.set({ user: userRef }, key, value),
    setSecond: (value: string) => (store: AuthStore) => store.attributes.set({ user: userRef }, `${key}.2`, value),
    unset: (store: AuthStore) => store.attributes.remove({ user: userRef }, key),
    createKey: (store: AuthStore) => store.otpkeys.create(plainKey(prefix)),
    createKeys: (store: AuthStore) => store.otpkeys.createMany([prefix, `${prefix}x`].map(plainKey)),
    removeKey: (store: AuthStore) => store.otpkeys.remove(prefix),
    assign: (store: AuthStore) => store.otpkeys.assign(userRef, prefix),
    unassign: (store: AuthStore) => store.otpkeys.unassign(userRef, prefix),
    enable: (enabled: boolean) => async (store: AuthStore) => {
      const found = await store.otpkeys.find(prefix);
      return found && store.otpkeys.save(found, { ...found.value, enabled });
    },
    by: (value: string): UserFilter => ({ attributes: new Map([[key, value]]) }),
    byBoth: (value: string, second: string): UserFilter => ({
      attributes: new Map([
        [key, value],
        [`${key}.2`, second],
      ]),
    }),
    byKey: { attributes: new Map(), otpkey: prefix } satisfies UserFilter,
    byKeyAnd: (value: string): UserFilter => ({ attributes: new Map([[key, value]]), otpkey: prefix }),
  };
}

const scenes: Record<string, (act: ReturnType<typeof acts>) => Scene> = {
  "a value is left and taken again": ({ createUser, set, by }) => ({
    before: [createUser, set("a")],
    writers: [[set("b")], [set("a")]],
    filter: by("a"),
  }),
  "a value is taken and left, by two": ({ createUser, set, by }) => ({
    before: [createUser],
    writers: [
      [set("a"), set("b")],
      [set("a"), set("c")],
    ],
    filter: by("a"),
  }),
  "an attribute is deleted and set": ({ createUser, set, unset, by }) => ({
    before: [createUser, set("a")],
    writers: [
      [unset, set("a")],
      [set("b"), set("a")],
    ],
    filter: by("a"),
  }),
  "two attributes are each right, never together": ({ createUser, set, setSecond, byBoth }) => ({
    before: [createUser, set("a"), setSecond("x")],
    writers: [[set("b"), setSecond("y")], [set("b")]],
    filter: byBoth("a", "y"),
  }),
  "the user is deleted and made anew": ({ createUser, removeUser, set, by }) => ({
    before: [createUser, set("a")],
    writers: [[removeUser, createUser, set("a")], [set("b")]],
    filter: by("a"),
  }),
  "a key is assigned and unassigned": ({ createUser, createKey, assign, unassign, byKey }) => ({
    before: [createUser, createKey],
    writers: [[assign, unassign], [assign]],
    filter: byKey,
  }),
  "a key is assigned while it is deleted and made anew": ({ createUser, createKey, removeKey, assign, byKey }) => ({
    before: [createUser, createKey],
    writers: [[removeKey, createKey], [assign]],
    filter: byKey,
  }),
  "an assigned key is deleted while it is assigned anew": ({
    createUser,
    createKey,
    removeKey,
    assign,
    unassign,
    byKey,
  }) => ({
    before: [createUser, createKey, assign],
    writers: [[removeKey], [unassign, assign]],
    filter: byKey,
  }),
  "a key and an attribute come and go": ({ createUser, createKey, set, assign, unassign, byKeyAnd }) => ({
    before: [createUser, createKey, set("a")],
    writers: [
      [assign, set("b")],
      [unassign, set("a")],
    ],
    filter: byKeyAnd("a"),
  }),
  "a user is renamed while an attribute changes": ({ createUser, rename, set, by }) => ({
    before: [createUser, set("a")],
    writers: [[rename], [set("b"), set("a")]],
    filter: by("a"),
  }),
  "a user without attributes is renamed while the first one is set": ({ createUser, rename, set, by }) => ({
    before: [createUser],
    writers: [[rename], [set("a")]],
    filter: by("a"),
  }),
  "a user is renamed and renamed back": ({ createUser, rename, renameBack, set, setOther, by }) => ({
    before: [createUser, set("a")],
    writers: [
      [rename, renameBack],
      [set("b"), setOther("b")],
    ],
    filter: by("a"),
  }),
  "a user is renamed while the new name is created": ({ createUser, createOther, rename, set, setOther, by }) => ({
    before: [createUser, set("a")],
    writers: [[rename], [createOther, setOther("a")]],
    filter: by("a"),
  }),
  "a user is renamed while the user is deleted and both names are made anew": ({
    createUser,
    createOther,
    removeUser,
    rename,
    set,
    by,
  }) => ({
    before: [createUser, set("a")],
    writers: [[rename], [removeUser, createUser, createOther, set("a")]],
    filter: by("a"),
  }),
  "two users exchange a name": ({ createUser, createOther, removeOther, rename, renameBack, set, setOther, by }) => ({
    before: [createUser, createOther, set("a"), setOther("a")],
    writers: [
      [removeOther, rename],
      [rename, renameBack],
    ],
    filter: by("a"),
  }),
  "a user is renamed while a key is assigned and unassigned": ({
    createUser,
    createKey,
    rename,
    assign,
    unassign,
    byKey,
  }) => ({
    before: [createUser, createKey, assign],
    writers: [[rename], [unassign, assign]],
    filter: byKey,
  }),
  "a user is renamed while an assigned key is deleted": ({
    createUser,
    createKey,
    removeKey,
    rename,
    assign,
    byKey,
  }) => ({
    before: [createUser, createKey, assign],
    writers: [[rename], [removeKey]],
    filter: byKey,
  }),
};

type Actor = "one" | "two" | "reader";
type Choose = Parameters<ReturnType<typeof createStage>["run"]>[1];

/** Runs a scene. Returns what the reader got, and the matching users at each moment from its first call to its last. */
async function play(
  toScene: (act: ReturnType<typeof acts>) => Scene,
  { choose, tidies }: { readonly choose: Choose; readonly tidies: boolean },
) {
  const { tables, rows } = storage;
  const of = names(scene++);
  const { before, writers, filter } = toScene(acts(of));
  for (const act of before) await act(storage.store);

  const stage = createStage(tables);
  const store = (actor: Actor, aheadMs = 0) => storage.on(stage.of(actor), aheadMs);
  const moments: Set<number>[] = [];
  const look = async () => {
    const truths = await truthOf(rows, [of.user, of.other]);
    const ids = truths.map(({ id }) => id);
    expect(new Set(ids).size, "a user has two names").toBe(ids.length);
    moments.push(new Set(truths.filter(truth => matches(filter, truth)).map(({ id }) => id)));
    return truths;
  };
  const write = (acts: readonly Act[], on: AuthStore) => async () => {
    for (const act of acts) await act(on);
  };
  let startedAt: number | undefined;
  let ended = 0;
  let result: readonly number[] = [];
  const work: Record<Actor, () => Promise<void>> = {
    one: write(writers[0], store("one")),
    two: write(writers[1], store("two")),
    reader: async () => {
      const page = await store("reader", tidies ? minutes(20) : 0).users.list({ top: 1000 }, filter);
      result = page.entries.map(({ id }) => id);
      ended = moments.length;
    },
  };
  await look();
  await stage.run(
    work,
    waiting => {
      const next = choose(waiting);
      if (waiting[next]?.actor === "reader") startedAt ??= moments.length - 1;
      return next;
    },
    async ({ writes, name }) => {
      if (!writes) return;
      const truths = await look();
      if (!name.startsWith("upsert")) expect(await breaches(rows, truths)).toEqual([]);
    },
  );
  const matching = moments.slice(startedAt, ended);
  const always = [...(matching[0] ?? [])].filter(id => matching.every(moment => moment.has(id)));
  expect(result, "misses one who matched before the call began, and all the while").toEqual(
    expect.arrayContaining(always),
  );
  const never = result.filter(id => !matching.some(moment => moment.has(id)));
  expect(never, "returns one who did not match at any moment of the call").toEqual([]);

  // What the losers of a race left behind goes when it is met later on.
  const later = storage.on(tables, minutes(20));
  const truths = await truthOf(rows, [of.user, of.other]);
  for (const part of partsOf(filter)) {
    await later.users.list({ top: 1000 }, part);
    const expected = truths.filter(truth => matches(part, truth)).map(({ id }) => id);
    expect(await indexed(rows, part)).toEqual([expected.sort((one, other) => one - other)]);
  }
  return { result, truths };
}

/** Each part of a filter by itself. */
const partsOf = ({ attributes, otpkey }: UserFilter): UserFilter[] => [
  ...[...attributes].map(entry => ({ attributes: new Map([entry]) })),
  ...(otpkey === undefined ? [] : [{ attributes: new Map(), otpkey }]),
];

/**
 * An order of turns: the actor with the highest rank runs until it is done, but at some calls it falls to the lowest.
 * Most mistakes of a race need only a few such places (Burckhardt and others, 2010).
 */
const orders = fc.record({
  ranks: fc.shuffledSubarray<Actor>(["one", "two", "reader"], { minLength: 3 }),
  falls: fc.uniqueArray(fc.nat(30), { maxLength: 4 }),
  /** Whether the reader takes every index row for one that is old enough to be tidied away. */
  tidies: fc.boolean(),
});

function byRank({ ranks, falls }: { readonly ranks: readonly Actor[]; readonly falls: readonly number[] }): Choose {
  const order = [...ranks];
  let turn = 0;
  return waiting => {
    if (falls.includes(turn++)) order.push(...order.splice(0, 1));
    const next = order.find(name => waiting.some(({ actor }) => actor === name));
    return waiting.findIndex(({ actor }) => actor === next);
  };
}

const runs = 6;

describe("two writers and a reader, by turns at every storage call", () => {
  test.each(Object.entries(scenes))("%s", async (_, toScene) => {
    const check = fc.asyncProperty(orders, async order => {
      await play(toScene, { choose: byRank(order), tidies: order.tidies });
    });
    await fc.assert(check, { numRuns: runs, seed: 20 });
  });
});

describe("the turns that each guard is for", () => {
  test("a value with an index row and no attribute row yet matches no user", async () => {
    const { result } = await play(
      ({ createUser, set, by }) => ({ before: [createUser], writers: [[set("a")], []], filter: by("a") }),
      { choose: inTurns([["one", /^transact users/], ["reader"], ["one"]]), tidies: false },
    );
    expect(result).toEqual([]);
  });

  test("what a reader tidies away is announced again by the writer who was about to write it", async () => {
    const { truths } = await play(
      ({ createUser, set, by }) => ({ before: [createUser], writers: [[set("a")], []], filter: by("a") }),
      { choose: inTurns([["one", /^transact users/], ["reader"], ["one"]]), tidies: true },
    );
    expect(truths[0]?.attributes.size).toBe(1);
  });

  test("a reader does not tidy away what was announced again since it looked", async () => {
    await play(({ createUser, set, by }) => ({ before: [createUser], writers: [[set("a")], []], filter: by("a") }), {
      choose: inTurns([["one", /^transact users/], ["reader", /^remove attributeusers/], ["one"], ["reader"]]),
      tidies: true,
    });
  });

  test("a writer does not take away what was announced again since it looked", async () => {
    await play(
      ({ createUser, set, by }) => ({
        before: [createUser, set("a")],
        writers: [[set("b")], [set("a")]],
        filter: by("a"),
      }),
      { choose: inTurns([["one", /^remove attributeusers/], ["two"], ["one"], ["reader"]]), tidies: false },
    );
  });

  test("two attributes that were each right, one after the other, match together only where they did", async () => {
    const { result } = await play(
      ({ createUser, set, setSecond, byBoth }) => ({
        before: [createUser, set("a"), setSecond("x")],
        writers: [[set("b")], [setSecond("y")]],
        filter: byBoth("a", "y"),
      }),
      {
        choose: inTurns([["two", /^transact users/], ["reader", /^query users/], ["one"], ["two"], ["reader"]]),
        tidies: false,
      },
    );
    expect(result).toEqual([]);
  });

  test("a writer who meant the name's former owner leaves the next one's attribute alone", async () => {
    const { truths } = await play(
      ({ createUser, removeUser, set, by }) => ({
        before: [createUser],
        writers: [[set("b")], [removeUser, createUser, set("a")]],
        filter: by("a"),
      }),
      { choose: inTurns([["one", /^get users .*"attributes"/], ["two"], ["one"], ["reader"]]), tidies: false },
    );
    expect([...(truths[0]?.attributes.values() ?? [])]).toEqual(["a"]);
  });

  test("a key that is being assigned is not deleted as unassigned", async () => {
    await play(
      ({ createUser, createKey, removeKey, assign, byKey }) => ({
        before: [createUser, createKey],
        writers: [[removeKey], [assign]],
        filter: byKey,
      }),
      { choose: inTurns([["one", /^remove otpkeys/], ["two"], ["one"], ["reader"]]), tidies: false },
    );
  });

  test("a writer who meant the prefix's former key does not take the next one's attribute for a leftover", async () => {
    const of = names(scene++);
    const { createKey, removeKey } = acts(of);
    const describeAs = (value: string) => (store: AuthStore) =>
      store.attributes.set({ otpkey: of.prefix }, "colour", value);
    await createKey(storage.store);
    const stage = createStage(storage.tables);
    const next = storage.on(stage.of("two"));
    await stage.run(
      {
        one: () => describeAs("black")(storage.on(stage.of("one"))),
        two: async () => {
          for (const act of [removeKey, createKey, describeAs("white")]) await act(next);
        },
      },
      inTurns([["one", /^get otpkeys .*"attributes"/], ["two"], ["one"]]),
    );
    // It began again, and meant the next one then.
    expect(await storage.store.attributes.all({ otpkey: of.prefix })).toEqual({ colour: "black" });
  });

  test("an attribute that is set while the OTP key is deleted leaves no row", async () => {
    const of = names(scene++);
    const { createKey, removeKey } = acts(of);
    await createKey(storage.store);
    const stage = createStage(storage.tables);
    let set: unknown;
    await stage.run(
      {
        one: async () => {
          set = await storage.on(stage.of("one")).attributes.set({ otpkey: of.prefix }, "owner", "Ada");
        },
        two: () => removeKey(storage.on(stage.of("two"))),
      },
      inTurns([["one", /^transact otpkeys/], ["two"], ["one"]]),
    );
    expect(set, "there is no such OTP key any more").toBeUndefined();
    expect(await storage.rows("otpkeys", of.prefix)).toEqual([]);
  });

  test("a key that is being deleted goes on when its holder's rows have changed", async () => {
    await play(
      ({ createUser, createKey, removeKey, assign, set, byKey }) => ({
        before: [createUser, createKey, assign],
        writers: [[removeKey], [set("a")]],
        filter: byKey,
      }),
      { choose: inTurns([["one", /^transact users/], ["two"], ["one"], ["reader"]]), tidies: false },
    );
  });

  test("a key made anew while it is looked at through a user is not that user's", async () => {
    const of = names(scene++);
    const { createUser, createKey, assign, removeKey } = acts(of);
    for (const act of [createUser, createKey, assign]) await act(storage.store);
    const stage = createStage(storage.tables);
    let seen: unknown = "nothing";
    await stage.run(
      {
        reader: async () => {
          seen = await storage.on(stage.of("reader")).otpkeys.view(of.prefix, named(of.user));
        },
        writer: async () => {
          await removeKey(storage.on(stage.of("writer")));
          await createKey(storage.on(stage.of("writer")));
        },
      },
      // The reader's assignment first, its key last.
      waiting => {
        const place = (actor: string, call: RegExp) =>
          waiting.findIndex(each => each.actor === actor && call.test(each.name));
        return [place("reader", /^get users/), place("writer", /./), 0].find(index => index !== -1) ?? 0;
      },
    );
    expect(seen).toBeUndefined();
  });

  test("a writer who read the user before a rename changes nothing of what the rename has left", async () => {
    const { truths } = await play(
      ({ createUser, rename, set, by }) => ({
        before: [createUser, set("a")],
        writers: [[set("b")], [rename]],
        filter: by("a"),
      }),
      { choose: inTurns([["one", /^get users .*"attributes"/], ["two"], ["one"], ["reader"]]), tidies: false },
    );
    expect(truths.flatMap(({ attributes }) => [...attributes.values()])).toEqual(["b"]);
  });

  test.each([/^transact users .*"renamed"/, /^replace users .*"to"/])(
    "a rename that stands before %s starts again if an attribute was set meanwhile",
    async before => {
      const { truths } = await play(
        ({ createUser, rename, set, by }) => ({
          before: [createUser],
          writers: [[rename], [set("a")]],
          filter: by("a"),
        }),
        { choose: inTurns([["one", before], ["two"], ["one"], ["reader"]]), tidies: false },
      );
      expect(truths.flatMap(({ attributes }) => [...attributes.values()])).toEqual(["a"]);
    },
  );

  test("a rename whose claim was removed by a creation of the name leaves the user as before", async () => {
    const { truths } = await play(
      ({ createUser, createOther, rename, set, setOther, by }) => ({
        before: [createUser, set("a")],
        writers: [[rename], [createOther, setOther("a")]],
        filter: by("a"),
      }),
      { choose: inTurns([["one", /^replace users .*"to"/], ["two"], ["one"], ["reader"]]), tidies: false },
    );
    expect(truths.map(({ attributes }) => [...attributes.values()])).toEqual([["a"], ["a"]]);
  });

  test("a rename commits nothing that another rename of the user to the same name has copied before a change", async () => {
    const { truths } = await play(
      ({ createUser, rename, set, by }) => ({
        before: [createUser, set("a")],
        writers: [[rename], [set("b"), rename]],
        filter: by("b"),
      }),
      {
        choose: inTurns([
          ["one", /^get users .*"attributes"/],
          ["two", /^replace users .*"to"/],
          ["one", /^replace users .*"to"/],
          ["two"],
          ["one"],
          ["reader"],
        ]),
        tidies: false,
      },
    );
    expect(truths.flatMap(({ attributes }) => [...attributes.values()])).toEqual(["b"]);
  });

  test("a rename copies nothing over what another rename of the user to the same name has copied after a change", async () => {
    const { truths } = await play(
      ({ createUser, rename, set, by }) => ({
        before: [createUser, set("a")],
        writers: [[rename], [set("b"), rename]],
        filter: by("b"),
      }),
      {
        choose: inTurns([
          ["one", /^transact users .*"upsert"/],
          ["two", /^replace users .*"to"/],
          ["one", /^replace users .*"to"/],
          ["two"],
          ["one"],
          ["reader"],
        ]),
        tidies: false,
      },
    );
    expect(truths.flatMap(({ attributes }) => [...attributes.values()])).toEqual(["b"]);
  });

  test("a reader finds a user whose former name is taken between two reads", async () => {
    const of = names(scene++);
    const { createUser, set, rename } = acts(of);
    for (const act of [createUser, set("a")]) await act(storage.store);
    const id = (await storage.store.users.find(named(of.user)))?.value.id ?? 0;
    const stage = createStage(storage.tables);
    let value: unknown;
    await stage.run(
      {
        reader: async () => {
          value = await storage.on(stage.of("reader")).attributes.get({ user: identified(id) }, of.key);
        },
        writer: async () => {
          for (const act of [rename, createUser]) await act(storage.on(stage.of("writer")));
        },
      },
      inTurns([["reader", /^get users .*"attr:/], ["writer"], ["reader"]]),
    );
    expect(value).toBe("a");
  });

  test("a key that is being deleted is not assigned", async () => {
    await play(
      ({ createUser, createKey, removeKey, assign, byKey }) => ({
        before: [createUser, createKey],
        writers: [[removeKey], [assign]],
        filter: byKey,
      }),
      { choose: inTurns([["two", /^transact users/], ["one"], ["two"], ["reader"]]), tidies: false },
    );
  });
});

describe("lists are correct at every storage call", () => {
  type Writers = (act: ReturnType<typeof acts>) => Pick<Scene, "before" | "writers">;
  const listScenes: Record<string, Writers> = {
    "a user is deleted and made anew": ({ createUser, removeUser }) => ({
      before: [createUser],
      writers: [
        [removeUser, createUser],
        [createUser, removeUser],
      ],
    }),
    "a user is renamed and renamed back": ({ createUser, rename, renameBack }) => ({
      before: [createUser],
      writers: [[rename], [renameBack, rename]],
    }),
    "a user is renamed while the new name is created and deleted": ({
      createUser,
      createOther,
      removeOther,
      rename,
    }) => ({
      before: [createUser],
      writers: [[rename], [createOther, removeOther]],
    }),
    "a key is disabled and enabled": ({ createKey, enable }) => ({
      before: [createKey],
      writers: [[enable(false)], [enable(true), enable(false)]],
    }),
    "keys are created together by two, deleted and disabled": ({ createKeys, removeKey, enable }) => ({
      before: [],
      writers: [
        [createKeys, enable(false)],
        [createKeys, removeKey, createKeys],
      ],
    }),
    "keys are created together while one of them is created alone": ({ createKeys, createKey, removeKey }) => ({
      before: [],
      writers: [[createKeys], [createKey, removeKey, createKey]],
    }),
    "a key is deleted, disabled and made anew": ({ createKey, removeKey, enable }) => ({
      before: [createKey],
      writers: [[removeKey, createKey], [enable(false)]],
    }),
  };

  async function playList(toWriters: Writers, choose: Choose) {
    const { tables, rows } = listStorage;
    const of = names(scene++);
    const { before, writers } = toWriters(acts(of));
    for (const act of before) await act(listStorage.store);
    const stage = createStage(tables);
    const write = (written: readonly Act[], actor: Actor) => async () => {
      for (const act of written) await act(listStorage.on(stage.of(actor)));
    };
    // By a clock that is ahead, so that it marks clean what others marked dirty just now.
    const reader = listStorage.on(stage.of("reader"), minutes(20));
    const work = {
      one: write(writers[0], "one"),
      two: write(writers[1], "two"),
      reader: async () => {
        await reader.users.list({ top: 1000 });
        for (const name of [of.user, of.other]) await reader.users.listByName(name, { top: 1000 });
        await reader.otpkeys.list({ top: 1000 });
      },
    };
    await stage.run(work, choose, async ({ writes }) => {
      if (writes) expect(await listBreaches(rows, [of.user, of.other], of.prefix)).toEqual([]);
    });
  }

  test.each(Object.entries(listScenes))("%s", async (_, toWriters) => {
    const check = fc.asyncProperty(orders, order => playList(toWriters, byRank(order)));
    await fc.assert(check, { numRuns: runs, seed: 20 });
  });

  /**
   * Renames a user. After so many storage calls of the rename a list begins, and after so many of its own the rename
   * goes on to its end. Returns whether the list has the user once.
   */
  async function listDuringRename([from, to]: readonly [string, string], renameCalls: number, listCalls: number) {
    const { tables, store } = listStorage;
    const name = `list${scene++}`;
    const created = await store.users.create({ username: username(name + from) });
    const stage = createStage(tables);
    let listed: readonly { readonly id: number }[] = [];
    let turn = 0;
    await stage.run(
      {
        one: () => listStorage.on(stage.of("one")).users.rename(named(name + from), username(name + to)),
        reader: async () => {
          const reader = listStorage.on(stage.of("reader"));
          ({ entries: listed } = await reader.users.listByName(name, { top: 1000 }));
        },
      },
      waiting => {
        turn++;
        const actor = turn > renameCalls && turn <= renameCalls + listCalls ? "reader" : "one";
        return Math.max(
          0,
          waiting.findIndex(call => call.actor === actor),
        );
      },
    );
    return listed.length === 1 && listed[0]?.id === created?.value.id;
  }

  // In one direction the row of the new name is before that of the former one.
  test.each([
    ["a", "b"],
    ["b", "a"],
  ] as const)("a list by name has a user once who is renamed meanwhile, from …%s to …%s", async (from, to) => {
    const wrong: string[] = [];
    for (let renameCalls = 8; renameCalls < 22; renameCalls++)
      for (const listCalls of [1, 2, 3])
        if (!(await listDuringRename([from, to], renameCalls, listCalls))) wrong.push(`${renameCalls}, ${listCalls}`);
    expect(wrong).toEqual([]);
  });

  test("a deletion starts again if a reader marked its dirty list row clean", async () => {
    await playList(
      ({ createUser, removeUser }) => ({ before: [createUser], writers: [[removeUser], []] }),
      inTurns([["one", /^remove users/], ["reader"], ["one"]]),
    );
  });

  test("a change of a key starts again if a reader marked its dirty list row clean", async () => {
    await playList(
      ({ createKey, enable }) => ({ before: [createKey], writers: [[enable(false)], []] }),
      inTurns([["one", /^replace otpkeys/], ["reader"], ["one"]]),
    );
  });

  test("a reader does not mark a row clean that was marked dirty again since it was read", async () => {
    await playList(
      ({ createKey, enable }) => ({ before: [createKey], writers: [[enable(false)], [enable(true)]] }),
      inTurns([
        ["one", /^replace otpkeys/],
        ["reader", /^replace ids/],
        ["two", /^replace otpkeys/],
        ["reader"],
        ["one"],
      ]),
    );
  });

  test("a list leaves open what is being created", async () => {
    await playList(
      ({ createUser }) => ({ before: [], writers: [[createUser], []] }),
      inTurns([["one", /^insert users/], ["reader"], ["one"]]),
    );
  });
});
