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
import { openTables } from "../../lib/platform/azure/tables.ts";
import { createLog } from "../../lib/platform/log.ts";
import { readSettings } from "../../lib/platform/settings/read-settings.ts";
import { hours, instant, plus } from "../../lib/platform/time.ts";
import type { Snapshot } from "./clone.ts";
import type { MeterReport } from "./meter.ts";
import { snapshotOf } from "./model-request.ts";
import type { BenchServer } from "./server.ts";
import type { Copies } from "./server-child.ts";

const now = () => instant(Date.now());
const random = (size: number) => new Uint8Array(randomBytes(size));
const log = createLog(() => {});
const hash = { hash: "x".repeat(97), pepper: "1" };

const pepperKey = { version: "1", key: random(32) };
const pepper = { current: async () => pepperKey, candidates: async () => [] };
const keyedHash = createKeyedHash(pepper);
const sleep = async () => {};

const storeOn = (connectionString: string, clock = now) =>
  authStore(openTables({ connectionString, timeoutMs: 30_000 }), { now: clock, random, sleep, log, keyedHash });

function usernameOf(name: string) {
  const parsed = parseUsername(name);
  if (!parsed.ok) throw new Error(`${name} cannot be a username`);
  return parsed.value;
}

/** Creates a user in the emulator, and returns its rows with what differs in each copy. */
export async function makeModelUser(connectionString: string): Promise<{ model: Snapshot; copies: Copies }> {
  const name = "model000000";
  const created = await storeOn(connectionString).users.create({
    username: usernameOf(name),
    passwordOf: async () => hash,
  });
  if (created === undefined) throw new Error("The model exists already.");
  const { id } = created.value;
  // The notice of the creation is the same for all.
  const copied = authTables.filter(table => table !== "expiry");
  const model = await snapshotOf(openTables({ connectionString, timeoutMs: 30_000 }), copied);
  return { model, copies: { of: "user", id, name } };
}

export interface OperationResult {
  readonly operation: string;
  readonly count: number;
  readonly seconds: number;
  readonly report: MeterReport;
}

/** Does each operation many times. The password hash is left out, because it costs no storage call. */
export async function runSignIns(
  server: BenchServer,
  { users, count, concurrency }: { readonly users: number; readonly count: number; readonly concurrency: number },
): Promise<readonly OperationResult[]> {
  const store = storeOn(server.connectionString);
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
  const cleaner = storeOn(server.connectionString, tomorrow);
  const limit = pLimit(concurrency);
  const results: OperationResult[] = [];
  const measure = async (operation: string, times: number, work: (n: number) => Promise<unknown>): Promise<void> => {
    const all = () => Promise.all(Array.from({ length: times }, (_, n) => limit(work, n)));
    const { seconds, report } = await server.metered(all);
    results.push({ operation, count: times, seconds, report });
  };
  const name = (n: number) => `user${String(Math.floor((n * users) / count)).padStart(7, "0")}`;
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
  const { seconds, report } = await server.metered(() => cleaner.cleanUp());
  results.push({ operation: "clean-up, each session and throttle", count: sessions.length, seconds, report });
  return results;
}
