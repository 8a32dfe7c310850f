import { describe, expect, it, test } from "vitest";
import { seconds } from "../../../../lib/platform/time.ts";
import { hotpKey, newPrefix, stepAt, totpKey } from "../../../support/auth/software-key.ts";
import { newPassword, testAuth, withSession } from "../../../support/auth/test-auth.ts";

const auth = await testAuth({ settings: { AUTH_THROTTLE_FAILURES: "100" } });
const other = auth.anotherInstance();
const user = await auth.makeUser();

const validOtp = (otp: string, on = auth) => on.isValidOtp(user, otp);
const login = (otp: string, on = auth) => on.post("/client/login", { ...user.credentials, otp });

describe("kind `hotp` (RFC 4226)", () => {
  it("is cut by the known kind of the user's key, where 20 characters could be 14 and 6, or 12 and 8", async () => {
    const eight = hotpKey({ digits: 8 });
    await auth.giveKey(user, eight);
    const other = await auth.makeUser();
    await auth.giveKey(other, hotpKey({ prefix: eight.otp(0).slice(0, -6) }));
    expect(await validOtp(eight.otp(0))).toBe(true);
  });
});

describe("kind `totp` (RFC 6238)", () => {
  it("resynchronises: a code up to 10 steps off fails and counts alone, the very next one passes, and the drift stays", async () => {
    const key = await auth.giveKey(user, totpKey());
    const stored = async () => (await auth.context.otpkeys.find(key.prefix))?.value;
    const step = () => stepAt(auth.now());
    auth.advance(seconds(30) - (Date.parse(auth.now()) % seconds(30)));
    expect((await login(key.otp(step() + 11 + 3))).status).toBe(401);
    const first = step() + 7;
    expect((await login(key.otp(first))).status).toBe(401);
    expect(await stored()).toMatchObject({ failures: 2, parameters: { state: { resync: first + 1 } } });
    auth.advance(seconds(30));
    expect((await login(key.otp(first), other)).status).toBe(401);
    expect((await login(key.otp(first + 1), other)).status).toBe(200);
    const { failures, parameters } = (await stored()) ?? {};
    expect([failures, parameters?.state]).toEqual([0, { counter: first + 2, drift: 7 }]);
    for (const used of [first, first + 1]) expect((await login(key.otp(used))).status).toBe(401);
    auth.advance(seconds(60));
    expect((await login(key.otp(first + 3))).status).toBe(200);
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

describe("an OTP that is none", () => {
  it("of a key without a secret is never valid, and counts like any other", async () => {
    const prefix = newPrefix();
    const one = await auth.makeUser();
    await auth.post(`/core/users/${one.id}/otpkeys`, { otpkey: prefix });
    const fields = { ...one.credentials, otp: `${prefix}123456` };
    expect((await auth.post("/client/authenticate", fields)).body).toBe(false);
    expect((await auth.context.otpkeys.find(prefix))?.value.failures).toBe(1);
  });
});
