import { describe, expect, it } from "vitest";
import { hotpKey, newPrefix, stepAt, totpKey, yubicoKey } from "../../support/auth/software-key.ts";
import {
  newPassword,
  replacing,
  type TestAuth,
  testAuth,
  validationKey,
  withSession,
} from "../../support/auth/test-auth.ts";
import { simulatedServer } from "../../support/auth/validation-server.ts";
import { storedText } from "../../support/storage/stored-text.ts";

const auth = await testAuth();
/** Id of the static API token with which Core is called. */
const tokenId = auth.token.split("_")[1] ?? "";

/** A host that cannot read a name. */
const brokenOn = (on: TestAuth) =>
  on.anotherInstance({
    ports: replacing("users", () => ({ idOf: () => Promise.reject(new Error("storage is away")) })),
  });

const headers = { "x-request-id": "the.request", "x-forwarded-for": "203.0.113.5, 192.0.2.1" };

/** The one event of an attempt, sent from 192.0.2.1 as request `the.request`. */
async function audited(fields: Record<string, string>, path = "/client/authenticate", more = {}, on = auth) {
  const before = on.events("authentication").length;
  await on.post(path, fields, { ...headers, ...more });
  const events = on.events("authentication").slice(before);
  expect(events).toHaveLength(1);
  const [{ event: _, invocationId: __, ...event } = {}] = events;
  expect(event).toMatchObject({ requestId: "the.request", address: "192.0.2.1" });
  const { requestId: ___, address: ____, ...recorded } = event;
  return recorded;
}

describe("every authentication is one audit event at information level", () => {
  it("with who, which factors, the outcome's reason, the caller's address and the request id", async () => {
    const [user, key] = await auth.makeOwner(hotpKey());
    const plain = await auth.makeUser();
    const who = { username: user.name, userId: user.id };
    const both = { username: user.name.toUpperCase(), password: user.password };
    const { prefix } = key;
    const [password, otp] = [["password"], ["password", "otp"]];
    const refused = (reason: string, factors = password) => ({ outcome: "refused", reason, factors });
    const usernameHash = expect.stringMatching(/^[\w-]{22}$/);
    for (const [fields, event] of [
      [
        { ...both, otp: key.otp(0) },
        { ...who, outcome: "granted", factors: otp, otpOutcome: "valid", prefix },
      ],
      [
        { ...both, otp: key.otp(0) },
        { ...who, ...refused("wrong_otp", otp), otpOutcome: "replayed", prefix },
      ],
      [
        { ...both, otp: key.otp(50) },
        { ...who, ...refused("wrong_otp", otp), otpOutcome: "out_of_step", prefix },
      ],
      [
        { ...both, otp: `${newPrefix()}123456` },
        { ...who, ...refused("wrong_otp", otp), otpOutcome: "unknown_key" },
      ],
      [
        { ...both, password: "wrong", otp: key.otp(1) },
        { ...who, ...refused("wrong_password", otp), otpOutcome: "valid", prefix },
      ],
      [both, { ...who, ...refused("no_otp") }],
      [{ username: user.name }, { ...who, ...refused("no_password", []) }],
      [
        { username: "nobody", password: "x" },
        { usernameHash, ...refused("unknown_user") },
      ],
      [
        { password: "x", otp: key.otp(3) },
        { ...refused("unknown_user", otp), otpOutcome: "not_assigned", prefix },
      ],
    ] as const)
      expect(await audited(fields)).toEqual(event);
    await auth.post(`/core/otpkeys/${prefix}/disable`);
    const event = { ...who, ...refused("wrong_otp", otp), otpOutcome: "disabled", prefix };
    expect(await audited({ ...both, otp: key.otp(2) }, "/client/login")).toEqual(event);
    const session = await auth.logIn(plain);
    const change = { newpass: newPassword(), oldpass: plain.password };
    expect(await audited(change, "/client/password", withSession(session))).toMatchObject({
      userId: plain.id,
      outcome: "granted",
    });
    expect(auth.events("password_changed").at(-1)).toMatchObject({ userId: plain.id, requestId: "the.request" });
  });

  it("also where it was throttled, by name or by address, or could not be decided", async () => {
    const user = await auth.makeUser();
    const strict = auth.anotherInstance({ settings: { AUTH_THROTTLE_FAILURES: "1" } });
    const fields = user.credentials;
    await strict.post("/client/authenticate", { ...fields, password: "wrong" });
    const throttled = { outcome: "refused", reason: "throttled", factors: ["password"] };
    const who = { username: user.name, userId: user.id };
    expect(await audited(fields, "/client/login", {}, strict)).toEqual({ ...throttled, ...who });
    const limited = auth.anotherInstance({ settings: { AUTH_ADDRESS_LIMIT: "1" } });
    await limited.post("/client/authenticate", { username: "nobody", password: "x" }, headers);
    // Nothing is read for an address that is over its limit, so it is not known whether a user has the name.
    const usernameHash = expect.any(String);
    expect(await audited(fields, "/client/login", {}, limited)).toEqual({ ...throttled, usernameHash });
    const broken = brokenOn(auth);
    expect(await audited(fields, "/client/login", {}, broken)).toEqual({
      usernameHash,
      outcome: "undecided",
      reason: "internal",
      factors: ["password"],
    });
    expect(broken.events("failed")).toHaveLength(1);
  });

  it("and so is a validation by the Core API, with the caller who asked for it", async () => {
    const user = await auth.makeUser();
    await auth.post(`/core/users/${user.id}/validate`, { password: user.password, otp: "cccccccccccc123456" }, headers);
    expect(auth.events("validation").at(-1)).toMatchObject({
      userId: user.id,
      validPassword: true,
      validOtp: false,
      otpOutcome: "unknown_key",
      callerKind: "api_token",
      application: tokenId,
      requestId: "the.request",
    });
  });
});

