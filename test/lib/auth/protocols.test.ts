import { beforeAll, describe, expect, test } from "vitest";
import { attributeOf } from "../../../lib/auth/attributes/attributes.ts";
import type { AuthStore } from "../../../lib/auth/store.table.ts";
import type { ThrottleState, UserFilter, UserSummary } from "../../../lib/auth/store.ts";
import { authTables } from "../../../lib/auth/tables.table.ts";
import { openTables } from "../../../lib/platform/azure/tables.ts";
import { Fault } from "../../../lib/platform/fault.ts";
import { hours, instant, plus } from "../../../lib/platform/time.ts";
import {
  type CallFault,
  type Choices,
  type Operation,
  runTogether,
  settle,
  Violation,
  type World,
} from "../../support/auth/protocol-run.ts";
import { identified, named, plainKey, username } from "../../support/auth/store.ts";
import { matches, snapshotOf, type Truth, truthOf } from "../../support/auth/store-truth.ts";
import { freshStorage, storageTimeoutMs } from "../../support/storage/fresh-storage.ts";
import { type MemoryTables, memoryTables } from "../../support/storage/memory-tables.ts";

/** Runs of each pair of operations, and of random operations. A nightly run can set more. */
const factor = Number(process.env.PROTOCOL_RUNS ?? 1);
const seed = Number(process.env.PROTOCOL_SEED ?? 1);

function randomNumbers(start: number): (below: number) => number {
  let state = (start * 2_654_435_761) >>> 0 || 1;
  return below => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % below;
  };
}

const callFaults: readonly CallFault[] = ["crash", "lost", "failed after it was made", "failed before it was made"];

/**
 * Choices of one run: any waiting call is next, or one actor runs on with a few changes, because most mistakes need only a
 * few. At most `faults` calls of about fifty fail.
 */
function choicesOf(next: (below: number) => number, faults: number): Choices {
  const isSteady = next(2) === 0;
  let left = faults;
  return {
    choose: count => (count === 0 || (isSteady && next(6) > 0) ? 0 : next(count)),
    fault: () => {
      if (left === 0 || next(12) > 0) return undefined;
      left -= 1;
      return callFaults[next(callFaults.length)];
    },
  };
}

const existing = { a: 0, b: 0 };

const failedOnce = { failures: 1, failedAt: instant(Date.UTC(2026, 10, 22)), reservations: [] };

/** Tables in memory with the users a, who has k=x, p1 and a failed sign-in, and b, and the OTP keys p1 and p2. */
const prepared = memoryTables();

/** Opens tables with these users and OTP keys: copies of those in memory, or fills others. */
async function openWorld(next: (below: number) => number, real?: World["tables"]): Promise<World> {
  const memory = prepared.copy();
  const world = worldOn(next, memory, real);
  if (real !== undefined) await prepare(world);
  world.history.push(truthOf(await world.snapshot()));
  return world;
}

function worldOn(next: (below: number) => number, memory: MemoryTables, real?: World["tables"]): World {
  // Epochs are write ids: those of a copy differ from those of the tables that it was copied from.
  let drawn = memory === prepared ? 1000 : 30_000;
  const tables = real ?? memory;
  const clock = { now: "2026-11-21T12:30:00.000Z" };
  const world: World = {
    tables,
    snapshot: () =>
      real ? snapshotOf(real) : Promise.resolve(new Map(authTables.map(name => [name, memory.rowsOf(name)]))),
    clock,
    // Two bytes make the id of a user in one millisecond: sometimes that of the creation before.
    random: size => {
      const number = size === 2 && next(4) === 0 ? drawn : ++drawn;
      const bytes = Buffer.alloc(Math.max(size, 4));
      bytes.writeUInt32BE(number, bytes.length - 4);
      return new Uint8Array(bytes.subarray(bytes.length - size));
    },
    history: [],
    log: [],
  };
  return world;
}

async function prepare(world: World): Promise<void> {
  const alone = (operation: Operation) => runTogether(world, [operation], inOrder);
  world.history.push([]);
  for (const name of ["a", "b"]) await alone(create(name));
  for (const prefix of ["p1", "p2"]) await alone(createKey(prefix));
  const truths = truthOf(await world.snapshot());
  for (const { user } of truths) existing[user.name as "a" | "b"] = user.id;
  await alone(set(existing.a, "k", "x"));
  await alone(assign(existing.a, "p1"));
  await settle(world);
  // After clean-up, which removes it hours later.
  await alone(failOnce("a"));
  world.log.length = 0;
  world.history.length = 0;
}

