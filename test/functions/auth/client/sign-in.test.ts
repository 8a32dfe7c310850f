import { describe, expect, it, test } from "vitest";
import { cheapCost, cheapHasher } from "../../../support/auth/cheap-hashes.ts";
import { hotpKey, newPrefix, wrongOtp } from "../../../support/auth/software-key.ts";
import { newPassword, replacing, type TestAuth, testAuth, withSession } from "../../../support/auth/test-auth.ts";

// These tests fail to sign in on purpose; the limits have tests of their own.
const auth = await testAuth({ settings: { AUTH_THROTTLE_FAILURES: "100" } });
const user = await auth.makeUser();

/** Hosts beside the first, one for each set of settings. */
const hosts = new Map<string, TestAuth>();
function withSettings(settings: Readonly<Record<string, string>>): TestAuth {
  const key = JSON.stringify(settings);
  const host = hosts.get(key) ?? auth.anotherInstance({ settings });
  hosts.set(key, host);
  return host;
}

type Fields = Readonly<Record<string, string>>;

/** Both answers must always agree. */
async function signsIn(on: TestAuth, fields: Fields, otpForLogin?: string): Promise<boolean> {
  const { status, body } = await on.post("/client/authenticate", fields);
  expect(status).toBe(200);
  const login = await on.post("/client/login", otpForLogin === undefined ? fields : { ...fields, otp: otpForLogin });
  expect(login.status).toBe(body === true ? 200 : 401);
  return body === true;
}

const withoutPassword = () => auth.makeUser({ password: "" });

describe.each(["GET", "POST"] as const)("%s /client/authenticate (specification section 4)", method => {
  const authenticate = (fields: Fields) => auth.call(method, "/client/authenticate", { fields });

  it("is true for valid and sufficient credentials, in any letter case of the name, and opens no session", async () => {
    for (const username of [user.name, user.name.toUpperCase(), ` ${user.name}`]) {
      const { status, body, cookies } = await authenticate({ username, password: user.password });
      expect({ status, body, cookies }).toEqual({ status: 200, body: true, cookies: [] });
    }
  });

  test.each<[string, Fields]>([
    ["nothing", {}],
    ["empty texts", { username: "", password: "", otp: "" }],
    ["a name alone", { username: "NAME" }],
    ["a password alone", { password: "PASSWORD" }],
    ["an OTP alone", { otp: "cccccccccccc123456" }],
    ["a wrong password", { username: "NAME", password: "wrong" }],
    ["the password in another case", { username: "NAME", password: "PASSWORD ".toLowerCase() }],
    ["an unknown user", { username: "nobody", password: "PASSWORD" }],
    ["an unknown user with an OTP", { username: "nobody", password: "PASSWORD", otp: "cccccccccccc123456" }],
    ["a bad OTP beside what is sufficient", { username: "NAME", password: "PASSWORD", otp: "cccccccccccc123456" }],
    ["an OTP that is none", { username: "NAME", password: "PASSWORD", otp: "'" }],
    ["a user's id for a name", { username: "1", password: "PASSWORD" }],
    ["a password of 10 KiB", { username: "NAME", password: "x".repeat(10_240) }],
    ["an OTP of 10 KiB", { username: "NAME", password: "PASSWORD", otp: "c".repeat(10_240) }],
  ])("is false for %s: 200 all the same", async (_, fields) => {
    const given = Object.fromEntries(
      Object.entries(fields).map(([key, value]) => [
        key,
        value.replace("NAME", user.name).replace("PASSWORD", user.password),
      ]),
    );
    expect(await authenticate(given)).toMatchObject({ status: 200, body: false });
  });
});

