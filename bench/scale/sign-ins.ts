import { randomBytes } from "node:crypto";
import pLimit from "p-limit";
import { createKeyedHash } from "../../lib/auth/keyed-hash.ts";
import { toAuthRules } from "../../lib/auth/rules.ts";
import { createDeviceTokens } from "../../lib/auth/sessions/device-token.ts";
import { findLiveSession } from "../../lib/auth/sessions/manage-sessions.ts";
import { authSettings } from "../../lib/auth/settings.ts";
import { signIn } from "../../lib/auth/sign-in/sign-in.ts";
import { authStore } from "../../lib/auth/store.table.ts";
import { authTables } from "../../lib/auth/tables.table.ts";
import { parseUsername } from "../../lib/auth/users/username.ts";
import type { Tables } from "../../lib/platform/azure/tables.ts";
import { createLog } from "../../lib/platform/log.ts";
import { readSettings } from "../../lib/platform/settings/read-settings.ts";
import { hours, instant, plus } from "../../lib/platform/time.ts";
import { memoryTables } from "../../test/support/storage/memory-tables.ts";
import { type Snapshot, snapshotOf, userIdentity, usernameOfCopy } from "./clone.ts";
import type { Metered, meteredTables } from "./metered-tables.ts";

const now = () => instant(Date.now());
const random = (size: number) => new Uint8Array(randomBytes(size));
const log = createLog(() => {});
const hash = { hash: "x".repeat(97), pepper: "1" };

const pepperKey = { version: "1", key: random(32) };
const pepper = { current: async () => pepperKey, candidates: async () => [] };
const keyedHash = createKeyedHash(pepper);
const sleep = async () => {};

const storeOn = (tables: Tables, clock = now) => authStore(tables, { now: clock, random, sleep, log, keyedHash });

function usernameOf(name: string) {
  const parsed = parseUsername(name);
  if (!parsed.ok) throw new Error(`${name} cannot be a username`);
  return parsed.value;
}

/** Creates a user, and returns its rows with what identifies them. */
export async function makeModelUser() {
  const name = "model000000";
  const tables = memoryTables();
  const created = await storeOn(tables).users.create({ username: usernameOf(name), passwordOf: async () => hash });
  if (created === undefined) throw new Error("The model exists already.");
  // The notice of the creation is the same for all.
  const rows: Snapshot = await snapshotOf(
    tables,
    authTables.filter(table => table !== "expiry"),
  );
  const { id } = created.value;
  return { rows, identity: userIdentity(name, id), copy: (n: number) => userIdentity(usernameOfCopy(n), id + 1 + n) };
}

export interface OperationResult extends Metered<unknown> {
  readonly operation: string;
  readonly count: number;
}

/** Does each operation many times. The password hash is left out, because it costs no storage call. */
export async function runSignIns(
  { tables, metered }: ReturnType<typeof meteredTables>,
  { users, count, concurrency }: { readonly users: number; readonly count: number; readonly concurrency: number },
): Promise<readonly OperationResult[]> {
  const store = storeOn(tables);
  const deps = {
    ...store,
    hasher: {
      acquireHashSlot: () => ({ waitTurn: async () => {}, release: () => {}, [Symbol.dispose]: () => {} }),
      hash: async () => hash,
      hashImported: async () => hash,
      isImported: async () => false,
      hasEnded: () => false,
      verify: async () => true,
      isOutdated: async () => false,
    },
    sealer: undefined as never,
    validateOtp: undefined as never,
    deviceTokens: createDeviceTokens(pepper, "device tokens"),
    changeTokens: createDeviceTokens(pepper, "password change tokens"),
    keyedHash: createKeyedHash(pepper),
    rules: toAuthRules(readSettings(authSettings, {})),
    log,
    now,
    random,
    sleep,
  };
  const tomorrow = () => plus(now(), hours(26));
  const cleaner = storeOn(tables, tomorrow);
  const limit = pLimit(concurrency);
  const results: OperationResult[] = [];
  const measure = async (operation: string, times: number, work: (n: number) => Promise<unknown>): Promise<void> => {
    const all = () => Promise.all(Array.from({ length: times }, (_, n) => limit(work, n)));
    results.push({ operation, count: times, ...(await metered(all)) });
  };
  const name = (n: number) => usernameOfCopy(Math.floor((n * users) / count));
  const sessions: string[] = [];
  await measure("sign-in with password", count, async n => {
    const result = await signIn({ username: name(n), password: "any" }, deps, { newSession: {} });
    if (!result.user || result.session === undefined) throw new Error(`${name(n)} was refused`);
    sessions.push(result.session);
  });
  await measure("status", count, n => findLiveSession(sessions[n % sessions.length], deps));
  await measure("list of users, a page of 1,000", 50, n => store.users.list({ top: 1000, after: String(n + 1) }));
  await measure("users by the beginning of the name", count / 4, n =>
    store.users.list({ top: 20 }, { beginning: name(4 * n).slice(0, 9) }),
  );
  await measure("create user", count / 4, n =>
    store.users.create({ username: usernameOf(`new${n}-${process.pid}`), passwordOf: async () => hash }),
  );
  const cleaned = await metered(() => cleaner.cleanUp());
  results.push({ operation: "clean-up, each session and throttle", count: sessions.length, ...cleaned });
  return results;
}