beforeAll(() => prepare(worldOn(randomNumbers(1), prepared)));

const isSome = (during: readonly (readonly Truth[])[], is: (truths: readonly Truth[]) => boolean) => during.some(is);
const ofId = (truths: readonly Truth[], id: number) => truths.find(({ user }) => user.id === id);
const ofName = (truths: readonly Truth[], name: string) => truths.find(({ user }) => user.name === name);
const hasKey = (truth: Truth | undefined, prefix: string) =>
  truth?.user.otpkeys.some(each => each.prefix === prefix) === true;

const create = (name: string): Operation => ({
  name: `create ${name}`,
  run: async store => (await store.users.create({ username: username(name) }))?.value.id,
  check: (id, during) =>
    isSome(during, truths =>
      id === undefined ? ofName(truths, name) !== undefined : ofName(truths, name)?.user.id === id,
    ),
});

/** Creates a user with an attribute and an OTP key. */
const createWith = (name: string, prefix: string): Operation => ({
  name: `create ${name} with ${prefix}`,
  run: async store => {
    const user = { username: username(name), attributes: { k: "x" }, otpkeys: [prefix] };
    const created = await store.users.create(user).catch(error => {
      if (error instanceof Fault && error.kind === "invalid") return "no_key" as const;
      throw error;
    });
    return created === "no_key" ? created : created?.value.id;
  },
  check: (result, during) =>
    isSome(during, truths => {
      if (result === "no_key") return true;
      const truth = ofName(truths, name);
      return result === undefined
        ? truth !== undefined
        : truth?.user.id === result && hasKey(truth, prefix) && attributeOf(truth.attributes, "k") === "x";
    }),
});

function checkRename(
  result: unknown,
  during: readonly (readonly Truth[])[],
  name: string,
  isThere: (truths: readonly Truth[]) => boolean,
) {
  if (result === "no_user") return isSome(during, truths => !isThere(truths));
  if (result === "taken") return isSome(during, truths => ofName(truths, name) !== undefined);
  return isSome(during, truths => ofName(truths, name)?.user.id === (result as UserSummary).id);
}

const rename = (id: number, name: string): Operation => ({
  name: `rename ${id} to ${name}`,
  run: store => store.users.rename(identified(id), username(name)),
  check: (result, during) => checkRename(result, during, name, truths => ofId(truths, id) !== undefined),
});

const renameByName = (from: string, name: string): Operation => ({
  name: `rename ${from} to ${name}`,
  run: store => store.users.rename(named(from), username(name)),
  check: (result, during) => checkRename(result, during, name, truths => ofName(truths, from) !== undefined),
});

const remove = (id: number): Operation => ({
  name: `delete ${id}`,
  run: store => store.users.remove(identified(id)),
  check: (_, during) => isSome(during, truths => ofId(truths, id) === undefined),
});

const set = (id: number, key: string, value: string | undefined): Operation => ({
  name: `set ${key}=${value} of ${id}`,
  run: async store =>
    (await (value === undefined
      ? store.attributes.remove({ user: identified(id) }, key)
      : store.attributes.set({ user: identified(id) }, key, value))) !== undefined,
  check: (isSet, during) =>
    isSome(during, truths => {
      const truth = ofId(truths, id);
      return isSet ? truth !== undefined && attributeOf(truth.attributes, key) === value : truth === undefined;
    }),
});

const createKey = (prefix: string): Operation => ({
  name: `create key ${prefix}`,
  run: store => store.otpkeys.create(plainKey(prefix)),
});

const assign = (id: number, prefix: string, onlyIfFree = false): Operation => ({
  name: `assign ${prefix} to ${id}${onlyIfFree ? ", if it is free" : ""}`,
  run: store => store.otpkeys.assign(identified(id), prefix, { onlyIfFree }),
  check: (result, during) =>
    isSome(during, truths => {
      if (result === "assigned") return hasKey(ofId(truths, id), prefix);
      if (result === "taken") return truths.some(truth => truth.user.id !== id && hasKey(truth, prefix));
      return result === "no_user" ? ofId(truths, id) === undefined : true;
    }),
});

const unassign = (id: number, prefix: string): Operation => ({
  name: `unassign ${prefix} from ${id}`,
  run: store => store.otpkeys.unassign(identified(id), prefix),
  check: (_, during) => isSome(during, truths => !hasKey(ofId(truths, id), prefix)),
});

