import { describe, expect, it } from "vitest";
import { minutes } from "../../../../lib/platform/time.ts";
import { hotpKey } from "../../../support/auth/software-key.ts";
import { type MadeUser, newName, newPassword, testAuth, withSession } from "../../../support/auth/test-auth.ts";

const auth = await testAuth();
const wrong = { status: 401, body: { error: "Invalid credentials!" } };

type Fields = Readonly<Record<string, string>>;
const demand = async (user: MadeUser) => {
  const fields = { password: user.password, must_change: "true" };
  expect((await auth.post(`/core/users/${user.id}/reset`, fields)).status).toBe(204);
  return user;
};
const signIn = (user: MadeUser, fields: Fields = {}, call = "login") =>
  auth.post(`/client/${call}`, { ...user.credentials, ...fields });
/** Signs in with right credentials, and returns the token of the refusal. */
const tokenOf = async (user: MadeUser, fields: Fields = {}, call = "login") => {
  const { status, body, cookies } = await signIn(user, fields, call);
  expect({ status, body, cookies }).toEqual({
    status: 401,
    body: { error: "The password must be changed.", reason: "password_change_required", token: expect.any(String) },
    cookies: [],
  });
  return (body as { token: string }).token;
};
const change = (token: string, newpass: string, on = auth) => on.post("/client/password", { token, newpass });
const view = async ({ id }: MadeUser) => (await auth.get(`/core/users/${id}`)).body as Record<string, unknown>;
const status = async (user: MadeUser, password: string, otp?: string) =>
  (await signIn(user, { password, ...(otp && { otp }) })).status;

describe("a user who must change the password", () => {
  it.each(["login", "authenticate"])(
    "gets no session by %s, but a token that sets a new password, once",
    async call => {
      const user = await demand(await auth.makeUser());
      expect(await view(user)).toMatchObject({ must_change: true });
      const token = await tokenOf(user, {}, call);
      const newpass = newPassword();
      expect(await change(token, newpass)).toMatchObject({ status: 200, body: true });
      expect([await status(user, newpass), await status(user, user.password)]).toEqual([200, 401]);
      expect(await change(token, newPassword())).toMatchObject(wrong);
      expect(await view(user)).not.toHaveProperty("must_change");
      expect(auth.events("password_changed").at(-1)).toMatchObject({ userId: user.id, by: "token" });
    },
  );

  it("can be created so", async () => {
    const [username, password] = [newName(), newPassword()];
    const made = await auth.post("/core/users", { username, password, must_change: "true" });
    expect(made.status).toBe(201);
    const user = { ...(made.body as { id: number; name: string }), password, credentials: { username, password } };
    expect((await change(await tokenOf(user), newPassword())).status).toBe(200);
    expect(await auth.post("/core/users", { username: newName(), password: "", must_change: "true" })).toMatchObject({
      status: 400,
      body: { error: "must_change needs a password" },
    });
  });

  it("ends sessions as any reset, and the token is no session", async () => {
    const user = await auth.makeUser();
    const session = await auth.logIn(user);
    await demand(user);
    expect(await auth.lives(session)).toBe(false);
    const token = await tokenOf(user);
    expect((await auth.get("/client/status", {}, withSession(token))).status).toBe(401);
  });

  it("must choose another password that keeps the rules; the token stays for a further try", async () => {
    const user = await demand(await auth.makeUser());
    const token = await tokenOf(user);
    for (const [newpass, error] of [
      [user.password, "newpass must not be the present password"],
      [user.name, "newpass must not be the username"],
      ["short", "newpass must have at least 8 characters"],
    ] as const)
      expect(await change(token, newpass)).toMatchObject({ status: 400, body: { error } });
    expect((await change(token, newPassword())).status).toBe(200);
  });

  it("is told so only with the right password and the right OTP, which is used up then", async () => {
    const [user, key] = await auth.makeOwner(hotpKey());
    await demand(user);
    const bad = { otp: `${key.prefix}000000` };
    for (const fields of [{}, { password: "wrong", otp: key.otp(0) }, bad, { password: "wrong" }])
      expect(await signIn(user, fields)).toMatchObject(wrong);
    const token = await tokenOf(user, { otp: key.otp(1) });
    expect(await signIn(user, { otp: key.otp(1) })).toMatchObject(wrong);
    const newpass = newPassword();
    expect((await change(token, newpass)).status).toBe(200);
    expect([await status(user, newpass, key.otp(1)), await status(user, newpass, key.otp(2))]).toEqual([401, 200]);
  });

  it("is seen in the log and by administrators, and right credentials clear failures and never lock the username", async () => {
    const strict = auth.anotherInstance({ settings: { AUTH_THROTTLE_FAILURES: "2" } });
    const user = await demand(await auth.makeUser());
    await strict.post("/client/login", { username: user.name, password: "wrong" });
    for (let n = 0; n < 3; n++) {
      const { body } = await strict.post("/client/login", user.credentials);
      expect(body).toMatchObject({ reason: "password_change_required" });
    }
    const lock = (await auth.get(`/core/users/${user.id}/lock`)).body;
    expect(lock).toMatchObject({ failures: 0, last_refusal: { reason: "must_change" } });
    expect(await view(user)).not.toHaveProperty("last_login");
    expect(strict.events("authentication").at(-1)).toMatchObject({ outcome: "refused", reason: "must_change" });
  });

  it("does not count against the address of the caller", async () => {
    const settings = { AUTH_ADDRESS_LIMIT: "2", TRUSTED_PROXIES: "1" };
    const limited = auth.anotherInstance({ settings });
    const user = await demand(await auth.makeUser());
    const headers = { "x-forwarded-for": "203.0.113.9" };
    for (let n = 0; n < 4; n++) {
      const { body } = await limited.post("/client/login", user.credentials, headers);
      expect(body).toMatchObject({ reason: "password_change_required" });
    }
  });

  it("keeps the demand over a rename, a time disabled and the end of all sessions, which end the token", async () => {
    const user = await demand(await auth.makeUser());
    for (const calls of [["sessions/delete"], ["disable", "enable"], ["rename"]]) {
      const token = await tokenOf(user);
      for (const call of calls) {
        const fields = call === "rename" ? { username: `${user.name}.` } : {};
        expect((await auth.post(`/core/users/${user.id}/${call}`, fields)).status).toBeLessThan(300);
      }
      expect(await change(token, newPassword())).toMatchObject(wrong);
    }
    const renamed = { ...user, name: `${user.name}.`, credentials: { ...user.credentials, username: `${user.name}.` } };
    expect((await change(await tokenOf(renamed), newPassword())).status).toBe(200);
  });
});

