import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sessionKey } from "../../../lib/auth/sessions/sessions.table.ts";
import { type PausingProxy, startPausingProxy } from "../../support/host/pausing-proxy.ts";
import { type AuthHost, type AuthSystem, password, sessionOf, startAuthSystem } from "./system.ts";

const newPassword = "another good password";

let system: AuthSystem;
let proxy: PausingProxy;
/** Its tables are behind the proxy. */
let slow: AuthHost;
let other: AuthHost;

beforeAll(async () => {
  system = await startAuthSystem();
  proxy = await startPausingProxy(system.storage.tableUrl);
  [slow, other] = await Promise.all([system.startHost({ through: proxy }), system.startHost()]);
});

afterAll(async () => {
  await proxy.close();
  await system.close();
});

const create = (username: string) => other.core("POST", "/users", { username, password });
const login = async (host: AuthHost, username: string) =>
  sessionOf(await host.client("/login", { username, password }));
const status = async (host: AuthHost, session: string) => (await host.client("/status", {}, session)).status;

/** A login that is paused when its session is about to be stored. */
async function pausedLogin(username: string) {
  await create(username);
  const hold = proxy.hold({ phase: "request", method: "POST", path: /\/sessions\b/ });
  const session = login(slow, username);
  await hold.untilHeld();
  return { session, release: hold.release };
}

/** What ends every session of a user, by the host that is not slow. */
const endings: Readonly<Record<string, (name: string) => Promise<{ status: number }>>> = {
  "the user was reset": name => other.core("POST", `/users/${name}/reset`, { password }),
  "all the user's sessions were ended": name => other.core("POST", `/users/${name}/sessions/delete`),
  "the user was deleted": name => other.core("DELETE", `/users/${name}`),
  "the name was given to another": async name => {
    await other.core("DELETE", `/users/${name}`);
    return create(name);
  },
  "the password was changed": async name =>
    other.client("/password", { oldpass: password, newpass: newPassword }, await login(other, name)),
};

describe("a login that is paused after its check, before its session is stored", () => {
  test("and goes on: its session lives", async () => {
    const { session, release } = await pausedLogin("undisturbed");
    release();
    expect([await status(slow, await session), await status(other, await session)]).toEqual([200, 200]);
  });

  test.each(Object.keys(endings))("and goes on after %s: its session is none", async what => {
    const name = what.replaceAll(/\W/g, "-");
    const paused = await pausedLogin(name);
    expect((await endings[what]?.(name))?.status).toBeLessThan(300);
    paused.release();
    const session = await paused.session;
    const rows = await system.rows("sessions");
    expect(rows.map(({ rowKey }) => rowKey)).toContain(sessionKey(session)?.hash);
    expect([await status(slow, session), await status(other, session)]).toEqual([401, 401]);
  });
});
