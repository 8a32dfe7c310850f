import { randomInt } from "node:crypto";
import { describe, expect, it } from "vitest";
import { hotpKey, newPrefix, yubicoKey } from "../../../support/auth/software-key.ts";
import { type MadeUser, replacing, testAuth } from "../../../support/auth/test-auth.ts";

const auth = await testAuth();
const [user, other] = await Promise.all([auth.makeUser(), auth.makeUser()]);

const noKey = { error: "There is no such otpkey." };
const assign = (whom: string | number, otpkey: string, segment = "users") =>
  auth.post(`/core/${segment}/${whom}/otpkeys`, { otpkey });
const view = (prefix: string) => auth.get(`/core/otpkeys/${prefix}`);

describe.each(["users", "user"])("POST /core/%s/<id-or-username>/otpkeys (specification section 4)", segment => {
  it("assigns a key by id and by name: 204; an unknown prefix creates it, enabled; assigning twice is fine", async () => {
    const prefix = newPrefix();
    for (const by of ["id", "name", "id"] as const) {
      expect(await assign(user[by], prefix, segment)).toMatchObject({ status: 204, body: undefined });
    }
    expect((await view(prefix)).body).toEqual({
      attributes: {},
      prefix,
      enabled: true,
      id: expect.any(Number),
      users: [{ id: user.id, name: user.name }],
    });
    expect((await auth.get(`/core/${segment}/${user.id}/otpkeys`)).body).toContain(prefix);
    expect((await auth.get(`/core/users/${user.name}`)).body).toMatchObject({
      otpkeys: expect.arrayContaining([prefix]),
    });
  });

  it("assigns a key to several users", async () => {
    const prefix = newPrefix();
    await assign(user.id, prefix, segment);
    await assign(other.id, prefix, segment);
    expect((await auth.get("/core/users", { otpkey: prefix })).body).toEqual(
      [user, other].toSorted((one, two) => one.id - two.id).map(({ id, name }) => ({ id, name })),
    );
  });
});

describe("the prefix of an assignment", () => {
  const prefixesOf = async (whom: MadeUser) => (await auth.get(`/core/users/${whom.id}/otpkeys`)).body;

  it("is folded from upper case, and has 1 to 32 letters and digits", async () => {
    const one = await auth.makeUser();
    for (const prefix of ["UBHE12345678", "7", "Z".repeat(32)]) expect((await assign(one.id, prefix)).status).toBe(204);
    expect(await prefixesOf(one)).toEqual(["7", "ubhe12345678", "z".repeat(32)]);
  });

  it.each([
    ["", "must be 1 to 32 letters and digits"],
    ["dtef fuje", "must be 1 to 32 letters and digits"],
    [yubicoKey().otp(1), "looks like an OTP: send the prefix alone, 1 to 32 letters and digits"],
  ])("is not %j: 400", async (otpkey, reason) => {
    expect(await assign(user.id, otpkey)).toMatchObject({ status: 400, body: { error: `otpkey ${reason}` } });
  });

  it("refuses a scanned OTP of no known key: no key is named like a code, and the user signs in as before", async () => {
    const owner = await auth.makeUser();
    const eight = hotpKey({ digits: 8 });
    await auth.post("/core/otpkeys", eight.fields);
    const others = [hotpKey(), hotpKey({ digits: 7 }), hotpKey({ prefix: `ubhe${randomInt(1e7, 1e8)}` })];
    for (const otpkey of [...others.map(({ otp }) => otp(0)), `${eight.prefix}755224`, "dteffuje755224"]) {
      expect(await assign(owner.id, otpkey)).toMatchObject({
        status: 400,
        body: { error: expect.stringMatching(/^otpkey looks like an OTP, and no otpkey has it as prefix/) },
      });
      expect(await auth.context.otpkeys.find(otpkey)).toBeUndefined();
    }
    expect((await auth.get(`/core/users/${owner.id}/otpkeys`)).body).toEqual([]);
    expect((await auth.post("/client/authenticate", owner.credentials)).body).toBe(true);
  });

  it.each([6, 7, 8])(
    "creates no key of the short prefix of a key and a code of %d digits, and reads at most 3 keys more",
    async digits => {
      const owner = await auth.makeUser();
      const [short, free] = [`7100${digits}`, `7200${digits}`];
      await auth.post("/core/otpkeys", hotpKey({ prefix: short }).fields);
      const code = "12345678".slice(0, digits);
      expect(await assign(owner.id, short + code)).toMatchObject({
        status: 400,
        body: { error: expect.stringMatching(/^otpkey looks like an OTP.+: send the prefix alone$/) },
      });
      expect(await auth.context.otpkeys.find(short + code)).toBeUndefined();
      const [plain, cut] = [newPrefix(), free + code];
      const [few, more] = [
        await auth.counted(() => assign(owner.id, plain)),
        await auth.counted(() => assign(owner.id, cut)),
      ];
      expect([few.result.status, more.result.status]).toEqual([204, 204]);
      expect(more.calls.length - few.calls.length).toBeLessThanOrEqual(3);
      expect(more.sequential - few.sequential).toBe(1);
    },
  );

  it("takes a known prefix that ends in digits as it is, and never cuts it", async () => {
    const owner = await auth.makeUser();
    const short = await auth.giveKey(owner, hotpKey());
    const long = hotpKey({ prefix: `${short.prefix}123456` });
    await auth.post("/core/otpkeys", long.fields);
    expect((await assign(owner.id, long.prefix)).status).toBe(204);
    const { body } = await auth.get(`/core/users/${owner.id}/otpkeys`);
    expect((body as string[]).toSorted()).toEqual([short.prefix, long.prefix]);
  });

  it("creates no key named like a code that is deleted while it is assigned", async () => {
    const key = hotpKey({ prefix: `${newPrefix()}123456` });
    await auth.post("/core/otpkeys", key.fields);
    const racing = auth.anotherInstance({
      ports: replacing("otpkeys", otpkeys => ({
        assign: async (userRef, prefix, options) => {
          await otpkeys.remove(prefix);
          return otpkeys.assign(userRef, prefix, options);
        },
      })),
    });
    expect((await racing.post(`/core/users/${user.id}/otpkeys`, { otpkey: key.prefix })).status).toBe(400);
    expect(await auth.context.otpkeys.find(key.prefix)).toBeUndefined();
  });

  it("is required: 400", async () => {
    const { status, body } = await auth.post(`/core/users/${user.id}/otpkeys`);
    expect({ status, body }).toEqual({ status: 400, body: { error: "Missing required parameter(s)! otpkey" } });
  });

  it("makes a key of kind `remote` where validation servers are configured, else one without a secret", async () => {
    const asking = auth.anotherInstance({
      settings: { OTP_VALIDATION_URLS: "https://one.example/verify", OTP_VALIDATION_CLIENT_ID: "42" },
    });
    const [remote, plain] = [newPrefix(), newPrefix()];
    await asking.post(`/core/users/${user.id}/otpkeys`, { otpkey: remote });
    await assign(user.id, plain);
    expect((await auth.context.otpkeys.find(remote))?.value.kind).toBe("remote");
    expect((await auth.context.otpkeys.find(plain))?.value.kind).toBeUndefined();
  });
});