describe("a username that no user has", () => {
  const hashOf = async (username: string, on = auth) =>
    (await audited({ username, password: "x" }, "/client/authenticate", {}, on)).usernameHash;

  it("has one hash on every host and in every spelling, so that an operator can follow it; another name has another", async () => {
    const hash = await hashOf("No Such User");
    expect(hash).toMatch(/^[\w-]{22}$/);
    expect(await hashOf(" no such USER ", auth.anotherInstance())).toBe(hash);
    expect(await hashOf("no such user 2")).not.toBe(hash);
    for (const username of ["no/name", "4711", "x".repeat(10_000), "\u0000"]) {
      expect(await hashOf(username)).toMatch(/^[\w-]{22}$/);
    }
    await auth.post("/core/users/No%20Such%20User/unlock");
    expect(auth.events("user_unlocked").at(-1)).toMatchObject({ usernameHash: hash });
    expect(auth.events("user_unlocked").at(-1)).not.toHaveProperty("user");
  });

  it("is left out where the key cannot be read, and the event is written all the same", async () => {
    const away = auth.anotherInstance({
      ports: () => ({
        keyedHash: async () => {
          throw new Error("the vault is away");
        },
      }),
    });
    expect(await audited({ username: "nobody", password: "x" }, "/client/login", {}, away)).toEqual({
      outcome: "refused",
      reason: "unknown_user",
      factors: ["password"],
    });
  });

  it("costs no call to the vault for each sign-in", async () => {
    const own = await testAuth();
    await own.post("/client/authenticate", { username: "nobody" });
    const before = own.vault.requests().length;
    for (let n = 0; n < 5; n++) await own.post("/client/authenticate", { username: `nobody ${n}` });
    expect(own.vault.requests().length).toBe(before);
  });
});

