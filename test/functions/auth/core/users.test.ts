import { describe, expect, it, test } from "vitest";
import { hours } from "../../../../lib/platform/time.ts";
import { hotpKey } from "../../../support/auth/software-key.ts";
import { newName, newPassword, origin, testAuth } from "../../../support/auth/test-auth.ts";

const auth = await testAuth();

const create = (username: string, password = newPassword()) => auth.post("/core/users", { username, password });
const noSuchUser = { error: "There is no such user." };

describe("POST /core/users (specification section 4)", () => {
  it("creates a user: 201, an absolute `Location` that ends in the numeric id, body {id, name}", async () => {
    const name = newName();
    const { status, headers, body } = await create(name);
    expect(status).toBe(201);
    expect(body).toEqual({ id: expect.any(Number), name });
    const { id } = body as { id: number };
    expect(Number.isSafeInteger(id) && id > 0).toBe(true);
    expect(headers.get("location")).toBe(`${origin}/core/users/${id}`);
    expect((await auth.get(new URL(headers.get("location") ?? "").pathname)).body).toMatchObject({ id, name });
  });

  it("puts PUBLIC_BASE_URL and CORE_PATH in front of the `Location`", async () => {
    const moved = auth.anotherInstance({
      settings: { PUBLIC_BASE_URL: "https://keys.example/base/", CORE_PATH: "/a/core/" },
    });
    const { headers, body } = await moved.post("/a/core/users", { username: newName(), password: newPassword() });
    expect(headers.get("location")).toBe(`https://keys.example/base/a/core/users/${(body as { id: number }).id}`);
  });

  it("keeps and returns the name trimmed and in NFC; it is looked up in any case", async () => {
    const name = `  E\u0301mile ${newName()} `;
    const { body } = await create(name);
    const shown = name.trim().normalize("NFC");
    expect(body).toMatchObject({ name: shown });
    for (const written of [shown, shown.toUpperCase(), shown.toLowerCase().normalize("NFD"), ` ${shown} `]) {
      expect((await auth.get(`/core/users/${encodeURIComponent(written)}`)).body).toMatchObject({ name: shown });
    }
  });

  it("refuses a name that is taken, in any letter case or normal form: 409", async () => {
    const name = `\u00c5ngström ${newName()}`;
    expect((await create(name)).status).toBe(201);
    for (const again of [name, name.toUpperCase(), name.normalize("NFD"), `${name} `]) {
      const { status, body } = await create(again);
      expect(status).toBe(409);
      expect(body).toEqual({ error: "A user with that username already exists!" });
    }
  });

  test.each([
    [{}, "Missing required parameter(s)! username, password"],
    [{ username: "ford" }, "Missing required parameter(s)! password"],
    [{ username: "", password: "a good password" }, "username must not be empty"],
    [{ username: "a/b", password: "a good password" }, /^username must not contain/],
    [{ username: "arthur", password: "7 chars" }, "password must have at least 8 characters"],
    [
      { username: "arthur", password: "password1" },
      "password must not be a common password, a repetition, or a run such as abcdefgh",
    ],
    [{ username: "Arthur Dent", password: "arthur dent" }, "password must not be the username"],
    [
      { username: "", password: " ".repeat(8) },
      "username must not be empty; password must not be a common password, a repetition, or a run such as abcdefgh",
    ],
    [
      { username: "1", password: "short" },
      /^username must have a character .*; password must have at least 8 characters$/,
    ],
  ])("answers %j with 400 and one sentence for every wrong field", async (fields, sentence) => {
    const { status, body } = await auth.post("/core/users", fields as Record<string, string>);
    expect(status).toBe(400);
    const message = (body as { error: string }).error;
    if (typeof sentence === "string") expect(message).toBe(sentence);
    else expect(message).toMatch(sentence);
  });

  it("requires 15 characters where no OTP is ever needed", async () => {
    const without = auth.anotherInstance({ settings: { AUTH_OTP_POLICY: "never" } });
    const { status, body } = await without.post("/core/users", { username: newName(), password: "fourteen chars" });
    expect(status).toBe(400);
    expect(body).toEqual({ error: "password must have at least 15 characters" });
  });
});