describe("viewing an otpkey (specification section 4, rule 1)", () => {
  it("shows {attributes, prefix, enabled, id}, beside them its users, and nothing else, alone and through its user, in either form", async () => {
    const key = await auth.giveKey(user, hotpKey());
    await auth.post(`/core/otpkeys/${key.prefix}/attributes`, { key: "serial", value: "1" });
    const expected = {
      attributes: { serial: "1" },
      prefix: key.prefix,
      enabled: true,
      id: (await auth.context.otpkeys.find(key.prefix))?.value.id,
      users: [{ id: user.id, name: user.name }],
    };
    for (const path of [
      `/core/otpkeys/${key.prefix}`,
      `/core/otpkeys/${key.prefix.toUpperCase()}`,
      `/core/users/${user.id}/otpkeys/${key.prefix}`,
      `/core/users/${user.name}/otpkeys/${key.prefix}`,
      `/core/user/${user.id}/otpkeys/${key.prefix}`,
      `/core/user/${user.name}/otpkeys/${key.prefix}`,
    ]) {
      const { status, body } = await auth.get(path);
      expect({ status, body }, path).toEqual({ status: 200, body: expected });
    }
  });
});

describe.each([
  ["users", "DELETE", ""],
  ["users", "POST", "/delete"],
  ["user", "DELETE", ""],
  ["user", "POST", "/delete"],
] as const)("unassigning by /core/%s, %s …%s (specification section 4, rule 2)", (segment, method, rest) => {
  it("takes the assignment alone: the key keeps its state and attributes, and others keep the key", async () => {
    const key = await auth.giveKey(user, hotpKey());
    await assign(other.id, key.prefix);
    await auth.post(`/core/otpkeys/${key.prefix}/attributes`, { key: "serial", value: "1" });
    await auth.post(`/core/otpkeys/${key.prefix}/disable`);
    const before = (await view(key.prefix)).body as { users: readonly object[] };
    expect(before.users).toHaveLength(2);
    const path = `/core/${segment}/${user.name}/otpkeys/${key.prefix}${rest}`;
    expect(await auth.call(method, path)).toMatchObject({ status: 204, body: undefined });
    expect((await view(key.prefix)).body).toEqual({ ...before, users: [{ id: other.id, name: other.name }] });
    expect((await auth.get(`/core/users/${user.id}/otpkeys/${key.prefix}`)).status).toBe(404);
    expect((await auth.get(`/core/users/${other.id}/otpkeys/${key.prefix}`)).status).toBe(200);
    expect(await auth.call(method, path)).toMatchObject({ status: 404, body: noKey });
  });
});