describe("when an OTP is needed", async () => {
  const on = (policy: string) => withSettings({ AUTH_OTP_POLICY: policy });
  const plain = await auth.makeUser();
  const [keyed, key] = await auth.makeOwner(hotpKey());
  const [disabled, off] = await auth.makeOwner(hotpKey());
  await auth.post(`/core/otpkeys/${off.prefix}/disable`);
  let next = 0;

  test.each([
    ["never", "keyed", true],
    ["when-assigned", "plain", true],
    ["when-assigned", "keyed", false],
    ["when-assigned", "disabled", true],
    ["always", "plain", false],
  ] as const)("%s: the password alone of a user whose key is %s is sufficient: %s", async (policy, whom, expected) => {
    expect(await signsIn(on(policy), { plain, keyed, disabled }[whom].credentials)).toBe(expected);
  });

  it("a good OTP is sufficient where one is always needed, and a bad one is not where none is", async () => {
    expect(await signsIn(on("always"), { ...keyed.credentials, otp: key.otp(next++) }, key.otp(next++))).toBe(true);
    expect(await signsIn(on("never"), { ...keyed.credentials, otp: wrongOtp(key) })).toBe(false);
  });

  it("an OTP of a key that is not the user's fails the login, even where none is needed", async () => {
    const fields = plain.credentials;
    expect(await signsIn(on("never"), { ...fields, otp: key.otp(next++) }, key.otp(next++))).toBe(false);
  });

  it("a new key with the prefix of the user's deleted key requires no OTP", async () => {
    const { prefix } = await auth.giveKey(await auth.makeUser(), hotpKey());
    const stale = auth.anotherInstance({
      ports: replacing("users", users => ({
        find: async whom => {
          const user = await users.find(whom);
          return user && { ...user, value: { ...user.value, otpkeys: [{ prefix, id: 1 }] } };
        },
      })),
    });
    expect(await signsIn(stale, plain.credentials)).toBe(true);
  });

  it("an OTP is used up where the user has its key and the password was wrong or missing", async () => {
    const mine = keyed.credentials;
    for (const spoil of [{ ...mine, password: "wrong" }, { username: keyed.name }]) {
      const otp = key.otp(next++);
      expect((await auth.post("/client/authenticate", { ...spoil, otp })).body).toBe(false);
      expect((await auth.post("/client/authenticate", { ...mine, otp })).body).toBe(false);
    }
    expect((await auth.post("/client/authenticate", { ...mine, otp: key.otp(next++) })).body).toBe(true);
  });
});

describe("a user without a password", () => {
  const lax = () => withSettings({ AUTH_ALLOW_EMPTY_PASSWORD: "true" });

  it("signs in by an OTP where empty ones are allowed, and never without one or by default", async () => {
    const one = await withoutPassword();
    const key = await auth.giveKey(one, hotpKey());
    const username = one.name;
    expect(await signsIn(auth, { username, otp: key.otp(0) }, key.otp(1))).toBe(false);
    expect(await signsIn(lax(), { username, password: "" })).toBe(false);
    expect(await signsIn(lax(), { username, otp: key.otp(2) }, key.otp(3))).toBe(true);
    expect(await signsIn(lax(), { username, password: "x", otp: key.otp(4) }, key.otp(5))).toBe(false);
  });
});

