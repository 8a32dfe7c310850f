import { describe, expect, test } from "vitest";
import { minutes } from "../../../../lib/platform/time.ts";
import { hotpKey, newPrefix } from "../../../support/auth/software-key.ts";
import {
  type AuthResponse,
  type MadeUser,
  newName,
  newPassword,
  testAuth,
  withSession,
} from "../../../support/auth/test-auth.ts";

let next = 0;

const auth = await testAuth({ settings: { AUTH_IDENTIFY_BY_OTP: "true" } });
const [plain, owner] = await Promise.all([auth.makeUser(), auth.makeUser()]);
const key = await auth.giveKey(owner, hotpKey());
await auth.logIn(plain);
await auth.logIn(owner, key.otp(next++));
await auth.post(`/core/users/${plain.id}/attributes`, { key: "a", value: "0" });
await auth.post(`/core/otpkeys/${key.prefix}/attributes`, { key: "a", value: "0" });

/** Storage calls of an endpoint that had to wait for each other. */
async function roundTrips(call: () => Promise<AuthResponse>, expected = 200): Promise<number> {
  const { sequential, result } = await auth.counted(call);
  expect(result.status).toBe(expected);
  return sequential;
}

describe("storage round trips of an endpoint, without contention", () => {
  test("status: 1, session and user side by side; once a minute one write more", async () => {
    const session = await auth.logIn(plain);
    const status = () => auth.get("/client/status", {}, withSession(session));
    const { total } = await auth.counted(status);
    expect([total, await roundTrips(status)]).toEqual([2, 1]);
    auth.advance(minutes(2));
    expect([await roundTrips(status), await roundTrips(status)]).toEqual([2, 1]);
  });

  test.each(["authenticate", "login"])(
    "%s: by password 3 and 1 beside the hash, with an OTP 4, identified by OTP 5",
    async name => {
      const call = (fields: Record<string, string>) => () => auth.post(`/client/${name}`, fields);
      const { password } = owner;
      expect(await roundTrips(call(plain.credentials))).toBe(3 + 1);
      expect(await roundTrips(call({ username: owner.name, password, otp: key.otp(next++) }))).toBe(4);
      expect(await roundTrips(call({ password, otp: key.otp(next++) }))).toBe(5);
    },
  );

  test("a login records the time of the sign-in in parallel with its last writes", async () => {
    const totals = async (fields: Record<string, string>) =>
      (await auth.counted(() => auth.post("/client/login", fields))).calls.filter(call => !call.startsWith("GET"));
    const lastLogin = async (user: MadeUser) =>
      ((await auth.get(`/core/users/${user.id}`)).body as { last_login: string }).last_login;
    auth.advance(minutes(1));
    const before = auth.now();
    const { name, password } = plain;
    // The reservation, the end of the attempt, the time, and the session.
    expect(await totals({ username: name, password })).toHaveLength(4);
    expect((await lastLogin(plain)) >= before).toBe(true);
    expect(await totals({ password: owner.password, otp: key.otp(next++) })).toHaveLength(5);
    expect((await lastLogin(owner)) >= before).toBe(true);
    const { last_used } = (await auth.get(`/core/otpkeys/${key.prefix}`)).body as { last_used: string };
    expect(last_used >= before).toBe(true);
  });

  test("a login reads a key once, whether the OTP names it, the user has it, or both", async () => {
    const reads = async (fields: Record<string, string>) => {
      const { calls } = await auth.counted(() => auth.post("/client/login", { password: owner.password, ...fields }));
      return calls.filter(call => call.startsWith("GET") && call.includes("/otpkeys"));
    };
    expect(await reads({ username: owner.name })).toHaveLength(1);
    expect(await reads({ username: owner.name, otp: key.otp(next++) })).toHaveLength(1);
    expect(await reads({ otp: key.otp(next++) })).toHaveLength(1);
  });

  test("a login that ends another session: no more", async () => {
    const session = await auth.logIn(plain);
    const fields = plain.credentials;
    expect(await roundTrips(() => auth.post("/client/login", fields, withSession(session)))).toBe(3 + 1);
  });

  test("a login of a user who must change the password: no more; the change by its token 2, by a code 7", async () => {
    const user = await auth.makeUser();
    const reset = (fields: Record<string, string>) => auth.post(`/core/users/${user.id}/reset`, fields);
    await reset({ password: user.password, must_change: "true" });
    const { sequential, calls, result } = await auth.counted(() => auth.post("/client/login", user.credentials));
    expect([result.status, sequential]).toEqual([401, 3 + 1]);
    // The reservation and the end of the attempt, which the first attempt of a name also writes into the index of expiry.
    expect(calls.filter(call => !call.startsWith("GET"))).toHaveLength(3);
    const { token } = result.body as { token: string };
    const set = (fields: Record<string, string>) => () =>
      auth.post("/client/password", { newpass: newPassword(), ...fields });
    expect(await roundTrips(set({ token }))).toBe(2);
    const { code } = (await reset({ issue_code: "true" })).body as { code: string };
    expect(await roundTrips(set({ username: user.name, code }))).toBe(7);
  });

  test("logout: 2; a value that never was a session: none", async () => {
    const session = await auth.logIn(plain);
    auth.advance(minutes(2));
    expect(await roundTrips(() => auth.post("/client/logout", {}, withSession(session)))).toBe(2);
    expect(await roundTrips(() => auth.post("/client/logout", {}, withSession("nonsense")), 401)).toBe(0);
  });

  test("validate: at most 3", async () => {
    for (const whom of [owner.name, owner.id]) {
      const fields = () => ({ password: owner.password, otp: key.otp(next++) });
      const calls = await roundTrips(() => auth.post(`/core/users/${whom}/validate`, fields()));
      expect(calls).toBe(whom === owner.id ? 2 : 3);
    }
  });

  test("a user with the lock: by id 2, by name 2; create 4, and 409 2", async () => {
    expect(await roundTrips(() => auth.get(`/core/users/${plain.id}`))).toBe(2);
    expect(await roundTrips(() => auth.get(`/core/users/${plain.name}`))).toBe(2);
    const fields = { username: newName(), password: newPassword() };
    expect(await roundTrips(() => auth.post("/core/users", fields), 201)).toBe(4);
    expect(await roundTrips(() => auth.post("/core/users", fields), 409)).toBe(2);
  });

  test("a key with its users: 2; through its user by name 2; an import 1", async () => {
    expect(await roundTrips(() => auth.get(`/core/otpkeys/${key.prefix}`))).toBe(2);
    expect(await roundTrips(() => auth.get(`/core/users/${owner.name}/otpkeys/${key.prefix}`))).toBe(2);
    const imported = hotpKey({ prefix: newPrefix() });
    expect(await roundTrips(() => auth.post("/core/otpkeys", imported.fields), 201)).toBe(1);
  });
});
