import { describe, expect, it, test } from "vitest";
import { Fault } from "../../../../lib/platform/fault.ts";
import { minutes } from "../../../../lib/platform/time.ts";
import { hotpKey } from "../../../support/auth/software-key.ts";
import { type MadeUser, newPassword, replacing, testAuth, withSession } from "../../../support/auth/test-auth.ts";

const auth = await testAuth();

type Fields = Readonly<Record<string, string>>;
const change = (session: string, fields: Fields, { on = auth, method = "POST" } = {}) =>
  on.call(method, "/client/password", { fields, headers: withSession(session) });
const authenticate = async ({ name }: MadeUser, password: string, otp?: string) =>
  (await auth.post("/client/authenticate", { username: name, password, ...(otp && { otp }) })).body;
const wrong = { status: 401, body: { error: "Invalid credentials!" } };
const ended = { status: 401, body: { error: "Session required!" } };

/** A host on which `work` comes between the check and the change. */
const beforeHash = (work: () => Promise<unknown>) =>
  auth.anotherInstance({
    ports: replacing("hasher", ({ hash }) => ({ hash: (...given) => work().then(() => hash(...given)) })),
  });
/** A host on which `work` comes between the session's check and that of the credentials. */
const beforeCheck = (work: () => Promise<unknown>) =>
  auth.anotherInstance({
    ports: replacing("users", ({ idOf }) => ({ idOf: name => work().then(() => idOf(name)) })),
  });

describe.each(["GET", "POST"])("%s /client/password (specification section 4)", method => {
  it("changes the password of the session's user: true; the old one is none any more", async () => {
    const user = await auth.makeUser();
    const newpass = newPassword();
    const response = await change(await auth.logIn(user), { newpass, oldpass: user.password }, { method });
    expect(response).toMatchObject({ status: 200, body: true });
    expect([await authenticate(user, newpass), await authenticate(user, user.password)]).toEqual([true, false]);
  });
});