const removeKey = (prefix: string): Operation => ({
  name: `delete key ${prefix}`,
  run: store => store.otpkeys.remove(prefix),
  check: (_, during) => isSome(during, truths => truths.every(truth => !hasKey(truth, prefix))),
});

const disable = (prefix: string): Operation => ({
  name: `disable ${prefix}`,
  run: async store => {
    const key = await store.otpkeys.find(prefix);
    return key && store.otpkeys.save(key, { ...key.value, enabled: false });
  },
});

const describeKey = (prefix: string): Operation => ({
  name: `set colour of ${prefix}`,
  run: store => store.attributes.set({ prefix }, "colour", "black"),
});

const findThrottle = (store: AuthStore, name: string) =>
  store.throttles.find({ kind: "name", text: name }, store.users.idOf(name));

const failOnce = (name: string): Operation => ({
  name: `fail a sign-in of ${name}`,
  run: async store =>
    store.throttles.save(await findThrottle(store, name), failedOnce, plus(failedOnce.failedAt, hours(1))),
});

/** Only user a has failed, so the next owner of the name must find no failure. */
const throttle = (name: string): Operation => ({
  name: `find the throttle of ${name}`,
  run: store => findThrottle(store, name),
  check: found => {
    const { ownerId, value } = found as ThrottleState;
    return value.failures === (ownerId === existing.a ? 1 : 0);
  },
});

const reset = (id: number): Operation => ({
  name: `end the sessions of ${id}`,
  run: async store => {
    const user = await store.users.find(identified(id));
    return user && store.users.renewEpoch(user, current => current);
  },
});

/** Lists users in pages of one, so that anything can happen between two. */
function list(name: string, filter: UserFilter, read: (store: AuthStore) => AsyncIterable<UserSummary>): Operation {
  return {
    name: `list ${name}`,
    run: store => Array.fromAsync(read(store)),
    check: (result, during) => {
      const found = result as readonly UserSummary[];
      const isMatch = (truths: readonly Truth[], { id, name: shown }: UserSummary) => {
        const truth = ofId(truths, id);
        return truth?.user.name === shown && matches(filter, truth);
      };
      const always = (during[0] ?? [])
        .map(({ user }) => user)
        .filter(user => during.every(truths => isMatch(truths, user)));
      return (
        always.every(({ id }) => found.filter(each => each.id === id).length === 1) &&
        found.every(each => isSome(during, truths => isMatch(truths, each)))
      );
    },
  };
}

const everyone: UserFilter = {};

async function* pagesOf(store: AuthStore, filter: UserFilter): AsyncGenerator<UserSummary> {
  let after: string | undefined;
  do {
    const page = await store.users.list({ top: 1, ...(after !== undefined && { after }) }, filter);
    yield* page.entries;
    after = page.next;
  } while (after !== undefined);
}

const listById = () => list("by id", everyone, store => pagesOf(store, everyone));
const listByName = () => list("by name", everyone, store => pagesOf(store, { beginning: "" }));
const listBy = (filter: UserFilter, name: string) => list(name, filter, store => pagesOf(store, filter));
const byAttribute = (value: string) => listBy({ attributes: new Map([["k", value]]) }, `by k=${value}`);
const byKey = (otpkey: string) => listBy({ ...everyone, otpkey }, `by ${otpkey}`);

const cleanUp: Operation = { name: "clean up", run: store => store.cleanUp() };