describe("GET /core/users/<id-or-username> (specification section 4)", () => {
  it("shows {attributes, otpkeys, id, name}, beside them `enabled`, and nothing else, by id and by name", async () => {
    const { id, name } = await auth.makeUser();
    await auth.post(`/core/users/${id}/otpkeys`, { otpkey: `k${id}` });
    await auth.post(`/core/users/${id}/attributes`, { key: "planet", value: "earth" });
    for (const path of [`/core/users/${id}`, `/core/users/${name}`]) {
      const { status, body } = await auth.get(path);
      expect(status).toBe(200);
      expect(body).toEqual({ attributes: { planet: "earth" }, otpkeys: [`k${id}`], id, name, enabled: true });
    }
  });
});

describe.each([
  ["DELETE", ""],
  ["POST", "/delete"],
] as const)("%s /core/users/<id-or-username>%s (specification section 4)", (method, rest) => {
  it("deletes by id and by name: 204 and no body; then the user is not there: 404", async () => {
    for (const by of ["id", "name"] as const) {
      const user = await auth.makeUser();
      const path = `/core/users/${user[by]}`;
      expect(await auth.call(method, path + rest)).toMatchObject({ status: 204, body: undefined });
      expect(await auth.get(path)).toMatchObject({ status: 404, body: noSuchUser });
      expect(await auth.call(method, path + rest)).toMatchObject({ status: 404, body: noSuchUser });
    }
  });

  it("takes attributes, assignments and sessions along and leaves the keys; the name's next owner inherits nothing", async () => {
    const user = await auth.makeUser();
    const prefix = `d${user.id}`;
    const session = await auth.logIn(user);
    await auth.post(`/core/users/${user.id}/otpkeys`, { otpkey: prefix });
    await auth.post(`/core/users/${user.id}/attributes`, { key: "a", value: "b" });
    await auth.call(method, `/core/users/${user.id}${rest}`);
    expect(await auth.lives(session)).toBe(false);
    expect((await auth.get("/core/users", { otpkey: prefix })).body).toEqual([]);
    expect((await auth.get(`/core/otpkeys/${prefix}`)).status).toBe(200);
    const next = await auth.makeUser({ name: user.name });
    expect(next.id).not.toBe(user.id);
    expect((await auth.get(`/core/users/${user.name}`)).body).toEqual({
      attributes: {},
      otpkeys: [],
      enabled: true,
      id: next.id,
      name: user.name,
    });
    expect(await auth.lives(session)).toBe(false);
    expect((await auth.get(`/core/users/${user.id}`)).status).toBe(404);
  });
});

describe("POST /core/users/<id-or-username>/reset (specification section 4)", () => {
  it("sets the new password by id and by name: 204; the old one is none any more", async () => {
    const user = await auth.makeUser();
    for (const by of ["id", "name"] as const) {
      const password = newPassword();
      expect(await auth.post(`/core/users/${user[by]}/reset`, { password })).toMatchObject({
        status: 204,
        body: undefined,
      });
      const validate = (password: string) => auth.get(`/core/users/${user.id}/validate`, { password });
      expect((await validate(password)).body).toMatchObject({ valid_password: true });
      expect((await validate(user.password)).body).toMatchObject({ valid_password: false });
    }
  });

  it("ends every session of the user", async () => {
    const user = await auth.makeUser();
    const sessions = [await auth.logIn(user), await auth.logIn(user)];
    await auth.post(`/core/users/${user.id}/reset`, { password: user.password });
    for (const session of sessions) expect(await auth.lives(session)).toBe(false);
    expect(await auth.lives(await auth.logIn(user))).toBe(true);
  });

  it("takes an empty password for none", async () => {
    const user = await auth.makeUser();
    expect((await auth.post(`/core/users/${user.id}/reset`, { password: "" })).status).toBe(204);
    for (const password of ["", user.password]) {
      expect((await auth.post("/client/authenticate", { username: user.name, password })).body).toBe(false);
    }
  });

  it("refuses the user's own name as the password, and an unknown user", async () => {
    const { id, name } = await auth.makeUser();
    const { status, body } = await auth.post(`/core/users/${id}/reset`, { password: name.toUpperCase() });
    expect({ status, body }).toEqual({ status: 400, body: { error: "password must not be the username" } });
    expect(await auth.post("/core/users/nobody/reset", { password: newPassword() })).toMatchObject({
      status: 404,
      body: noSuchUser,
    });
  });
});

