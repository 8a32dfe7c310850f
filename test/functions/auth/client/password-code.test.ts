import { describe, expect, it } from "vitest";
import { hours, minutes, plus } from "../../../../lib/platform/time.ts";
import { hotpKey } from "../../../support/auth/software-key.ts";
import { type MadeUser, newName, newPassword, testAuth, withSession } from "../../../support/auth/test-auth.ts";
import { storedText } from "../../../support/storage/stored-text.ts";

const auth = await testAuth({ settings: { AUTH_THROTTLE_FAILURES: "20" } });
const wrong = { status: 401, body: { error: "Invalid credentials!" } };

type Fields = Readonly<Record<string, string>>;
const issue = async ({ id }: Pick<MadeUser, "id">, on = auth) => {
  const { status, body } = await on.post(`/core/users/${id}/reset`, { issue_code: "true" });
  expect({ status, body }).toEqual({
    status: 201,
    body: {
      code: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){3}$/),
      valid_until: expect.any(String),
    },
  });
  return (body as { code: string }).code;
};
const use = ({ name: username }: Pick<MadeUser, "name">, fields: Fields, on = auth) =>
  on.post("/client/password", { username, newpass: newPassword(), ...fields });
const view = async ({ id }: Pick<MadeUser, "id">) => (await auth.get(`/core/users/${id}`)).body as Fields;
const login = async ({ name: username }: MadeUser, password: string, otp?: string) =>
  (await auth.post("/client/login", { username, password, ...(otp && { otp }) })).status;
const lastReason = () => auth.events("authentication").at(-1)?.reason;

describe("a reset with a code", () => {
  it("ends the password and the sessions; the user sets a password with the code, once, and signs in with it", async () => {
    const user = await auth.makeUser();
    const session = await auth.logIn(user);
    const code = await issue(user);
    expect([await auth.lives(session), await login(user, user.password)]).toEqual([false, 401]);
    const newpass = newPassword();
    const typed = code.toLowerCase().replaceAll("0", "o").replaceAll("1", "l").replaceAll("-", " ");
    expect(await use(user, { code: typed, newpass })).toMatchObject({ status: 200, body: true });
    expect(await login(user, newpass)).toBe(200);
    expect(await use(user, { code })).toMatchObject(wrong);
    expect(await login(user, newpass)).toBe(200);
    expect(auth.events("password_code_issued").at(-1)).toMatchObject({ userId: user.id, callerKind: "api_token" });
    expect(auth.events("password_changed").at(-1)).toMatchObject({ userId: user.id, by: "code" });
  });

  it("needs an OTP exactly where a sign-in does", async () => {
    const [user, key] = await auth.makeOwner(hotpKey());
    const code = await issue(user);
    const newpass = newPassword();
    expect(await use(user, { code })).toMatchObject(wrong);
    expect(lastReason()).toBe("no_otp");
    expect(await use(user, { code, otp: `${key.prefix}000000` })).toMatchObject(wrong);
    expect(lastReason()).toBe("wrong_otp");
    expect((await use(user, { code, newpass, otp: key.otp(0) })).body).toBe(true);
    expect(await login(user, newpass, key.otp(1))).toBe(200);
  });

  it("leaves no way in by an OTP alone, also after the code has expired, where that is allowed without a password", async () => {
    const lax = auth.anotherInstance({ settings: { AUTH_ALLOW_EMPTY_PASSWORD: "true" } });
    const [user, key] = await auth.makeOwner(hotpKey());
    const byOtp = async (n: number) =>
      (await lax.post("/client/login", { username: user.name, otp: key.otp(n) })).status;
    await issue(user);
    expect(await byOtp(0)).toBe(401);
    auth.advance(hours(2));
    expect(await byOtp(1)).toBe(401);
    await auth.post(`/core/users/${user.id}/reset`, { password: "" });
    expect(await byOtp(2)).toBe(200);
  });

  it("is valid for an hour", async () => {
    const user = await auth.makeUser();
    const first = await issue(user);
    auth.advance(hours(1));
    expect(await use(user, { code: first })).toMatchObject(wrong);
    const second = await issue(user);
    auth.advance(minutes(59));
    expect((await use(user, { code: second })).status).toBe(200);
  });

  it("is replaced by another one, and ended by a reset with a password", async () => {
    const user = await auth.makeUser();
    const [first, second] = [await issue(user), await issue(user)];
    expect(await use(user, { code: first })).toMatchObject(wrong);
    const password = newPassword();
    await auth.post(`/core/users/${user.id}/reset`, { password });
    expect(await use(user, { code: second })).toMatchObject(wrong);
    expect(await login(user, password)).toBe(200);
  });

  it("ends after five tries, and each counts against the username", async () => {
    const user = await auth.makeUser();
    const code = await issue(user);
    for (let n = 0; n < 4; n++) expect(await use(user, { code: "0000-0000-0000-0000" })).toMatchObject(wrong);
    expect((await auth.get(`/core/users/${user.id}/lock`)).body).toMatchObject({
      failures: 4,
      last_refusal: { reason: "wrong_code" },
    });
    expect(await view(user)).toHaveProperty("code_valid_until");
    expect(await use(user, { code: "0000-0000-0000-0000" })).toMatchObject(wrong);
    expect(await view(user)).not.toHaveProperty("code_valid_until");
    expect(await use(user, { code })).toMatchObject(wrong);
    expect((await use(user, { code: await issue(user) })).status).toBe(200);
  });

  it("ends for good when the user is disabled, and is refused as a wrong one meanwhile", async () => {
    const user = await auth.makeUser();
    const code = await issue(user);
    await auth.post(`/core/users/${user.id}/disable`);
    expect(await use(user, { code })).toMatchObject(wrong);
    await auth.post(`/core/users/${user.id}/enable`);
    expect(await use(user, { code })).toMatchObject(wrong);
    expect(await view(user)).not.toHaveProperty("code_valid_until");
  });

  it("stays with a rename and the end of all sessions", async () => {
    const user = await auth.makeUser();
    const code = await issue(user);
    const name = newName();
    await auth.post(`/core/users/${user.id}/rename`, { username: name });
    await auth.post(`/core/users/${user.id}/sessions/delete`);
    expect(await use({ name }, { code })).toMatchObject({ status: 200, body: true });
  });

  it("is wrong for another user, also if its stored hash is moved there", async () => {
    const [one, other] = [await auth.makeUser(), await auth.makeUser()];
    const code = await issue(one);
    await issue(other);
    expect(await use(other, { code })).toMatchObject(wrong);
    const stored = async ({ id }: MadeUser) => auth.context.users.find({ by: "id", id });
    const [from, to] = [await stored(one), await stored(other)];
    if (from && to) await auth.context.users.save(to, from.value);
    expect(await use(other, { code })).toMatchObject(wrong);
  });

  it("is in no row and no log line, and the view says only until when it is valid", async () => {
    const user = await auth.makeUser();
    const code = await issue(user);
    await use(user, { code: "0000-0000-0000-0000" });
    const { code_valid_until } = await view(user);
    expect(code_valid_until && code_valid_until > auth.now() && code_valid_until <= plus(auth.now(), hours(1))).toBe(
      true,
    );
    expect(JSON.stringify(await view(user))).not.toContain(code);
    expect(await storedText(auth.storage)).not.toContain(code);
    expect(auth.lines.join()).not.toContain(code);
  });

  it("does not use up a try if the new password breaks a rule", async () => {
    const user = await auth.makeUser();
    const code = await issue(user);
    for (let n = 0; n < 6; n++) {
      expect(await use(user, { code, newpass: n % 2 ? user.name : "short" })).toMatchObject({ status: 400 });
    }
    expect((await use(user, { code })).status).toBe(200);
  });

  it("makes as many storage calls for a wrong code whether or not the user, or a code, exists", async () => {
    const [some, none] = [await auth.makeUser(), await auth.makeUser()];
    await issue(some);
    const callsOf = async (user: Pick<MadeUser, "name">, fields: Fields) => {
      const { calls, result } = await auth.counted(() => use(user, { code: "0000-0000-0000-0000", ...fields }));
      expect(result).toMatchObject(wrong);
      return calls.length;
    };
    for (const fields of [{}, { otp: "vvccccbcdeft000000" }]) {
      const counts = new Set();
      for (const user of [some, none, { name: "no-user" }, { name: "1234" }]) {
        // The first attempt of a name also writes its row in the index of expiry.
        await callsOf(user, fields);
        counts.add(await callsOf(user, fields));
      }
      expect(counts.size).toBe(1);
    }
  });
});

