import { describe, expect, it } from "vitest";
import { days, hours, plus } from "../../../../lib/platform/time.ts";
import { hotpKey, type SoftwareKey, yubicoKey } from "../../../support/auth/software-key.ts";
import { testAuth } from "../../../support/auth/test-auth.ts";
import { storedText } from "../../../support/storage/stored-text.ts";

const auth = await testAuth({ settings: { AUTH_THROTTLE_FAILURES: "100" }, limits: { slotWaitMs: 60_000 } });

/** A user whose only key is lost, and the code in its place. */
async function lostKey(uses = 1, lifetimeMs = hours(1), make: () => SoftwareKey = hotpKey) {
  const [user, key] = await auth.makeOwner(make());
  const path = `/core/otpkeys/${key.prefix}`;
  const issue = async () => {
    const valid_until = plus(auth.now(), lifetimeMs);
    const { status, body } = await auth.post(`${path}/temporary-code`, { uses: String(uses), valid_until });
    const prefixed = new RegExp(`^${key.prefix}(-[0-9A-HJKMNP-TV-Z]{4}){4}$`);
    expect({ status, body }).toEqual({
      status: 201,
      body: { code: expect.stringMatching(prefixed), uses, valid_until },
    });
    return (body as { code: string }).code;
  };
  const signIn = async (fields: Readonly<Record<string, string>>, on = auth) =>
    (await on.post("/client/login", { ...user.credentials, ...fields })).status;
  const view = async () => (await auth.get(path)).body as Record<string, unknown>;
  const lastEvent = () => auth.events("authentication").at(-1);
  return { user, key, path, code: await issue(), issue, signIn, view, lastEvent };
}