describe("identification by OTP", () => {
  const on = (more = {}) => withSettings({ AUTH_IDENTIFY_BY_OTP: "true", ...more });

  /** A user with a key of which no OTP is used. */
  async function newOwner() {
    const [owner, key] = await auth.makeOwner(hotpKey());
    let next = 0;
    const otp = () => key.otp(next++);
    const both = (fields: Fields, host = on()) => signsIn(host, { ...fields, otp: otp() }, otp());
    return { owner, key, otp, both };
  }

  it("names the user of the key; password rules still apply; an empty `username` is as if absent", async () => {
    const { owner, key, otp, both } = await newOwner();
    expect(await both({ password: owner.password }, auth), "by default").toBe(false);
    expect(await both({ username: "", password: owner.password })).toBe(true);
    expect(await both({})).toBe(false);
    expect(await both({ password: "wrong" })).toBe(false);
    const { body } = await on().post("/client/login", { password: owner.password, otp: otp() });
    const { session } = body as { session: string };
    expect((await auth.get("/client/status", {}, withSession(session))).body).toMatchObject({
      user_id: owner.id,
      prefix: key.prefix,
    });
  });

  it("needs an OTP, and a genuine one", async () => {
    const { owner, key } = await newOwner();
    expect(await signsIn(on(), { password: owner.password })).toBe(false);
    expect(await signsIn(on(), { password: owner.password, otp: wrongOtp(key) })).toBe(false);
    expect(await signsIn(on(), { password: owner.password, otp: key.prefix })).toBe(false);
    expect(await signsIn(on(), { password: owner.password, otp: `${newPrefix()}123456` })).toBe(false);
  });

  it("does not look at the key where a username is given", async () => {
    const { owner, both } = await newOwner();
    expect(await both({ username: user.name, password: owner.password })).toBe(false);
    expect(await both(owner.credentials)).toBe(true);
  });

  it("fails if the key is disabled, shared or unassigned", async () => {
    const [{ owner, key, both }, other] = [await newOwner(), await auth.makeUser()];
    await auth.post(`/core/otpkeys/${key.prefix}/disable`);
    expect(await both({ password: owner.password })).toBe(false);
    await auth.post(`/core/otpkeys/${key.prefix}/enable`);
    await auth.post(`/core/users/${other.id}/otpkeys`, { otpkey: key.prefix });
    expect(await both({ password: owner.password })).toBe(false);
    expect(await both(owner.credentials)).toBe(true);
    await auth.call("DELETE", `/core/users/${owner.id}/otpkeys/${key.prefix}`);
    expect(await both({ password: other.password })).toBe(true);
    await auth.call("DELETE", `/core/users/${other.id}/otpkeys/${key.prefix}`);
    expect(await both({ password: owner.password })).toBe(false);
  });

  it("reads no user of a key that more than eight users may have: it is shared", async () => {
    const [, own] = await auth.makeOwner(hotpKey());
    const others = await Promise.all(Array.from({ length: 8 }, () => auth.makeUser()));
    for (const { id } of others) await auth.post(`/core/users/${id}/otpkeys`, { otpkey: own.prefix });
    const { total, result } = await on().counted(() => on().post("/client/authenticate", { otp: own.otp(0) }));
    expect([result.body, total < 9]).toEqual([false, true]);
  });

  it("identifies the key's current user: a former user does not share the key", async () => {
    const stale = auth.anotherInstance({
      settings: { AUTH_IDENTIFY_BY_OTP: "true" },
      ports: replacing("otpkeys", otpkeys => ({
        findHolders: async prefix => {
          const found = await otpkeys.findHolders(prefix);
          return found && { ...found, userIds: [user.id, ...found.userIds] };
        },
      })),
    });
    const [one, own] = await auth.makeOwner(hotpKey());
    expect(await signsIn(stale, { password: one.password, otp: own.otp(0) }, own.otp(1))).toBe(true);
  });

  it("goes by the key whose codes have the OTP's length, where prefixes overlap", async () => {
    const prefix = newPrefix();
    const [short, long] = [await auth.makeUser(), await auth.makeUser()];
    const eight = await auth.giveKey(short, hotpKey({ prefix, digits: 8 }));
    // The prefix of a key of 8 digits can be, with the code's first two digits, that of another key of 8 digits.
    const decoy = hotpKey({ prefix: eight.otp(0).slice(0, -6), digits: 8 });
    await auth.giveKey(long, decoy);
    const { body } = await on().post("/client/authenticate", { password: short.password, otp: eight.otp(0) });
    expect(body).toBe(true);
  });
});

test("an OTP is read without white space and line ends by each call that takes one, and nothing else is absent", async () => {
  const one = await auth.makeUser();
  const absent = { ...one.credentials, otp: "\r\n" };
  expect((await auth.post("/client/authenticate", absent)).body).toBe(true);
  const key = await auth.giveKey(one, hotpKey());
  let counter = 0;
  const otp = () => ` ${key.otp(counter++)}\r\n`;
  expect((await auth.post("/client/authenticate", absent)).body).toBe(false);
  expect((await auth.post("/client/authenticate", { ...one.credentials, otp: otp() })).body).toBe(true);
  expect(await auth.isValidOtp(one, otp())).toBe(true);
  const headers = withSession(await auth.logIn(one, otp()));
  const change = { oldpass: one.password, newpass: newPassword(), otp: otp() };
  expect((await auth.post("/client/password", change, headers)).status).toBe(200);
});

