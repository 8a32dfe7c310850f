import { describe, expect, it, test } from "vitest";
import { possiblePrefixes } from "../../../../lib/auth/otpkeys/kinds/split-otp.ts";
import { seconds } from "../../../../lib/platform/time.ts";
import {
  hotpKey,
  newPrefix,
  type SoftwareKey,
  stepAt,
  totpKey,
  yubicoKey,
} from "../../../support/auth/software-key.ts";
import { newPassword, testAuth, withSession } from "../../../support/auth/test-auth.ts";

const auth = await testAuth({ settings: { AUTH_THROTTLE_FAILURES: "100" } });
const other = auth.anotherInstance();
const user = await auth.makeUser();

const validOtp = (otp: string, on = auth) => on.isValidOtp(user, otp);
const login = (otp: string, on = auth) => on.post("/client/login", { ...user.credentials, otp });

describe("kind `hotp` (RFC 4226)", () => {
  it("resynchronises: a code 16 to 100 ahead fails but is remembered, and the very next one passes and uses up both", async () => {
    const key = await auth.giveKey(user, hotpKey({ digits: 8 }));
    expect(await validOtp(key.otp(101))).toBe(false);
    expect(await validOtp(key.otp(102))).toBe(false);
    expect(await validOtp(key.otp(100))).toBe(false);
    expect(await validOtp(key.otp(101))).toBe(true);
    expect(await validOtp(key.otp(100))).toBe(false);
    expect(await validOtp(key.otp(16 + 102))).toBe(false);
    expect(await validOtp(key.otp(20 + 102))).toBe(false);
    expect(await validOtp(key.otp(22 + 102))).toBe(false);
    expect(await validOtp(key.otp(23 + 102))).toBe(true);
  });

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

describe("an OTP as people and devices send it", () => {
  const typed = (otp: string) => [`${otp}\r\n`, ` ${otp.slice(0, -3)} ${otp.slice(-3)} `, `\t${otp}\u00a0`];

  it.each([
    ["hotp", hotpKey],
    ["yubico", yubicoKey],
  ])("of kind %s is read without white space and line ends, by login, authenticate and validate", async (_, make) => {
    const one = await auth.makeUser();
    const key = await auth.giveKey(one, make());
    let factor = 1;
    const [otp = ""] = typed(key.otp(factor++));
    expect((await auth.post("/client/login", { ...one.credentials, otp })).status).toBe(200);
    for (let form = 0; form < 3; form++) {
      const fields = { ...one.credentials, otp: typed(key.otp(factor++))[form] ?? "" };
      expect((await auth.post("/client/authenticate", fields)).body).toBe(true);
      expect((await auth.post("/client/authenticate", { ...fields, otp: fields.otp.trim() })).body).toBe(false);
      expect(await auth.isValidOtp(one, typed(key.otp(factor++))[form] ?? "")).toBe(true);
    }
  });

  it("changes a password, whose own white space is kept", async () => {
    const one = await auth.makeUser({ password: ` ${newPassword()} ` });
    const key = await auth.giveKey(one, hotpKey());
    const headers = withSession(await auth.logIn(one, key.otp(0)));
    const change = (oldpass: string, otp: string) =>
      auth.post("/client/password", { oldpass, newpass: newPassword(), otp }, headers);
    expect((await change(one.password.trim(), key.otp(1))).status).toBe(401);
    expect((await change(one.password, `${key.otp(2)}\r\n`)).status).toBe(200);
  });

  it("counts as absent if it has nothing else", async () => {
    const one = await auth.makeUser();
    expect((await auth.post("/client/authenticate", { ...one.credentials, otp: "\r\n" })).body).toBe(true);
    await auth.giveKey(one, hotpKey());
    expect((await auth.post("/client/authenticate", { ...one.credentials, otp: "\r\n" })).body).toBe(false);
  });
});

describe("kind `yubico`", () => {
  it.each([
    ["Dvorak", "jxe.uidchtnbpygk"],
    ["Colemak", "cbsftdhuneikpglv"],
  ])("accepts an OTP that is typed under %s once under any layout, with one read of its key", async (_, layout) => {
    const key = await auth.giveKey(user, yubicoKey());
    const typed = (otp: string) => otp.replace(/./g, letter => layout.charAt("cbdefghijklnrtuv".indexOf(letter)));
    const reads = async (otp: string) => {
      const { calls, result } = await auth.counted(() => login(otp));
      expect(result.status).toBe(200);
      return calls.filter(call => call.startsWith("GET") && call.includes("/otpkeys")).length;
    };
    // By chance an OTP can be one under another layout too, and then that reading is looked up as well.
    const otps = Array.from({ length: 40 }, (_, use) => key.otp(use + 1))
      .filter(otp => possiblePrefixes(typed(otp)).length === 1)
      .slice(0, 2);
    expect(otps).toHaveLength(2);
    for (const otp of otps) expect(await reads(typed(otp))).toBe(1);
    expect(await validOtp(otps.at(-1) ?? "")).toBe(false);
    expect(await validOtp(typed(otps.at(-1) ?? ""))).toBe(false);
  });
});

describe("one OTP, one success", () => {
  const keys: readonly (readonly [string, () => SoftwareKey, () => number])[] = [
    ["hotp", hotpKey, () => 3],
    ["totp", totpKey, () => stepAt(auth.now())],
    ["yubico", yubicoKey, () => 1],
  ];

  test.each(keys)(
    "of 12 simultaneous logins with one OTP of kind %s over two hosts one gets a session",
    async (_, make, factor) => {
      const key = await auth.giveKey(user, make());
      const otp = key.otp(factor());
      const answers = await Promise.all(Array.from({ length: 12 }, (_each, n) => login(otp, n % 2 ? auth : other)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      for (const { status } of answers) expect([200, 401, 429]).toContain(status);
      await auth.post(`/core/users/${user.id}/unlock`);
    },
  );
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