describe.each(["GET", "POST"] as const)("%s /core/users/<id-or-username>/validate", method => {
  const validate = (whom: string | number, fields: Record<string, string> = {}) =>
    auth.call(method, `/core/users/${whom}/validate`, { fields });

  it("checks the password by id and by name; a missing or empty value is false", async () => {
    const user = await auth.makeUser();
    for (const whom of [user.id, user.name]) {
      const { status, body } = await validate(whom, { password: user.password });
      expect({ status, body }).toEqual({ status: 200, body: { valid_password: true, valid_otp: false } });
      for (const fields of [{}, { password: "", otp: "" }, { password: "wrong" }, { otp: "cccccccccccc123456" }]) {
        expect((await validate(whom, fields as Record<string, string>)).body).toEqual({
          valid_password: false,
          valid_otp: false,
        });
      }
    }
  });

  it("says false of an empty password of a user without one, also where empty ones are allowed", async () => {
    const lax = auth.anotherInstance({ settings: { AUTH_ALLOW_EMPTY_PASSWORD: "true" } });
    const { body } = await auth.post("/core/users", { username: newName(), password: "" });
    const { id } = body as { id: number };
    for (const password of ["", "anything"]) {
      const { body: verdict } = await lax.call(method, `/core/users/${id}/validate`, { fields: { password } });
      expect(verdict).toEqual({ valid_password: false, valid_otp: false });
    }
  });

  it("checks and uses up an OTP with any password, and leaves an OTP of another user's key unused", async () => {
    const [user, other] = [await auth.makeUser(), await auth.makeUser()];
    const [own, foreign] = [await auth.giveKey(user, hotpKey()), await auth.giveKey(other, hotpKey())];
    const verdictOf = async (fields: Record<string, string>) => (await validate(user.id, fields)).body;
    const { password } = user;
    expect(await verdictOf({ otp: own.otp(0) })).toEqual({ valid_password: false, valid_otp: true });
    expect(await verdictOf({ otp: own.otp(0) })).toEqual({ valid_password: false, valid_otp: false });
    expect(await verdictOf({ password: "wrong", otp: own.otp(1) })).toEqual({ valid_password: false, valid_otp: true });
    expect(await verdictOf({ password, otp: own.otp(2) })).toEqual({ valid_password: true, valid_otp: true });
    expect(await verdictOf({ password, otp: foreign.otp(0) })).toEqual({ valid_password: true, valid_otp: false });
    const login = other.credentials;
    expect((await auth.post("/client/login", { ...login, otp: foreign.otp(0) })).status).toBe(200);
  });

  it("counts nothing and is not throttled", async () => {
    const user = await auth.makeUser();
    for (let n = 0; n < 12; n++) await validate(user.id, { password: "wrong" });
    expect((await validate(user.id, { password: user.password })).body).toMatchObject({ valid_password: true });
    expect((await auth.post("/client/authenticate", user.credentials)).body).toBe(true);
  });
});

describe("POST /core/users/<user>/sessions/delete", () => {
  it("ends all sessions of the user and of no other: 204", async () => {
    const [user, other] = [await auth.makeUser(), await auth.makeUser()];
    const [one, two, foreign] = [await auth.logIn(user), await auth.logIn(user), await auth.logIn(other)];
    for (const by of ["id", "name"] as const) {
      expect((await auth.post(`/core/users/${user[by]}/sessions/delete`)).status).toBe(204);
    }
    expect([await auth.lives(one), await auth.lives(two), await auth.lives(foreign)]).toEqual([false, false, true]);
    expect(await auth.lives(await auth.logIn(user))).toBe(true);
  });
});

