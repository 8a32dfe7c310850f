import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { instant } from "../../../lib/platform/time.ts";
import { hotpKey, type SoftwareKey, stepAt, totpKey, wrongOtp, yubicoKey } from "../../support/auth/software-key.ts";
import { type SimulatedServer, simulatedServer } from "../../support/auth/validation-server.ts";
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
async function holders(key: Pick<SoftwareKey, "prefix" | "fields">, count: number): Promise<readonly string[]> {
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

const sessionsBy = async ({ prefix }: Pick<SoftwareKey, "prefix">) =>
  (await system.rows("sessions")).filter(session => session.prefix === prefix).length;

const failuresOf = async (key: SoftwareKey) =>
  (await system.rows("otpkeys")).find(row => row.partitionKey === key.prefix && row.rowKey === "key")?.failures;

describe("one OTP in many logins at once over two hosts", () => {
  test.each<[string, () => SoftwareKey, () => number]>([
    ["hotp", hotpKey, () => 0],
    ["totp", totpKey, () => stepAt(instant(Date.now()))],
    ["yubico", yubicoKey, () => 1],
  ])(
    "of kind %s, by users who share the key, so that none is spared the check, begins exactly one session",
    async (_, make, factor) => {
      const key = make();
      const names = await holders(key, 4);
      const otp = key.otp(factor());
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
    const key = hotpKey();
    const names = await holders(key, 11);
    const otp = key.otp(0);
    for (const _ of Array(3)) {
      const answers = await logins(10, names, () => ({ password, otp: wrongOtp(key) }));
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
    expect([await login({}), await login({ otp: key.otp(1) })]).toEqual([401, 200]);
    expect(await failuresOf(key)).toBe(0);
  });
});