describe.each([
  ["DELETE", ""],
  ["POST", "/delete"],
] as const)("%s /core/otpkeys/<prefix>%s (specification section 4, rule 3)", (method, rest) => {
  it("removes the key, all its data and every assignment; a new key with its prefix inherits nothing", async () => {
    const key = await auth.giveKey(user, hotpKey());
    await assign(other.id, key.prefix);
    await auth.post(`/core/otpkeys/${key.prefix}/attributes`, { key: "serial", value: "1" });
    const { id } = (await view(key.prefix)).body as { id: number };
    expect(await auth.call(method, `/core/otpkeys/${key.prefix}${rest}`)).toMatchObject({
      status: 204,
      body: undefined,
    });
    expect((await view(key.prefix)).status).toBe(404);
    for (const { id: userId } of [user, other]) {
      expect((await auth.get(`/core/users/${userId}/otpkeys`)).body).not.toContain(key.prefix);
    }
    expect((await auth.get("/core/users", { otpkey: key.prefix })).body).toEqual([]);
    expect(await auth.call(method, `/core/otpkeys/${key.prefix}${rest}`)).toMatchObject({ status: 404, body: noKey });
    await auth.post("/core/otpkeys", key.fields);
    const anew = (await view(key.prefix)).body as { id: number };
    expect(anew).toEqual({ attributes: {}, prefix: key.prefix, enabled: true, id: expect.any(Number) });
    expect(anew.id).not.toBe(id);
    expect((await auth.get("/core/users", { otpkey: key.prefix })).body).toEqual([]);
  });
});

describe("POST /core/otpkeys/<prefix>/enable and /disable", () => {
  it("move `enabled`: 204, also where it is so already", async () => {
    const { prefix } = await auth.giveKey(user, hotpKey());
    for (const [action, enabled] of [
      ["disable", false],
      ["disable", false],
      ["enable", true],
      ["enable", true],
    ] as const) {
      const path = `/core/otpkeys/${prefix.toUpperCase()}/${action}`;
      expect(await auth.post(path)).toMatchObject({ status: 204, body: undefined });
      expect((await view(prefix)).body).toMatchObject({ enabled });
      expect((await auth.get("/core/otpkeys")).body).toContainEqual(expect.objectContaining({ prefix, enabled }));
    }
  });

  it("`end_sessions=true` ends the sessions that were opened with the key, and no others", async () => {
    const [one, other] = [await auth.makeUser(), await auth.makeUser()];
    const [key, kept] = [await auth.giveKey(one, hotpKey()), await auth.giveKey(one, hotpKey())];
    await auth.post(`/core/users/${other.id}/otpkeys`, { otpkey: key.prefix });
    const opened = [await auth.logIn(one, key.otp(0)), await auth.logIn(other, key.otp(1))];
    const stays = await auth.logIn(one, kept.otp(0));
    await auth.call("DELETE", `/core/users/${other.id}/otpkeys/${key.prefix}`);
    const plain = await auth.logIn(other);
    const disable = (fields = {}) => auth.post(`/core/otpkeys/${key.prefix}/disable`, fields);
    expect(await disable({ end_sessions: "maybe" })).toMatchObject({
      status: 400,
      body: { error: "end_sessions must be true or false" },
    });
    for (const fields of [{}, { end_sessions: "false" }]) expect((await disable(fields)).status).toBe(204);
    for (const session of opened) expect(await auth.lives(session)).toBe(true);
    expect(await disable({ end_sessions: "true" })).toMatchObject({ status: 204, body: undefined });
    for (const session of opened) expect(await auth.lives(session)).toBe(false);
    for (const session of [stays, plain]) expect(await auth.lives(session)).toBe(true);
    expect(auth.events("sessions_ended").at(-1)).toMatchObject({ prefix: key.prefix, sessions: 2 });
    const unknown = await auth.post(`/core/otpkeys/${newPrefix()}/disable`, { end_sessions: "true" });
    expect(unknown.status).toBe(404);
  });

  it("`end_sessions=true` ends the session of a sign-in that passed before the key was disabled", async () => {
    const [user, key] = await auth.makeOwner(hotpKey());
    const [verified, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = auth.anotherInstance({
      ports: replacing("sessions", sessions => ({
        create: async (...given) => {
          verified.resolve();
          await gate.promise;
          return sessions.create(...given);
        },
      })),
    });
    const login = slow.logIn(user, key.otp(0));
    await verified.promise;
    const administrator = auth.anotherInstance({
      ports: () => ({
        sleep: async () => {
          gate.resolve();
          await login;
        },
      }),
    });
    const disabled = await administrator.post(`/core/otpkeys/${key.prefix}/disable`, { end_sessions: "true" });
    expect(disabled.status).toBe(204);
    expect(await auth.lives(await login)).toBe(false);
  });
});

describe("GET /core/users/<user>/otpkeys", () => {
  it("is an array of prefixes, by id and by name; 404 for an unknown user", async () => {
    const one = await auth.makeUser();
    expect((await auth.get(`/core/users/${one.id}/otpkeys`)).body).toEqual([]);
    for (const prefix of ["k2", "k1"]) await assign(one.id, prefix);
    for (const segment of ["users", "user"]) {
      for (const whom of [one.id, one.name]) {
        const { status, body } = await auth.get(`/core/${segment}/${whom}/otpkeys`);
        expect({ status, body }).toEqual({ status: 200, body: ["k1", "k2"] });
      }
      expect((await auth.get(`/core/${segment}/nobody/otpkeys`)).status).toBe(404);
    }
  });
});