describe("POST /core/users/<user>/rename", () => {
  const rename = (user: string | number, username: string) =>
    auth.post(`/core/users/${encodeURIComponent(user)}/rename`, { username });

  it("gives the user another name: id, password, attributes, OTP keys and last sign-in stay, and sessions end", async () => {
    const user = await auth.makeUser();
    await auth.post(`/core/users/${user.id}/attributes`, { key: "planet", value: "earth" });
    const session = await auth.logIn(user);
    await auth.post(`/core/users/${user.id}/otpkeys`, { otpkey: `k${user.id}` });
    const { body: before } = await auth.get(`/core/users/${user.id}`);
    const name = `Renamed ${newName()}`;
    expect(await rename(user.name, ` ${name} `)).toMatchObject({ status: 200, body: { id: user.id, name } });
    for (const by of [user.id, name.toUpperCase()])
      expect((await auth.get(`/core/users/${encodeURIComponent(by)}`)).body).toEqual({ ...(before as object), name });
    expect((await auth.get(`/core/users/${user.name}`)).body).toEqual(noSuchUser);
    expect(await auth.lives(session)).toBe(false);
    const found = async (query: string) => (await auth.get(`/core/users?${query}`)).body;
    expect(await found(`$prefix=${encodeURIComponent(name)}`)).toEqual([{ id: user.id, name }]);
    expect(await found(`$prefix=${user.name}`)).toEqual([]);
    expect(await found(`otpkey=k${user.id}`)).toEqual([{ id: user.id, name }]);
    expect(auth.events("user_renamed").at(-1)).toMatchObject({ userId: user.id });
    const check = await auth.post(`/core/users/${user.id}/validate`, { password: user.password });
    expect(check.body).toMatchObject({ valid_password: true });
  });

  it("leaves the former name to a next owner, who inherits nothing", async () => {
    const [user, key] = await auth.makeOwner(hotpKey());
    await auth.post(`/core/users/${user.id}/attributes`, { key: "planet", value: "earth" });
    const session = await auth.logIn(user, key.otp(0));
    for (let n = 0; n < 12; n++)
      await auth.post("/client/authenticate", { username: user.name, password: "wrong", otp: key.otp(1) });
    expect((await auth.get(`/core/users/${user.id}/lock`)).body).not.toMatchObject({ failures: 0 });
    const name = newName();
    await rename(user.id, name);
    expect((await auth.get(`/core/users/${name}/lock`)).body).toMatchObject({ failures: 0 });
    expect((await auth.get(`/core/users/${user.name}/lock`)).body).toMatchObject({ failures: 0 });
    const password = newPassword();
    const { id } = (await create(user.name, password)).body as { id: number };
    expect((await auth.get(`/core/users/${user.name}`)).body).toEqual({
      attributes: {},
      otpkeys: [],
      enabled: true,
      id,
      name: user.name,
    });
    expect(await auth.lives(session)).toBe(false);
    const signIn = (given: string) => auth.post("/client/authenticate", { username: user.name, password: given });
    expect((await signIn(user.password)).body).toBe(false);
    expect((await signIn(password)).body).toBe(true);
    expect((await auth.get(`/core/users/${name}`)).body).toMatchObject({
      id: user.id,
      attributes: { planet: "earth" },
    });
  });

  it("changes the case of a name", async () => {
    const user = await auth.makeUser();
    const session = await auth.logIn(user);
    const name = user.name.toUpperCase();
    expect((await rename(user.id, name)).body).toEqual({ id: user.id, name });
    expect((await auth.get(`/core/users?$prefix=${user.name}`)).body).toEqual([{ id: user.id, name }]);
    expect(await auth.lives(session)).toBe(false);
  });

  it("refuses a name that is the user's password, in any of its usual letter cases: 400", async () => {
    const password = "Correct.Horse-7 Battery";
    const user = await create(newName(), password);
    const { id } = user.body as { id: number };
    for (const name of [password, ` ${password} `]) {
      expect(await rename(id, name)).toMatchObject({
        status: 400,
        body: { error: "username must not be the user's password" },
      });
    }
    for (const other of [password.toLowerCase(), password.toUpperCase()]) {
      expect((await auth.post(`/core/users/${id}/reset`, { password: other })).status).toBe(204);
      expect((await rename(id, password)).status).toBe(400);
    }
    // Without a password, or with another one, the name is as good as any.
    expect((await auth.post(`/core/users/${id}/reset`, { password: newPassword() })).status).toBe(204);
    expect((await rename(id, password)).status).toBe(200);
  });

  it("answers 409 for a name that another user has, 400 for none, and 404 for an unknown user", async () => {
    const [user, other] = [await auth.makeUser(), await auth.makeUser()];
    expect(await rename(user.id, other.name.toUpperCase())).toMatchObject({
      status: 409,
      body: { error: "A user with that username already exists!" },
    });
    expect(await rename(user.id, "a/b")).toMatchObject({ status: 400 });
    expect(await rename(user.id, "12345")).toMatchObject({ status: 400 });
    expect(await auth.post(`/core/users/${user.id}/rename`)).toMatchObject({ status: 400 });
    expect(await rename("nobody", newName())).toMatchObject({ status: 404, body: noSuchUser });
    expect((await auth.get(`/core/users/${user.name}`)).body).toMatchObject({ id: user.id });
  });
});

describe("ids", () => {
  it("grow with time and are never given again", async () => {
    const first = await auth.makeUser();
    await auth.call("DELETE", `/core/users/${first.id}`);
    auth.advance(hours(1));
    const second = await auth.makeUser();
    expect(second.id).toBeGreaterThan(first.id);
  });
});
