import { expect } from "vitest";
import { idKey } from "../../../lib/auth/storage/tables.table.ts";
import type { Answer } from "../../support/host/host-process.ts";
import { type Hold, type HoldRule, startPausingProxy } from "../../support/host/pausing-proxy.ts";
import { type Key, newKey } from "./key.ts";
import { type AuthHost, type AuthSystem, password, sessionOf, startAuthSystem } from "./system.ts";

/** A write of an operation, as the proxy recognises it. */
export type Write = Omit<HoldRule, "phase">;

/** A call, and the write of it during which the host is killed. */
export interface InterruptedCall {
  readonly rule: HoldRule;
  send(killed: AuthHost): Promise<Answer>;
}

/** Two hosts, of which one is killed in the middle of several calls. */
export interface InterruptedHosts {
  readonly system: AuthSystem;
  /** The host that is not killed. */
  readonly survivor: AuthHost;
  /** Sends the calls by the other host, and kills it as soon as the write of each is held. Returns the held writes. */
  interrupt(calls: readonly InterruptedCall[]): Promise<readonly Hold[]>;
  /** Lets a write that was held before storage received it arrive now; drops the response of another one. */
  arriveLate(hold: Hold, phase: HoldRule["phase"]): Promise<void>;
  close(): Promise<void>;
}

/** Starts both hosts. Two failures lock a name for an hour. */
export async function startInterruptedHosts(): Promise<InterruptedHosts> {
  const system = await startAuthSystem({ AUTH_THROTTLE_FAILURES: "2" }, { limits: { throttleFirstWaitMs: 3_600_000 } });
  const proxy = await startPausingProxy(system.storage.tableUrl);
  const [killed, survivor] = await Promise.all([system.startHost({ through: proxy }), system.startHost()]);
  return {
    system,
    survivor,
    interrupt: async calls => {
      const holds = calls.map(({ rule }) => proxy.hold(rule));
      const outcomes = calls.map(({ send }) =>
        send(killed).then(
          ({ status }) => `answered ${status}`,
          () => "unanswered",
        ),
      );
      await Promise.all(holds.map(hold => hold.untilHeld()));
      await killed.process.kill();
      expect(await Promise.all(outcomes)).toEqual(calls.map(() => "unanswered"));
      return holds;
    },
    arriveLate: async (hold, phase) => {
      if (phase === "response") return hold.drop();
      const late = proxy.hold({ phase: "response" });
      hold.release();
      await late.untilHeld();
      late.drop();
    },
    close: async () => {
      await proxy.close();
      await system.close();
    },
  };
}

/**
 * Returns the points at which a host is killed: before each write of an operation, and after the commit and the last
 * write. Storage has all writes before a held one, so no other point is needed after a write.
 */
export const pointsOf = <W>(writes: Readonly<Record<string, W>>, commit: string) => {
  const names = Object.keys(writes);
  return Object.entries(writes).flatMap(([write, rule], index) => {
    const before = {
      point: `before ${write}`,
      phase: "request",
      rule,
      isCommitted: index > names.indexOf(commit),
    } as const;
    const after = { point: `after ${write}`, phase: "response", rule, isCommitted: true } as const;
    return write === commit || write === names.at(-1) ? [before, after] : [before];
  });
};

/** A user with all that a user can have. */
export interface Owner {
  readonly name: string;
  readonly id: number;
  readonly key: Key;
  /** Value of the attribute `mark`, which no other user has. */
  readonly mark: string;
  readonly session: string;
}

/** Creates an owner whose name is locked. */
export async function newOwner(host: AuthHost, index: number): Promise<Owner> {
  const [name, mark] = [`owner-${index}`, `mark-${index}`];
  const key = newKey("hotp", `owned${index}`);
  const created = await host.core("POST", "/users", { username: name, password });
  await host.core("POST", "/otpkeys", key.fields);
  await host.core("POST", `/users/${name}/otpkeys`, { otpkey: key.prefix });
  await host.core("POST", `/users/${name}/attributes`, { key: "mark", value: mark });
  const session = sessionOf(await host.client("/login", { username: name, password, otp: key.next() }));
  for (const _ of Array(2)) await host.client("/login", { username: name, password });
  expect((await host.client("/login", { username: name, password })).status).toBe(429);
  return { name, id: (created.body as { id: number }).id, key, mark, session };
}

export const userRowAt = (id: number): RegExp => new RegExp(`/users\\(.*'${idKey(id)}'.*'user'`);

/** Fails unless the next owner of a name signs in by their own password and has nothing of the former owner. */
export async function expectNextOwner(host: AuthHost, { name, mark, session }: Owner, next: number): Promise<void> {
  expect((await host.core("GET", `/users/${name}`)).body).toEqual({
    id: next,
    name,
    attributes: {},
    otpkeys: [],
    enabled: true,
  });
  expect((await host.client("/status", {}, session)).status).toBe(401);
  expect((await host.client("/login", { username: name, password })).status).toBe(401);
  const login = await host.client("/login", { username: name, password: nextPassword });
  expect(login.status).toBe(200);
  expect((await host.client("/status", {}, sessionOf(login))).body).toMatchObject({ user_id: next, prefix: null });
  expect((await host.core("POST", `/users/${name}/attributes`, { key: "mark", value: mark })).status).toBe(204);
}

/** Creates the next owner of a name. Returns the user's id. */
export async function createNextOwner(host: AuthHost, { name }: Owner): Promise<number> {
  const again = await host.core("POST", "/users", { username: name, password: nextPassword });
  expect(again.status).toBe(201);
  return (again.body as { id: number }).id;
}

const nextPassword = "another good password";