test("an OTP of a key without a secret is never valid, and counts like any other", async () => {
  const [prefix, one] = [newPrefix(), await auth.makeUser()];
  await auth.post(`/core/users/${one.id}/otpkeys`, { otpkey: prefix });
  expect((await auth.post("/client/authenticate", { ...one.credentials, otp: `${prefix}123456` })).body).toBe(false);
  expect((await auth.context.otpkeys.find(prefix))?.value.failures).toBe(1);
});

describe("a sign-in whose user is deleted meanwhile", async () => {
  const byOtp = auth.anotherInstance({ settings: { AUTH_IDENTIFY_BY_OTP: "true" } });

  test.each([
    ["name", 0, true],
    ["name", 1, true],
    ["OTP", 0, false],
    ["OTP", 1, false],
  ])(
    "and whose name is taken again leaves nothing to the new user: by %s, at write %i of the throttle",
    async (_, write, isNamed) => {
      const [user, key] = await auth.makeOwner(hotpKey());
      let next = { id: 0 };
      let writes = 0;
      const on = byOtp.anotherInstance({
        ports: replacing("throttles", ({ save }) => ({
          save: async (...given) => {
            if (writes++ === write) {
              await auth.post(`/core/users/${user.id}/delete`);
              next = await auth.makeUser({ name: user.name });
            }
            return save(...given);
          },
        })),
      });
      const given = { password: user.password, otp: key.otp(0), ...(isNamed && { username: user.name }) };
      const { body } = await on.post("/client/login", given);
      const { session } = body as { session?: string };
      expect(session !== undefined && (await auth.lives(session))).toBe(false);
      expect((await auth.get(`/core/users/${next.id}`)).body).toEqual({
        id: next.id,
        name: user.name,
        enabled: true,
        attributes: {},
        otpkeys: [],
      });
      expect((await auth.get(`/core/users/${next.id}/lock`)).body).toMatchObject({ failures: 0 });
    },
  );
});

describe("the password's hash", () => {
  it("is replaced at the next good login when it is old, and by no other", async () => {
    const one = await auth.makeUser();
    const pepper = (version: string) => ({ version, key: new Uint8Array(32).fill(Number(version) - 1) });
    const ring = { current: async () => pepper("2"), candidates: async (version: string) => [pepper(version).key] };
    const newer = auth.anotherInstance({
      ports: ({ random, now }) => ({
        hasher: cheapHasher({ random, now }, { pepper: ring, cost: { ...cheapCost, memoryCost: 16 } }),
      }),
    });
    const stored = async () => (await auth.context.users.find({ by: "id", id: one.id }))?.value;
    const before = await stored();
    await newer.post("/client/authenticate", { username: one.name, password: "wrong" });
    expect(await stored()).toEqual(before);
    const session = await newer.logIn(one);
    const after = await stored();
    expect(after?.password).toMatchObject({ pepper: "2", hash: expect.stringContaining("m=16,") });
    expect(after?.epoch).toBe(before?.epoch);
    await newer.logIn(one);
    expect(await stored()).toEqual(after);
    expect((await auth.get("/client/status", {}, withSession(session))).status).toBe(200);
  });

  it("is not put back over a reset that came between the check and the replacing", async () => {
    const one = await auth.makeUser();
    const password = newPassword();
    const racing = auth.anotherInstance({
      ports: replacing("hasher", () => ({
        isOutdated: async () => {
          await auth.post(`/core/users/${one.id}/reset`, { password });
          return true;
        },
      })),
    });
    await racing.logIn(one);
    expect(await signsIn(auth, { username: one.name, password })).toBe(true);
    expect(await signsIn(auth, one.credentials)).toBe(false);
  });

  it("that cannot be replaced fails no login: the next one will do it", async () => {
    const one = await auth.makeUser();
    const failing = auth.anotherInstance({
      ports: replacing("hasher", () => ({
        isOutdated: async () => {
          throw new Error("the vault is away");
        },
      })),
    });
    await failing.logIn(one);
    expect(failing.events("password_not_rehashed")).toHaveLength(1);
    expect(failing.events("authentication")).toHaveLength(1);
  });
});
