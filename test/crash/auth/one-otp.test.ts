import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { yubicoKey } from "../../support/auth/software-key.ts";
import { type SimulatedServer, simulatedServer } from "../../support/auth/validation-server.ts";
import { type Key, type Kind, newKey } from "./key.ts";
import { type AuthHost, type AuthSystem, password, startAuthSystem, statuses } from "./system.ts";

let system: AuthSystem;
let hosts: readonly [AuthHost, AuthHost];
/** Asked about keys of kind `remote`. */
let server: SimulatedServer;

beforeAll(async () => {
  const clientKey = randomBytes(20);
  server = await simulatedServer(clientKey);
  const settings = {
    OTP_VALIDATION_URLS: server.url,
    OTP_VALIDATION_CLIENT_ID: server.clientId,
  };
  const limits = { validationCallMs: 60_000, validationTotalMs: 120_000, keyStopFailures: 30 };
  system = await startAuthSystem(settings, {
    limits,
    secrets: { "otp-validation-key": clientKey.toString("base64") },
  });
  hosts = await Promise.all([system.startHost(), system.startHost()]);
});

afterAll(() => Promise.all([system.close(), server.close()]));

/** Users who all have the key. */
async function holders(key: Pick<Key, "prefix" | "fields">, count: number): Promise<readonly string[]> {
  const [host] = hosts;
  expect((await host.core("POST", "/otpkeys", key.fields)).status).toBe(201);
  const names = Array.from({ length: count }, (_, index) => `${key.prefix}-${index}`);
  for (const username of names) {
    expect((await host.core("POST", "/users", { username, password })).status).toBe(201);
    expect((await host.core("POST", `/users/${username}/otpkeys`, { otpkey: key.prefix })).status).toBe(204);
  }
  return names;
}

/** Logins at once, half at each host, the names by turns. */
const logins = (count: number, names: readonly string[], given: () => { password: string; otp: string }) =>
  Promise.all(
    Array.from({ length: count }, (_, index) => {
      const host = hosts[index < count / 2 ? 0 : 1];
      return host.client("/login", { username: names[index % names.length] ?? "", ...given() });
    }),
  );

const sessionsBy = async ({ prefix }: Pick<Key, "prefix">) =>
  (await system.rows("sessions")).filter(session => session.prefix === prefix).length;

const failuresOf = async (key: Key) =>
  (await system.rows("otpkeys")).find(row => row.partitionKey === key.prefix && row.rowKey === "key")?.failures;

describe("one OTP in many logins at once over two hosts", () => {
  test("begins exactly one session of the user who has the key, in 40 logins", async () => {
    const key = newKey("hotp", "onehotp");
    const names = await holders(key, 1);
    const otp = key.next();
    const answers = await logins(40, names, () => ({ password, otp }));
    const { 200: granted, 401: refused = 0, 429: throttled = 0, ...others } = statuses(answers);
    expect({ granted, others, rest: refused + throttled }).toEqual({ granted: 1, others: {}, rest: 39 });
    expect(await sessionsBy(key)).toBe(1);
  });

  test.each<Kind>(["hotp", "totp", "yubico"])(
    "of kind %s, by users who share the key, so that none is spared the check, begins exactly one session",
    async kind => {
      const key = newKey(kind, `all${kind}`);
      const names = await holders(key, 4);
      const otp = key.next();
      const answers = await logins(8, names, () => ({ password, otp }));
      expect(statuses(answers)).toEqual({ 200: 1, 401: 7 });
      expect(await sessionsBy(key)).toBe(1);
      expect(await failuresOf(key)).toBe(7);
    },
  );

  test("of kind remote, by users who share the key, begins exactly one session; the server is asked once", async () => {
    const key = yubicoKey();
    server.add(key);
    const names = await holders({ prefix: key.prefix, fields: { prefix: key.prefix, kind: "remote" } }, 4);
    const otp = key.otp(1);
    const answers = await logins(8, names, () => ({ password, otp }));
    expect(statuses(answers)).toEqual({ 200: 1, 401: 7 });
    expect(await sessionsBy(key)).toBe(1);
    expect(server.requests()).toHaveLength(1);
  });
});

describe("a key against which wrong OTPs are fired at two hosts at once", () => {
  test("is stopped by the thirtieth beside right passwords, and then opens no account to the password alone", async () => {
    const key = newKey("hotp", "guessed");
    const names = await holders(key, 11);
    const otp = key.next();
    for (const _ of Array(3)) {
      const answers = await logins(10, names, () => ({ password, otp: key.wrong() }));
      expect(statuses(answers)).toEqual({ 401: 10 });
    }
    expect(await failuresOf(key)).toBe(30);

    const [host, other] = hosts;
    // The eleventh has not guessed, so nothing but the key is in the way.
    const username = names.at(-1) ?? "";
    expect((await other.core("GET", `/otpkeys/${key.prefix}`)).body).toMatchObject({ enabled: true, stopped: true });
    const login = async (given: { otp?: string }) =>
      (await other.client("/login", { username, password, ...given })).status;
    expect([await login({}), await login({ otp })]).toEqual([401, 401]);
    await host.core("POST", `/otpkeys/${key.prefix}/enable`);
    expect([await login({}), await login({ otp: key.next() })]).toEqual([401, 200]);
    expect(await failuresOf(key)).toBe(0);
  });

  test("is not touched by those who do not know the password", async () => {
    const key = newKey("yubico", "guarded");
    const answers = await logins(10, await holders(key, 1), () => ({ password: "a wrong one", otp: key.wrong() }));
    expect(statuses(answers)).toEqual({ 401: 10 });
    expect(await failuresOf(key)).toBe(0);
  });

  test("is not touched by those who know a password, but of a user who does not have it", async () => {
    const key = newKey("totp", "foreign");
    await holders(key, 1);
    const attacker = await holders(newKey("totp", "attack"), 1);
    const answers = await logins(10, attacker, () => ({ password, otp: key.wrong() }));
    expect(statuses(answers)).toEqual({ 401: 10 });
    expect(await failuresOf(key)).toBe(0);
  });
});
