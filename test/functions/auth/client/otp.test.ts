import { randomBytes } from "node:crypto";
import { describe, expect, it, test } from "vitest";
import { possiblePrefixes } from "../../../../lib/auth/otpkeys/kinds/split-otp.ts";
import { seconds } from "../../../../lib/platform/time.ts";
import { yubicoCode } from "../../../lib/auth/otpkeys/kinds/codes.ts";
import {
  hotpKey,
  newPrefix,
  type SoftwareKey,
  stepAt,
  totpKey,
  yubicoKey,
} from "../../../support/auth/software-key.ts";
import { newPassword, replacing, testAuth, withSession } from "../../../support/auth/test-auth.ts";

const auth = await testAuth({ settings: { AUTH_THROTTLE_FAILURES: "100" } });
const other = auth.anotherInstance();
const user = await auth.makeUser();

const validOtp = (otp: string, on = auth) => on.isValidOtp(user, otp);
const login = (otp: string, on = auth) => on.post("/client/login", { ...user.credentials, otp });

describe("kind `hotp` (RFC 4226)", () => {
  it("takes a code up to 15 ahead of the next expected one, and none behind", async () => {
    const key = await auth.giveKey(user, hotpKey({ digits: 8 }));
    expect(await validOtp(key.otp(15))).toBe(true);
    for (const behind of [0, 14, 15]) expect(await validOtp(key.otp(behind))).toBe(false);
    expect(await validOtp(key.otp(32))).toBe(false);
    expect(await validOtp(key.otp(31))).toBe(true);
  });

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

  it("has 6 or 8 digits after the prefix; the prefix in any case", async () => {
    const key = await auth.giveKey(user, hotpKey({ digits: 8 }));
    expect(await validOtp(key.otp(0).slice(0, -2))).toBe(false);
    expect(await validOtp(key.otp(0).toUpperCase())).toBe(true);
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
  it("takes one step each side, and steps used only grow", async () => {
    const key = await auth.giveKey(user, totpKey());
    // The clock of the test goes on: the step must not end before the checks.
    auth.advance(seconds(30) - (Date.parse(auth.now()) % seconds(30)));
    const now = stepAt(auth.now());
    expect(await validOtp(key.otp(now - 3))).toBe(false);
    expect(await validOtp(key.otp(now + 3))).toBe(false);
    expect(await validOtp(key.otp(now - 1))).toBe(true);
    expect(await validOtp(key.otp(now + 1))).toBe(true);
    expect(await validOtp(key.otp(now))).toBe(false);
    auth.advance(seconds(90));
    expect(await validOtp(key.otp(stepAt(auth.now())))).toBe(true);
  });

  it("resynchronises: a code up to 10 steps off fails and counts alone, the very next one passes, and the drift stays", async () => {
    const key = await auth.giveKey(user, totpKey());
    const stored = async () => (await auth.context.otpkeys.find(key.prefix))?.value;
    const step = () => stepAt(auth.now());
    auth.advance(seconds(30) - (Date.parse(auth.now()) % seconds(30)));
    expect((await login(key.otp(step() + 11 + 3))).status).toBe(401);
    const first = step() + 7;
    expect((await login(key.otp(first))).status).toBe(401);
    expect(await stored()).toMatchObject({ failures: 2, form: { state: { resync: first + 1 } } });
    auth.advance(seconds(30));
    expect((await login(key.otp(first), other)).status).toBe(401);
    expect((await login(key.otp(first + 1), other)).status).toBe(200);
    const { failures, form } = (await stored()) ?? {};
    expect([failures, form?.state]).toEqual([0, { counter: first + 2, drift: 7 }]);
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

  it("can be a temporary code", async () => {
    const one = await auth.makeUser();
    const key = await auth.giveKey(one, hotpKey());
    const validUntil = new Date(Date.parse(auth.now()) + seconds(3600)).toISOString();
    const { body } = await auth.post(`/core/otpkeys/${key.prefix}/temporary-code`, { valid_until: validUntil });
    const otp = ` ${(body as { code: string }).code}\r\n`;
    expect((await auth.post("/client/login", { ...one.credentials, otp })).status).toBe(200);
  });

  it("counts as absent if it has nothing else", async () => {
    const one = await auth.makeUser();
    expect((await auth.post("/client/authenticate", { ...one.credentials, otp: "\r\n" })).body).toBe(true);
    await auth.giveKey(one, hotpKey());
    expect((await auth.post("/client/authenticate", { ...one.credentials, otp: "\r\n" })).body).toBe(false);
  });
});

describe("kind `yubico`", () => {
  it("takes 32 modhex characters in any case, and counters that grow", async () => {
    const key = await auth.giveKey(user, yubicoKey());
    expect(await validOtp(key.otp(5).toUpperCase())).toBe(true);
    expect([await validOtp(key.otp(5)), await validOtp(key.otp(4)), await validOtp(key.otp(6))]).toEqual([
      false,
      false,
      true,
    ]);
  });

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

  it("takes no block of another private id, another secret, or with a broken checksum", async () => {
    const key = await auth.giveKey(user, yubicoKey());
    const foreignId = yubicoCode(key.secret, { privateId: randomBytes(6), useCounter: 9, sessionCounter: 0 });
    expect(await validOtp(key.prefix + foreignId)).toBe(false);
    expect(await validOtp(yubicoKey({ prefix: key.prefix }).otp(9))).toBe(false);
    expect(await validOtp(key.otp(9).replace(/.$/, last => (last === "c" ? "b" : "c")))).toBe(false);
    expect(await validOtp(key.otp(9))).toBe(true);
  });

  it("has a session counter that grows within one use", async () => {
    const prefix = newPrefix();
    const [secret, privateId] = [randomBytes(16), randomBytes(6)];
    const fields = { prefix, kind: "yubico", secret: secret.toString("hex"), private_id: privateId.toString("hex") };
    const otp = (sessionCounter: number) => prefix + yubicoCode(secret, { privateId, useCounter: 3, sessionCounter });
    await auth.giveKey(user, { prefix, secret, fields, otp });
    expect([await validOtp(otp(7)), await validOtp(otp(7)), await validOtp(otp(6)), await validOtp(otp(8))]).toEqual([
      true,
      false,
      false,
      true,
    ]);
  });
});

describe("one OTP, one success", () => {
  const keys: readonly (readonly [string, () => SoftwareKey, () => number])[] = [
    ["hotp", hotpKey, () => 3],
    ["totp", totpKey, () => stepAt(auth.now())],
    ["yubico", yubicoKey, () => 1],
  ];

  test.each(keys)(
    "of 20 simultaneous checks of one OTP of kind %s over two hosts one is valid",
    async (_, make, factor) => {
      const key = await auth.giveKey(user, make());
      const otp = key.otp(factor());
      const answers = await Promise.all(Array.from({ length: 20 }, (_each, n) => validOtp(otp, n % 2 ? auth : other)));
      expect(answers.filter(valid => valid)).toHaveLength(1);
    },
  );

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

  it("needs the compare-and-swap: without it one OTP passes more than once", async () => {
    const key = await auth.giveKey(user, hotpKey());
    const careless = auth.anotherInstance({
      ports: replacing("otpkeys", otpkeys => ({
        save: async (read, next) => {
          for (;;) {
            const there = await otpkeys.find(read.value.prefix);
            const saved = there && (await otpkeys.save({ ...read, version: there.version }, next));
            if (saved !== undefined) return saved;
          }
        },
      })),
    });
    const answers = await Promise.all(Array.from({ length: 6 }, () => validOtp(key.otp(0), careless)));
    expect(answers.filter(valid => valid).length).toBeGreaterThan(1);
  });

  it("is not passed on: an OTP that was valid for authenticate is none for login", async () => {
    const key = await auth.giveKey(user, hotpKey());
    const fields = { ...user.credentials, otp: key.otp(0) };
    expect((await auth.post("/client/authenticate", fields)).body).toBe(true);
    expect((await login(key.otp(0))).status).toBe(401);
    expect((await login(key.otp(1))).status).toBe(200);
  });
});

describe("an OTP that is none", () => {
  test.each([
    "",
    "c",
    "123456",
    "12345678",
    "c".repeat(32),
    "c".repeat(33),
    "c".repeat(64),
    "c".repeat(65),
    "c".repeat(1024),
    "cccccccccccc\u0661\u0662\u0663\u0664\u0665\u0666",
    "'; drop table",
    "\u{1f511}".repeat(44),
    "__proto__123456",
    "ccccccccccccl23456",
    "cccccccccccc123456 ",
  ])("%j is never valid", async otp => {
    expect(await validOtp(otp)).toBe(false);
  });

  it("of a key without a secret is never valid, and counts like any other", async () => {
    const prefix = newPrefix();
    const one = await auth.makeUser();
    await auth.post(`/core/users/${one.id}/otpkeys`, { otpkey: prefix });
    const fields = { ...one.credentials, otp: `${prefix}123456` };
    expect((await auth.post("/client/authenticate", fields)).body).toBe(false);
    expect((await auth.context.otpkeys.find(prefix))?.value.failures).toBe(1);
  });
});