const pairs: Readonly<Record<string, () => readonly Operation[]>> = {
  "two creations of one name": () => [create("c"), create("c")],
  "two creations of one name with an OTP key": () => [createWith("c", "p2"), createWith("c", "p2")],
  "a creation with an OTP key that is deleted": () => [createWith("c", "p2"), removeKey("p2")],
  "a creation with an OTP key that another user wants alone": () => [
    createWith("c", "p2"),
    assign(existing.a, "p2", true),
  ],
  "a creation with an attribute and a list by it": () => [createWith("c", "p2"), byAttribute("x")],
  "a creation and a rename to one name": () => [create("c"), rename(existing.a, "c")],
  "two renames to one name": () => [rename(existing.a, "c"), rename(existing.b, "c")],
  "a chain of renames": () => [rename(existing.a, "b"), rename(existing.b, "c")],
  "an exchange of names": () => [rename(existing.a, "b"), rename(existing.b, "a")],
  "a rename there and back": () => [rename(existing.a, "c"), rename(existing.a, "a")],
  "two renames of one user": () => [rename(existing.a, "c"), renameByName("a", "d")],
  "a rename and a creation of the former name": () => [rename(existing.a, "c"), create("a")],
  "a deletion and a creation of the name": () => [remove(existing.a), create("a")],
  "a deletion and a rename": () => [remove(existing.a), rename(existing.a, "c")],
  "a deletion and a rename of another user to the name": () => [remove(existing.a), rename(existing.b, "a")],
  "two deletions": () => [remove(existing.a), remove(existing.a)],
  "a deletion and an attribute": () => [remove(existing.a), set(existing.a, "k", "y")],
  "a deletion and an assignment": () => [remove(existing.a), assign(existing.a, "p2")],
  "a deletion of a user and of an OTP key": () => [remove(existing.a), removeKey("p1")],
  "two values of an attribute": () => [set(existing.a, "k", "y"), set(existing.a, "k", "z")],
  "a value that is left and taken again": () => [set(existing.a, "k", "y"), set(existing.a, "k", "x")],
  "two attributes": () => [set(existing.a, "k", "y"), set(existing.a, "j", "z")],
  "an attribute that is set and deleted": () => [set(existing.a, "k", "y"), set(existing.a, "k", undefined)],
  "an assignment of an OTP key that is deleted": () => [assign(existing.b, "p1"), removeKey("p1")],
  "an assignment and its end": () => [assign(existing.a, "p1"), unassign(existing.a, "p1")],
  "an end of an assignment and its beginning": () => [unassign(existing.a, "p1"), assign(existing.a, "p1")],
  "a free OTP key for two users": () => [assign(existing.a, "p2", true), assign(existing.b, "p2", true)],
  "an OTP key that is deleted and created": () => [removeKey("p1"), createKey("p1")],
  "a new epoch and a rename": () => [reset(existing.a), rename(existing.a, "c")],
  "a rename and a list by name": () => [rename(existing.a, "c"), listByName()],
  "a creation and a list by id": () => [create("c"), listById()],
  "an attribute and a list by it": () => [set(existing.a, "k", "y"), byAttribute("x")],
  "an end of an assignment and a list by the OTP key": () => [unassign(existing.a, "p1"), byKey("p1")],
  "a deletion and a list by name": () => [remove(existing.a), listByName()],
};

/** A rename that crashed before its commit an hour ago, and what comes then. */
const afterCrash: typeof pairs = {
  "clean-up and a rename to the name that was wanted": () => [cleanUp, rename(existing.a, "c")],
  "clean-up and a creation of the name that was wanted": () => [cleanUp, create("c")],
};

async function crashedRename(world: World): Promise<void> {
  let calls = 0;
  const fault = () => (++calls === 8 ? "crash" : undefined);
  await runTogether(world, [rename(existing.a, "c")], { choose: () => 0, fault });
  world.clock.now = plus(world.clock.now, hours(3));
}

/** Runs, and lets clean-up finish. A violation names the last calls. */
async function check(world: World, run: () => Promise<void>): Promise<void> {
  try {
    await run();
    await settle(world);
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    throw new Error(`${error.message}\n${world.log.slice(-60).join("\n")}`);
  }
}

const inOrder: Choices = { choose: () => 0, fault: () => undefined };
const lists = () => [listById(), listByName(), byAttribute("x"), byAttribute("y"), byKey("p1"), byKey("p2")];

/** An operation that has a fault, and what other hosts do then. */
const interrupted: typeof pairs = {
  "a creation": () => [create("c"), create("c")],
  "a creation with an OTP key": () => [createWith("c", "p2"), createWith("c", "p2")],
  "a deletion": () => [remove(existing.a), remove(existing.a)],
  "a deletion before the name is created again": () => [
    remove(existing.a),
    throttle("a"),
    remove(existing.a),
    create("a"),
    throttle("a"),
  ],
  "a rename": () => [rename(existing.a, "c"), rename(existing.a, "c")],
  "a rename before the former name is created": () => [rename(existing.a, "c"), create("a"), throttle("a")],
  "a value of an attribute": () => [set(existing.a, "k", "y"), set(existing.a, "k", "y")],
  "the end of an attribute": () => [set(existing.a, "k", undefined), set(existing.a, "k", undefined)],
  "the end of use of an OTP key": () => [disable("p1"), disable("p1")],
  "an attribute of an OTP key": () => [describeKey("p1"), describeKey("p1")],
  "an attribute of an OTP key before it is deleted": () => [describeKey("p1"), removeKey("p1"), createKey("p1")],
  "a new OTP key": () => [createKey("p3"), createKey("p3"), assign(existing.b, "p3")],
  "a deletion of an OTP key before it is created again": () => [
    removeKey("p1"),
    removeKey("p1"),
    createKey("p1"),
    assign(existing.b, "p1", true),
  ],
  "an assignment": () => [assign(existing.b, "p1"), assign(existing.b, "p1")],
  "an assignment of a free OTP key before another user gets it": () => [
    assign(existing.a, "p2", true),
    assign(existing.b, "p2", true),
  ],
  "the end of an assignment": () => [unassign(existing.a, "p1"), unassign(existing.a, "p1")],
};

