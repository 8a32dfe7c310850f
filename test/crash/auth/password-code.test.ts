import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { idKey } from "../../../lib/auth/tables.table.ts";
import { type Hold, type HoldRule, startPausingProxy } from "../../support/host/pausing-proxy.ts";
import { type AuthHost, type AuthSystem, password, startAuthSystem, statuses } from "./system.ts";

let system: AuthSystem;
let hosts: readonly [AuthHost, AuthHost];
let points: readonly { readonly point: string; readonly user: Made; readonly hold: Hold }[];

interface Made {
  readonly name: string;
  readonly id: number;
  readonly code: string;
}

/** A user whose password was reset with a code. */
async function newUser(host: AuthHost, name: string): Promise<Made> {
  const created = await host.core("POST", "/users", { username: name, password });
  const issued = await host.core("POST", `/users/${name}/reset`, { issue_code: "true" });
  return { name, id: (created.body as { id: number }).id, code: (issued.body as { code: string }).code };
}

const use = (host: AuthHost, { name: username, code }: Made, newpass: string) =>
  host.client("/password", { username, code, newpass });
const login = async (host: AuthHost, { name: username }: Made, given: string) =>
  (await host.client("/login", { username, password: given })).status;

/** Writes of a use of the code. The throttle of a name is found by its id alone. */
const writes: Readonly<Record<string, (id: number) => Omit<HoldRule, "phase">>> = {
  "the attempt is reserved": id => ({ path: /\/throttles\b/, body: new RegExp(`"id":"?${id}\\b`) }),
  "a try is taken": id => ({ path: new RegExp(`/users\\(.*'${idKey(id)}'`), body: /triesLeft/ }),
  "the sign-in is recorded": id => ({ path: new RegExp(`/users\\(.*'${idKey(id)}'.*'login'`) }),
  "the password is set": id => ({ path: new RegExp(`/users\\(.*'${idKey(id)}'.*'user'`), body: /argon2id/ }),
};

beforeAll(async () => {
  system = await startAuthSystem();
  const proxy = await startPausingProxy(system.storage.tableUrl);
  const [killed, ...others] = await Promise.all([
    system.startHost({ through: proxy }),
    system.startHost(),
    system.startHost(),
  ]);
  hosts = [others[0] as AuthHost, others[1] as AuthHost];
  points = await Promise.all(
    Object.entries(writes).map(async ([point, write], index) => {
      const user = await newUser(hosts[0], `user-${index}`);
      return { point, user, hold: proxy.hold({ phase: "request", ...write(user.id) }) };
    }),
  );
  const calls = points.map(({ user }) => use(killed, user, "a password that is lost").catch(() => "unanswered"));
  await Promise.all(points.map(({ hold }) => hold.untilHeld()));
  await killed.process.kill();
  expect(await Promise.all(calls)).toEqual(points.map(() => "unanswered"));
});

afterAll(() => system.close());

describe("a code of a reset whose use a killed host left half-way", () => {
  test.each(Object.keys(writes))("before %s: works at another host, also if that write arrives later", async at => {
    const { user, hold } = points.find(({ point }) => point === at) as (typeof points)[number];
    const [host] = hosts;
    const newpass = "a password that stays";
    expect((await use(host, user, newpass)).status).toBe(200);
    hold.release();
    expect(await login(host, user, newpass)).toBe(200);
    expect(await login(host, user, "a password that is lost")).toBe(401);
    expect((await use(host, user, "another password")).status).toBe(401);
    expect(await login(host, user, newpass)).toBe(200);
  });
});

describe("a code of a reset", () => {
  test("that is used four times at once at two hosts sets one password", async () => {
    const user = await newUser(hosts[0], "used-at-once");
    const passwords = Array.from({ length: 4 }, (_, n) => `password of call ${n}`);
    const answers = await Promise.all(passwords.map((newpass, n) => use(n % 2 ? hosts[1] : hosts[0], user, newpass)));
    expect(statuses(answers)).toEqual({ 200: 1, 401: 3 });
    const logins = [];
    for (const each of passwords) logins.push(await login(hosts[0], user, each));
    expect(logins).toEqual(answers.map(({ status }) => status));
  });

  test("is compared five times, however many try at once at two hosts", async () => {
    const user = await newUser(hosts[0], "tried-at-once");
    const wrong = { ...user, code: "0000-0000-0000-0000" };
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) => use(n % 2 ? hosts[1] : hosts[0], wrong, "a password of a guesser")),
    );
    expect(statuses(answers)).toEqual({ 401: 8 });
    expect((await use(hosts[1], user, "a password of mine")).status).toBe(401);
    const rows = await system.rows("users");
    expect(rows.find(({ partitionKey, rowKey }) => partitionKey === idKey(user.id) && rowKey === "user")).toMatchObject(
      {
        passwordCode: expect.stringContaining('"triesLeft":0'),
      },
    );
  });
});
