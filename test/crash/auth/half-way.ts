import { expect } from "vitest";
import { hashUsername } from "../../../lib/auth/user-hash.ts";
import type { Answer } from "../../support/host/host-process.ts";
import { type Hold, type HoldRule, startPausingProxy } from "../../support/host/pausing-proxy.ts";
import { type Key, newKey } from "./key.ts";
import { type AuthHost, type AuthSystem, password, sessionOf, startAuthSystem } from "./system.ts";

/** A write of an operation, as the proxy recognises it. */
export type Write = Omit<HoldRule, "phase">;

/** A call during which a host is killed, while its write is held. */
export interface Interrupted {
  readonly rule: HoldRule;
  send(killed: AuthHost): Promise<Answer>;
}

/** Two hosts, of which one is killed in the middle of several calls. */
export interface HalfWay {
  readonly system: AuthSystem;
  /** The host that survives. */
  readonly host: AuthHost;
  /** Sends the calls by the other host, and kills it as soon as the write of each is held. */
  interrupt(calls: readonly Interrupted[]): Promise<readonly Hold[]>;
  /** Lets a write that was held before storage received it arrive now; drops the response of another one. */
  arriveLate(hold: Hold, phase: HoldRule["phase"]): Promise<void>;
  close(): Promise<void>;
}

/** Starts both. Two failures lock a name for an hour. */
export async function startHalfWay(): Promise<HalfWay> {
  const system = await startAuthSystem({ AUTH_THROTTLE_FAILURES: "2", AUTH_THROTTLE_FIRST_WAIT_SECONDS: "3600" });
  const proxy = await startPausingProxy(system.storage.tableUrl);
  const [killed, host] = await Promise.all([system.startHost({ through: proxy }), system.startHost()]);
  return {
    system,
    host,
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
 * Each write is held before storage receives it. Storage then has all writes before it, so that only after the commit
 * and after the last write a host is killed with the write done.
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

/** Creates one, whose name is locked. */
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

export const userRowAt = (name: string): RegExp => new RegExp(`/users\\(.*'${hashUsername(name)}'.*'user'`);

/** The next owner of a name: signs in by an own password, and has nothing of the former owner. */
export async function expectNextOwner(host: AuthHost, { name, mark, session }: Owner, next: number): Promise<void> {
  expect((await host.core("GET", `/users/${name}`)).body).toEqual({ id: next, name, attributes: {}, otpkeys: [] });
  expect((await host.client("/status", {}, session)).status).toBe(401);
  expect((await host.client("/login", { username: name, password })).status).toBe(401);
  const login = await host.client("/login", { username: name, password: nextPassword });
  expect(login.status).toBe(200);
  expect((await host.client("/status", {}, sessionOf(login))).body).toMatchObject({ user_id: next, prefix: null });
  expect((await host.core("POST", `/users/${name}/attributes`, { key: "mark", value: mark })).status).toBe(204);
}

/** Creates the next owner of a name. Returns the id. */
export async function createNextOwner(host: AuthHost, { name }: Owner): Promise<number> {
  const again = await host.core("POST", "/users", { username: name, password: nextPassword });
  expect(again.status).toBe(201);
  return (again.body as { id: number }).id;
}

const nextPassword = "another good password";