describe("an operation with a fault at any of its calls keeps every invariant, and another one finds no trace of it", () => {
  test.each(Object.entries(interrupted))("%s", async (_, operations) => {
    for (const fault of callFaults) {
      for (const goesOn of [false, true]) {
        let calls = 0;
        for (let faulty = 0; faulty <= calls; faulty++) {
          calls = 0;
          const world = await openWorld(randomNumbers(seed));
          const [first, ...others] = operations();
          const choices: Choices = { ...inOrder, fault: () => (calls++ === faulty ? fault : undefined) };
          await check(world, async () => {
            if (first) await runTogether(world, [first], choices);
            const then = goesOn ? [...others, ...lists()] : [];
            for (const each of [...lists(), ...then]) await runTogether(world, [each], inOrder);
          });
        }
      }
    }
  });
});

describe("two operations side by side, with at most one fault, keep every invariant, give true results and leave nothing", () => {
  test.each(Object.entries({ ...pairs, ...afterCrash }))("%s", async (name, operations) => {
    for (let run = 0; run < 40 * factor; run++) {
      const next = randomNumbers(seed * 1_000_003 + run);
      const world = await openWorld(next);
      if (name in afterCrash) await crashedRename(world);
      await check(world, () => runTogether(world, operations(), choicesOf(next, run % 3 === 0 ? 0 : 1)));
    }
  });
});

describe("any operations side by side, with several faults", () => {
  test("keep every invariant, give true results and leave nothing", async () => {
    for (let run = 0; run < 250 * factor; run++) {
      const next = randomNumbers(seed * 7_000_003 + run);
      const world = await openWorld(next);
      const pick = <T>(values: readonly T[]): T => values[next(values.length)] as T;
      const ids = () => [existing.a, existing.b, ...(world.history.at(-1) ?? []).map(({ user }) => user.id)];
      const any = (): Operation => {
        const [id, name, prefix] = [pick(ids()), pick(["a", "b", "c", "ab"]), pick(["p1", "p2"])];
        const [key, value] = [pick(["k", "j"]), pick(["x", "y", undefined])];
        return pick([
          () => create(name),
          () => createWith(name, prefix),
          () => rename(id, name),
          () => renameByName(pick(["a", "b", "c", "ab"]), name),
          () => remove(id),
          () => set(id, key, value),
          () => set(id, key, value),
          () => createKey(prefix),
          () => assign(id, prefix),
          () => assign(id, prefix, true),
          () => unassign(id, prefix),
          () => removeKey(prefix),
          () => reset(id),
          listById,
          listByName,
          () => byAttribute("x"),
          () => byKey(prefix),
        ])();
      };
      await check(world, async () => {
        for (let burst = 0; burst < 3; burst++) {
          const operations = Array.from({ length: 2 + next(4) }, any);
          if (burst > 0 && next(2) === 0) operations.push(cleanUp);
          await runTogether(world, operations, choicesOf(next, pick([0, 1, 3])));
          if (next(2) === 0) world.clock.now = plus(world.clock.now, hours(3));
        }
      });
    }
  });
});

describe("on real storage", () => {
  test.each(Object.entries(pairs))("%s", async (_, operations) => {
    for (let run = 0; run < factor; run++) {
      const next = randomNumbers(seed * 3_000_017 + run);
      const { connectionString } = freshStorage();
      const tables = openTables({ connectionString, timeoutMs: storageTimeoutMs });
      await Promise.all(authTables.map(name => tables.createTable(name)));
      const world = await openWorld(next, tables);
      await check(world, () => runTogether(world, operations(), choicesOf(next, run % 2)));
      expect(world.history.length).toBeGreaterThan(0);
    }
  });
});