describe("a call of the password change", () => {
  it("without session, code and token requires the session, and with a code the username and the new password", async () => {
    const newpass = newPassword();
    for (const [fields, status, error] of [
      [{ username: "x", newpass }, 401, "Session required!"],
      [{ code: "", token: "" }, 401, "Session required!"],
      [{ code: "x", newpass }, 400, "Missing required parameter(s)! username"],
      [{ code: "x", username: "x" }, 400, "Missing required parameter(s)! newpass"],
    ] as const)
      expect(await auth.post("/client/password", fields)).toMatchObject({ status, body: { error } });
  });

  it("with a code is that of the named user, whoever has the session of the browser", async () => {
    const [user, other] = [await auth.makeUser(), await auth.makeUser()];
    const session = await auth.logIn(other);
    const [code, newpass] = [await issue(user), newPassword()];
    const fields = { username: user.name, code, newpass };
    expect(await auth.post("/client/password", fields, withSession(session))).toMatchObject({ status: 200 });
    expect([await login(user, newpass), await login(other, other.password)]).toEqual([200, 200]);
    expect(await auth.lives(session)).toBe(true);
  });
});

describe("the fields of a reset", () => {
  it.each<[Fields, string]>([
    [{}, "Missing required parameter(s)! password"],
    [{ issue_code: "false" }, "Missing required parameter(s)! password"],
    [{ issue_code: "true", password: "" }, "password must be absent with issue_code"],
    [{ issue_code: "true", must_change: "true" }, "must_change must be absent with issue_code"],
    [{ password: "", must_change: "true" }, "must_change needs a password"],
    [{ issue_code: "yes" }, "issue_code must be true or false"],
  ])("are refused: %j, and nothing changes", async (fields, error) => {
    const user = await auth.makeUser();
    expect(await auth.post(`/core/users/${user.id}/reset`, fields)).toMatchObject({ status: 400, body: { error } });
    expect(await login(user, user.password)).toBe(200);
  });
});