describe("the token of a password change", () => {
  it("is valid for ten minutes", async () => {
    const user = await demand(await auth.makeUser());
    const token = await tokenOf(user);
    auth.advance(minutes(10));
    expect(await change(token, newPassword())).toMatchObject(wrong);
    expect((await change(await tokenOf(user), newPassword())).status).toBe(200);
  });

  it("is none if it is changed, of a deleted user, or a device token", async () => {
    const user = await demand(await auth.makeUser());
    const token = await tokenOf(user);
    const forged = (token.startsWith("A") ? "B" : "A") + token.slice(1);
    for (const text of [forged, "x", token.slice(1)]) expect(await change(text, newPassword())).toMatchObject(wrong);
    const other = await auth.makeUser();
    const { body } = await signIn(other, { remember_device: "true" });
    expect(await change((body as { device: string }).device, newPassword())).toMatchObject(wrong);
    await auth.post("/client/login", user.credentials, { "x-service-device": token });
    expect(auth.events("authentication").at(-1)).not.toHaveProperty("isOnDevice");
    expect(await auth.post("/client/password", { token, newpass: "" })).toMatchObject({ status: 400 });
    await auth.call("DELETE", `/core/users/${user.id}`);
    expect(await change(token, newPassword())).toMatchObject(wrong);
  });

  it("costs one read and one write, and is stored and logged nowhere", async () => {
    const user = await demand(await auth.makeUser());
    const token = await tokenOf(user);
    const { calls, result } = await auth.counted(() => change(token, newPassword()));
    expect([result.status, calls.length]).toEqual([200, 2]);
    expect(auth.lines.join()).not.toContain(token);
  });
});