describe("secrets", () => {
  it("typed into the username field reach no log line and no row", async () => {
    const own = await testAuth({ settings: { AUTH_THROTTLE_FAILURES: "2", AUTH_IDENTIFY_BY_OTP: "true" } });
    const user = await own.makeUser();
    const [hotp, yubico] = [await own.giveKey(user, hotpKey()), await own.giveKey(user, yubicoKey())];
    const typed = [
      newPassword(),
      user.password,
      hotp.otp(0),
      yubico.otp(1),
      `${user.password},${hotp.otp(1)}`,
      `${user.password}/${yubico.otp(2)}`,
      "a password?",
      `${"long ".repeat(100)}secret`,
    ];
    const broken = brokenOn(own);
    const limited = own.anotherInstance({ settings: { AUTH_ADDRESS_LIMIT: "1" } });
    for (const username of typed) {
      for (const fields of [{ username }, { username, password: "x" }, { username, otp: hotp.otp(5) }]) {
        for (const method of ["GET", "POST"]) {
          for (const path of ["login", "authenticate"]) await own.call(method, `/client/${path}`, { fields });
        }
      }
      for (const on of [broken, limited]) await on.post("/client/login", { username }, headers);
      const segment = encodeURIComponent(username);
      await own.get(`/core/users/${segment}`);
      await own.post(`/core/users/${segment}/validate`, { password: "x" });
      await own.post(`/core/users/${segment}/reset`, { password: newPassword() });
      await own.post(`/core/users/${segment}/unlock`);
      await own.post(`/core/users/${segment}/sessions/delete`);
      await own.post(`/core/users/${segment}/otpkeys`, { otpkey: hotp.prefix });
      await own.call("DELETE", `/core/users/${segment}/otpkeys/${hotp.prefix}`);
      await own.post(`/core/users/${segment}/attributes`, { key: "a", value: "b" });
      await own.call("DELETE", `/core/users/${segment}`);
    }
    const lines = [...own.lines, ...broken.lines, ...limited.lines, ...(await storedText(own.storage))];
    expect(lines.length).toBeGreaterThan(100);
    for (const secret of typed) {
      for (const text of [secret, secret.toLowerCase(), encodeURIComponent(secret), secret.slice(0, 128)]) {
        expect(lines.filter(line => line.includes(text))).toEqual([]);
      }
    }
  });

  it("passwords, OTPs, key secrets, sessions and tokens are in no log line, no row but what is meant to be, and no refusal", async () => {
    const server = await simulatedServer(validationKey);
    const own = await testAuth({
      settings: { OTP_VALIDATION_URLS: server.url, OTP_VALIDATION_CLIENT_ID: "42", AUTH_THROTTLE_FAILURES: "4" },
    });
    const user = await own.makeUser();
    const [reset, changed, wrong] = [newPassword(), newPassword(), newPassword()];
    const remote = yubicoKey();
    server.add(remote);
    const keys = [hotpKey(), totpKey(), yubicoKey()];
    for (const key of keys) await own.giveKey(user, key);
    await own.post(`/core/users/${user.id}/otpkeys`, { otpkey: remote.prefix });
    const [hotp, totp, yubico] = keys;
    const otps = [hotp?.otp(0), totp?.otp(stepAt(own.now())), yubico?.otp(1), remote.otp(1)].map(String);
    const logged: unknown[] = [];
    const sessions: string[] = [];
    const call = async (method: string, path: string, fields: Record<string, string>, more = {}) => {
      const { status, body } = await own.call(method, path, { fields, headers: more });
      if (status >= 400) logged.push(body);
      return body;
    };
    for (const otp of otps) {
      const login = { ...user.credentials, otp };
      const body = (await call("POST", "/client/login", login)) as { session: string };
      sessions.push(body.session);
      await call("GET", "/client/login", login);
      await call("GET", `/core/users/${user.id}/validate`, { password: wrong, otp });
    }
    server.fail({ kind: "drop" });
    otps.push(remote.otp(7));
    await call("POST", "/client/login", { ...user.credentials, otp: otps.at(-1) ?? "" });
    await own.post(`/core/users/${user.id}/unlock`);
    const session = sessions[0] ?? "";
    await call("GET", "/client/password", { newpass: "7 chars", oldpass: user.password }, withSession(session));
    otps.push(String(hotp?.otp(1)));
    const change = { newpass: changed, oldpass: user.password, otp: otps.at(-1) ?? "" };
    await call("POST", "/client/password", change, withSession(session));
    for (let n = 0; n < 6; n++) await call("POST", "/client/login", { username: user.name, password: wrong });
    await call("POST", `/core/users/${user.id}/reset`, { password: reset });
    await call("POST", "/core/users", { username: "a/b", password: wrong });
    await call("POST", `/core/users`, { username: user.name, password: wrong });
    const broken = brokenOn(own);
    await broken.post("/client/login", { ...user.credentials, otp: otps[0] ?? "" });
    await server.close();

    expect(sessions.filter(Boolean)).toHaveLength(4);
    expect(logged.length).toBeGreaterThan(8);
    const secrets = [
      ...[user.password, reset, changed, wrong, "7 chars"],
      ...otps,
      ...otps.slice(2).map(otp => otp.slice(-32)),
      ...sessions.flatMap(value => [value, value.slice(-43)]),
      ...[...keys, remote].flatMap(({ secret, fields }) => [
        fields.secret ?? "",
        fields.private_id ?? "",
        Buffer.from(secret).toString("base64"),
      ]),
      own.token,
      own.token.slice(-43),
      validationKey.toString("base64"),
      validationKey.toString(),
    ].filter(Boolean);
    const everything = [
      ...own.lines,
      ...broken.lines,
      ...logged.map(body => JSON.stringify(body)),
      ...(await storedText(own.storage)),
    ];
    expect(everything.length).toBeGreaterThan(100);
    for (const secret of secrets) {
      const encoded = encodeURIComponent(secret);
      expect(everything.filter(text => text.includes(secret) || text.includes(encoded))).toEqual([]);
    }
  });
});