describe("POST /core/otpkeys/<prefix>/temporary-code", () => {
  it("disables the key, and accepts the code for its uses and its time; then an OTP is still required", async () => {
    const { key, code, signIn, view, lastEvent } = await lostKey(2);
    expect(await view()).toMatchObject({ enabled: false, temporary_code: { uses_left: 2 } });
    expect(await signIn({ otp: key.otp(0) })).toBe(401);
    expect(await signIn({})).toBe(401);
    expect(lastEvent()).toMatchObject({ reason: "no_otp" });
    expect(await signIn({ otp: code })).toBe(200);
    expect(lastEvent()).toMatchObject({
      outcome: "granted",
      otpOutcome: "valid",
      temporaryCode: true,
      prefix: key.prefix,
    });
    expect(await signIn({ otp: code.toLowerCase().replaceAll("0", "o").replaceAll("1", "l") })).toBe(200);
    expect(await signIn({ otp: code })).toBe(401);
    expect(lastEvent()).toMatchObject({ otpOutcome: "code_used_up" });
    expect(await signIn({})).toBe(401);
    expect(auth.events("otpkey_temporary_code_issued").at(-1)).toMatchObject({
      prefix: key.prefix,
      callerKind: "api_token",
    });
  });

  it("accepts no code after it has expired, and still requires an OTP", async () => {
    const { code, signIn, view, lastEvent } = await lostKey(5);
    auth.advance(hours(2));
    expect(await signIn({ otp: code })).toBe(401);
    expect(lastEvent()).toMatchObject({ otpOutcome: "code_expired" });
    expect(await view()).toMatchObject({ enabled: false, temporary_code: { uses_left: 0 } });
    expect(await signIn({})).toBe(401);
  });

  it("accepts the code exactly for its uses if many callers send it at once over two hosts", async () => {
    const { code, signIn } = await lostKey(3);
    const hosts = [auth, auth.anotherInstance()];
    const statuses = await Promise.all(
      Array.from({ length: 12 }, (_, index) => signIn({ otp: code }, hosts[index % 2])),
    );
    expect(statuses.filter(status => status === 200)).toHaveLength(3);
    expect(statuses.filter(status => status === 401)).toHaveLength(9);
  });

  it("is revoked when the key is enabled, another code is issued, or an administrator revokes it", async () => {
    const { key, path, code, issue, signIn, view } = await lostKey(9);
    const second = await issue();
    expect([await signIn({ otp: code }), await signIn({ otp: second })]).toEqual([401, 200]);
    expect((await auth.call("DELETE", `${path}/temporary-code`)).status).toBe(204);
    expect(auth.events("otpkey_temporary_code_revoked").at(-1)).toMatchObject({ prefix: key.prefix });
    expect([await signIn({ otp: second }), await signIn({})]).toEqual([401, 401]);
    const third = await issue();
    expect((await auth.post(`${path}/enable`)).status).toBe(204);
    expect(await view()).not.toHaveProperty("temporary_code");
    expect([await signIn({ otp: third }), await signIn({ otp: key.otp(3) })]).toEqual([401, 200]);
    expect(await auth.call("DELETE", `${path}/temporary-code`)).toMatchObject({
      status: 404,
      body: { error: "The otpkey has no temporary code." },
    });
  });

  it.each([
    ["hotp", hotpKey],
    ["yubico", yubicoKey],
  ])(
    "counts wrong codes for a key of kind %s against user and key, and not for users without the key",
    async (_, make) => {
      const { user, key, code, signIn, view, lastEvent } = await lostKey(1, hours(1), make);
      const wrong = `${key.prefix}-0000-0000-0000-0000`;
      expect(await signIn({ otp: wrong })).toBe(401);
      expect(await view()).toMatchObject({ failures: 1 });
      expect(lastEvent()).toMatchObject({ outcome: "refused", otpOutcome: "invalid", temporaryCode: true });
      expect((await auth.get(`/core/users/${user.id}/lock`)).body).toMatchObject({ failures: 1 });
      const other = await auth.makeUser();
      const foreign = { ...other.credentials, otp: code };
      expect((await auth.post("/client/login", foreign)).status).toBe(401);
      expect(auth.events("authentication").at(-1)).toMatchObject({ otpOutcome: "not_assigned" });
      expect(await signIn({ otp: code })).toBe(200);
    },
  );

  it("is not checked for a disabled key without one: the outcome is that of the key, and nothing counts", async () => {
    const [user, key] = await auth.makeOwner(hotpKey());
    await auth.post(`/core/otpkeys/${key.prefix}/disable`);
    const otp = `${key.prefix}-aaaa-bbbb-cccc-dddd`;
    const stored = await auth.context.otpkeys.find(key.prefix);
    expect((await auth.post("/client/login", { ...user.credentials, otp })).status).toBe(401);
    expect(auth.events("authentication").at(-1)).toMatchObject({ otpOutcome: "disabled", prefix: key.prefix });
    expect(await auth.context.otpkeys.find(key.prefix)).toEqual(stored);
  });

  it("costs as many storage calls as an OTP, and stores no code", async () => {
    const { user, code, path } = await lostKey(2);
    const fields = { ...user.credentials, otp: code };
    const { sequential, result } = await auth.counted(() => auth.post("/client/login", fields));
    expect([result.status, sequential]).toEqual([200, 4]);
    const valid_until = plus(auth.now(), hours(1));
    const issued = await auth.counted(() => auth.post(`${path}/temporary-code`, { valid_until }));
    expect([issued.result.status, issued.sequential]).toEqual([201, 2]);
    const secret = code.slice(code.indexOf("-") + 1);
    expect(await storedText(auth.storage)).not.toContain(secret);
    expect(auth.lines.join()).not.toContain(secret);
  });

  it.each([
    ["has expired", -1],
    ["expires before the code", 2],
    ["is not valid before the code expires", 4],
  ])("refuses a code that would not be accepted because the key %s: 400", async (_, atHours) => {
    const [user, key] = await auth.makeOwner(hotpKey());
    const path = `/core/otpkeys/${key.prefix}`;
    const limit = plus(auth.now(), hours(atHours));
    await auth.post(`${path}/validity`, atHours > 3 ? { valid_from: limit } : { valid_until: limit });
    const valid_until = plus(auth.now(), hours(3));
    expect(await auth.post(`${path}/temporary-code`, { valid_until })).toMatchObject({
      status: 400,
      body: { error: "valid_until must be within the validity of the otpkey: change that first" },
    });
    expect((await auth.get(path)).body).toMatchObject({ enabled: true });
    await auth.post(`${path}/validity`, { valid_until });
    const { code } = (await auth.post(`${path}/temporary-code`, { valid_until })).body as { code: string };
    expect((await auth.post("/client/login", { ...user.credentials, otp: code })).status).toBe(200);
  });

  it.each([
    [{}, "Missing required parameter(s)! valid_until"],
    [{ valid_until: "2020-01-01T00:00:00Z" }, "valid_until must be in the future, at most 31 days away"],
    [{ days: 32 }, "valid_until must be in the future, at most 31 days away"],
    [{ days: 1, uses: "0" }, "uses must be a whole number from 1 to 100"],
    [{ days: 1, uses: "101" }, "uses must be a whole number from 1 to 100"],
  ])(
    "refuses %j: 400, and the key stays as it is",
    async ({ days: count, ...fields }: Record<string, unknown>, error) => {
      const user = await auth.makeUser();
      const { prefix } = await auth.giveKey(user, hotpKey());
      const time = typeof count === "number" ? { valid_until: plus(auth.now(), days(count)) } : {};
      const { status, body } = await auth.post(`/core/otpkeys/${prefix}/temporary-code`, {
        ...time,
        ...fields,
      } as Record<string, string>);
      expect({ status, body }).toEqual({ status: 400, body: { error } });
      expect((await auth.get(`/core/otpkeys/${prefix}`)).body).toMatchObject({ enabled: true });
    },
  );
});