describe("the password change", () => {
  it("ends the user's other sessions; the session of the call continues, also for a further change", async () => {
    const user = await auth.makeUser();
    const [own, other] = [await auth.logIn(user), await auth.logIn(user)];
    const [first, second] = [newPassword(), newPassword()];
    expect((await change(own, { newpass: first, oldpass: user.password })).status).toBe(200);
    expect([await auth.lives(own), await auth.lives(other)]).toEqual([true, false]);
    expect((await change(own, { newpass: second, oldpass: first })).status).toBe(200);
    expect([await auth.lives(own), await authenticate(user, second)]).toEqual([true, true]);
  });

  test.each<[string, Fields]>([
    ["a wrong `oldpass`", { oldpass: "wrong" }],
    ["no `oldpass`", {}],
    ["an empty `oldpass`", { oldpass: "" }],
    ["a bad OTP beside a good `oldpass`", { oldpass: "PASSWORD", otp: "cccccccccccc123456" }],
  ])("is refused for %s: 401, nothing changes, every session lives", async (_, fields) => {
    const user = await auth.makeUser();
    const session = await auth.logIn(user);
    const given = Object.fromEntries(Object.entries(fields).map(([k, v]) => [k, v.replace("PASSWORD", user.password)]));
    expect(await change(session, { newpass: newPassword(), ...given })).toMatchObject(wrong);
    expect([await auth.lives(session), await authenticate(user, user.password)]).toEqual([true, true]);
  });

  it("requires a new OTP exactly where a login does", async () => {
    const [user, key] = await auth.makeOwner(hotpKey());
    const session = await auth.logIn(user, key.otp(0));
    const newpass = newPassword();
    expect(await change(session, { newpass, oldpass: user.password })).toMatchObject(wrong);
    expect(await change(session, { newpass, oldpass: user.password, otp: key.otp(0) })).toMatchObject(wrong);
    expect(await change(session, { newpass, otp: key.otp(1) })).toMatchObject(wrong);
    expect((await change(session, { newpass, oldpass: user.password, otp: key.otp(2) })).body).toBe(true);
    expect(await authenticate(user, newpass, key.otp(3))).toBe(true);
  });

  it("gives a user without a password one, by an OTP, where empty ones are allowed", async () => {
    const lax = auth.anotherInstance({ settings: { AUTH_ALLOW_EMPTY_PASSWORD: "true" } });
    const user = await auth.makeUser({ password: "" });
    const key = await auth.giveKey(user, hotpKey());
    const session = await lax.logIn(user, key.otp(0));
    const newpass = newPassword();
    expect(await change(session, { newpass }, { on: lax })).toMatchObject(wrong);
    expect((await change(session, { newpass, otp: key.otp(1) }, { on: lax })).body).toBe(true);
    expect(await authenticate(user, newpass, key.otp(2))).toBe(true);
  });

  test.each<[Fields, string]>([
    [{}, "Missing required parameter(s)! newpass"],
    [{ newpass: "" }, "newpass must have at least 8 characters"],
    [{ newpass: "NAME" }, "newpass must not be the username"],
  ])("refuses %j: 400, before an OTP is used up or a failure counted", async (fields, error) => {
    const [user, key] = await auth.makeOwner(hotpKey());
    const session = await auth.logIn(user, key.otp(0));
    const given = Object.fromEntries(Object.entries(fields).map(([k, v]) => [k, v.replace("NAME", user.name)]));
    const { status, body } = await change(session, { ...given, oldpass: user.password, otp: key.otp(1) });
    expect({ status, body }).toEqual({ status: 400, body: { error } });
    expect(await authenticate(user, user.password, key.otp(1))).toBe(true);
  });

  it("loses against a reset that comes between the check and the change", async () => {
    const user = await auth.makeUser();
    const [session, reset] = [await auth.logIn(user), newPassword()];
    const racing = beforeHash(() => auth.post(`/core/users/${user.id}/reset`, { password: reset }));
    const response = await change(session, { newpass: newPassword(), oldpass: user.password }, { on: racing });
    expect(response).toMatchObject(ended);
    expect([await authenticate(user, reset), await auth.lives(session)]).toEqual([true, false]);
  });

  it("does not count, and uses up no OTP, where a reset ends the session before the check", async () => {
    const [owner, key] = await auth.makeOwner(hotpKey());
    const [session, reset] = [await auth.logIn(owner, key.otp(0)), newPassword()];
    const racing = beforeCheck(() => auth.post(`/core/users/${owner.id}/reset`, { password: reset }));
    const given = { newpass: newPassword(), oldpass: owner.password, otp: key.otp(1) };
    const response = await change(session, given, { on: racing });
    expect(response).toMatchObject(ended);
    const lock = (await auth.get(`/core/users/${owner.id}/lock`)).body;
    expect(lock).toEqual({ failures: 0, locked_until: null, running_attempts: 0 });
    await auth.logIn({ ...owner, password: reset }, key.otp(1));
  });

  it("keeps its session also where another request touched it meanwhile", async () => {
    const user = await auth.makeUser();
    const session = await auth.logIn(user);
    const racing = beforeHash(async () => {
      auth.advance(minutes(5));
      expect(await auth.lives(session)).toBe(true);
    });
    expect((await change(session, { newpass: newPassword(), oldpass: user.password }, { on: racing })).body).toBe(true);
    expect(await auth.lives(session)).toBe(true);
  });

  it("does not bring back a session that was logged out meanwhile", async () => {
    const user = await auth.makeUser();
    const session = await auth.logIn(user);
    const racing = beforeHash(() => auth.post("/client/logout", {}, withSession(session)));
    await change(session, { newpass: newPassword(), oldpass: user.password }, { on: racing });
    expect(await auth.lives(session)).toBe(false);
  });

  it("succeeds where storage becomes unavailable after it: the person would go on with the old password", async () => {
    const user = await auth.makeUser();
    const [session, newpass] = [await auth.logIn(user), newPassword()];
    const save = () => Promise.reject(new Fault("unavailable", "no storage"));
    const failing = auth.anotherInstance({ ports: replacing("sessions", () => ({ save })) });
    expect((await change(session, { newpass, oldpass: user.password }, { on: failing })).body).toBe(true);
    expect(failing.events("session_not_continued")).toHaveLength(1);
    expect(failing.events("password_changed")).toMatchObject([{ userId: user.id }]);
    expect([await authenticate(user, newpass), await auth.lives(session)]).toEqual([true, false]);
  });

  it("is none of the name's next owner, who came between the session's check and the password's, even with that password", async () => {
    const user = await auth.makeUser();
    const session = await auth.logIn(user);
    let next: MadeUser | undefined;
    const racing = beforeCheck(async () => {
      await auth.call("DELETE", `/core/users/${user.id}`);
      next ??= await auth.makeUser({ name: user.name, password: user.password });
    });
    const response = await change(session, { newpass: newPassword(), oldpass: user.password }, { on: racing });
    expect(response).toMatchObject(ended);
    expect(next?.id).not.toBe(user.id);
    expect([await authenticate(user, user.password), await auth.lives(session)]).toEqual([true, false]);
  });
});
