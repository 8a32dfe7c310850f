import { describe, expect, it, test } from "vitest";
import { days, minutes, plus } from "../../../../lib/platform/time.ts";
import { hotpCode } from "../../../lib/auth/otpkeys/kinds/codes.ts";
import {
  hotpKey,
  newPrefix,
  type SoftwareKey,
  stepAt,
  totpKey,
  yubicoKey,
} from "../../../support/auth/software-key.ts";
import { testAuth } from "../../../support/auth/test-auth.ts";

const auth = await testAuth();
const user = await auth.makeUser();

type Fields = Readonly<Record<string, string>>;
const importing = (fields: Fields) => auth.post("/core/otpkeys", fields);
const viewOf = (prefix: string) => ({ attributes: {}, prefix, enabled: true, id: expect.any(Number) });
const has = async ({ prefix }: { prefix: string }) => {
  await auth.post(`/core/users/${user.id}/otpkeys`, { otpkey: prefix });
};
const isValid = (otp: string) => auth.isValidOtp(user, otp);

/** RFC 4648, written once more. */
function base32Of(bytes: Uint8Array): string {
  const bits = [...bytes].map(byte => byte.toString(2).padStart(8, "0")).join("");
  const symbols = bits
    .match(/.{1,5}/g)
    ?.map(five => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[Number.parseInt(five.padEnd(5, "0"), 2)]);
  return symbols?.join("") ?? "";
}

describe("POST /core/otpkeys", () => {
  test.each([
    ["hotp", hotpKey(), 0],
    ["hotp of 8 digits", hotpKey({ digits: 8 }), 0],
    ["totp", totpKey(), "now"],
    ["totp of 8 digits", totpKey({ digits: 8 }), "now"],
    ["totp of 7 digits", totpKey({ digits: 7 }), "now"],
    ["yubico", yubicoKey(), 1],
  ] as const)(
    "imports a key of kind %s: 201 with its view, which holds no secret; its OTPs are valid",
    async (_, key, factor) => {
      const { status, body } = await importing(key.fields);
      expect({ status, body }).toEqual({ status: 201, body: viewOf(key.prefix) });
      await has(key);
      const otp = key.otp(factor === "now" ? stepAt(auth.now()) : factor);
      expect(await isValid(otp)).toBe(true);
      expect(await isValid(otp)).toBe(false);
    },
  );

  it.each([
    ["30", "SHA256", "sha256"],
    ["60", "SHA1", "sha1"],
    ["60", "SHA512", "sha512"],
  ])(
    "imports a totp key with steps of %s seconds and %s; each of its OTPs is valid once",
    async (period, algorithm, hash) => {
      const { prefix, secret, fields } = totpKey({ digits: 8 });
      expect((await importing({ ...fields, period, algorithm })).status).toBe(201);
      await has({ prefix });
      const step = Math.floor(Date.parse(auth.now()) / 1000 / Number(period));
      const otp = prefix + hotpCode(secret, step, 8, hash);
      expect([await isValid(otp), await isValid(otp)]).toEqual([true, false]);
      // A repeated import with another step keeps the position in time: the OTP of the step before stays used up.
      const other = period === "60" ? "30" : "60";
      expect((await importing({ ...fields, period: other })).status).toBe(200);
      const current = () =>
        prefix + hotpCode(secret, Math.floor(Date.parse(auth.now()) / 1000 / Number(other)), 8, hash);
      expect(await isValid(current())).toBe(false);
      auth.advance(minutes(2));
      expect(await isValid(current())).toBe(true);
    },
  );

  it("imports a key without a secret: 201; again 200; its OTPs are never valid until one is imported", async () => {
    const key = hotpKey();
    const fields = { prefix: key.prefix };
    expect(await importing(fields)).toMatchObject({ status: 201, body: viewOf(key.prefix) });
    expect(await importing(fields)).toMatchObject({ status: 200, body: viewOf(key.prefix) });
    await has(key);
    expect(await isValid(key.otp(0))).toBe(false);
    expect(await importing(key.fields)).toMatchObject({ status: 201, body: viewOf(key.prefix) });
    expect(await isValid(key.otp(0))).toBe(true);
    expect(await importing(fields)).toMatchObject({ status: 200 });
    expect(await isValid(key.otp(1))).toBe(true);
  });

  it("gives a key that an assignment made its secret: 201; the assignment and the attributes stay", async () => {
    const key = yubicoKey();
    await has(key);
    expect(auth.events("otpkey_created").at(-1)).toMatchObject({ prefix: key.prefix });
    await auth.post(`/core/otpkeys/${key.prefix}/attributes`, { key: "batch", value: "7" });
    const view = { ...viewOf(key.prefix), attributes: { batch: "7" } };
    expect(await importing(key.fields)).toMatchObject({ status: 201, body: view });
    expect(await isValid(key.otp(1))).toBe(true);
  });

  it("folds the prefix, and takes JSON with numbers and booleans", async () => {
    const key = hotpKey({ digits: 8 });
    const body = JSON.stringify({
      ...key.fields,
      prefix: key.prefix.toUpperCase(),
      digits: 8,
      counter: 7,
      replace: false,
      private_id: null,
    });
    expect(await auth.call("POST", "/core/otpkeys", { body })).toMatchObject({ status: 201, body: viewOf(key.prefix) });
    await has(key);
    expect([await isValid(key.otp(6)), await isValid(key.otp(7))]).toEqual([false, true]);
  });

  test.each([
    ["as it is", (text: string) => text],
    ["padded", (text: string) => text.padEnd(Math.ceil(text.length / 8) * 8, "=")],
    [
      "in lower case and groups",
      (text: string) =>
        text
          .toLowerCase()
          .replace(/(.{4})/g, "$1 ")
          .trim(),
    ],
    ["with dashes", (text: string) => text.replace(/(.{8})/g, "$1-").replace(/-$/, "")],
  ])("takes an OATH secret in Base32, %s", async (_, written) => {
    const key = hotpKey();
    const { secret: _hex, ...rest } = key.fields;
    expect((await importing({ ...rest, secret_base32: written(base32Of(key.secret)) })).status).toBe(201);
    expect((await importing(key.fields)).status).toBe(200);
    await has(key);
    expect(await isValid(key.otp(0))).toBe(true);
  });
});

describe("importing again", () => {
  const imported = async (key: SoftwareKey) => {
    await importing(key.fields);
    await has(key);
    return key;
  };

  it("the same secret is 200, and no counter goes down", async () => {
    const key = await imported(hotpKey());
    expect(await isValid(key.otp(5))).toBe(true);
    expect(await importing(key.fields)).toMatchObject({ status: 200, body: viewOf(key.prefix) });
    expect(await importing({ ...key.fields, replace: "true" })).toMatchObject({ status: 200 });
    expect(await isValid(key.otp(5))).toBe(false);
    expect((await importing({ ...key.fields, counter: "20" })).status).toBe(200);
    expect([await isValid(key.otp(19)), await isValid(key.otp(20))]).toEqual([false, true]);
  });

  it("the same secret without `digits` leaves their number", async () => {
    const key = await imported(hotpKey({ digits: 8 }));
    const { digits: _, ...rest } = key.fields;
    expect((await importing(rest)).status).toBe(200);
    expect(await isValid(key.otp(0))).toBe(true);
  });

  it("the same secret shows the key as it is: attributes, disabled or stopped", async () => {
    const key = await imported(hotpKey());
    await auth.post(`/core/otpkeys/${key.prefix}/attributes`, { key: "serial", value: "1" });
    await auth.post(`/core/otpkeys/${key.prefix}/disable`);
    expect((await importing(key.fields)).body).toEqual({
      ...viewOf(key.prefix),
      attributes: { serial: "1" },
      enabled: false,
    });
  });

  test.each([
    ["another secret", () => hotpKey()],
    ["another kind", () => totpKey()],
    ["another private id", () => yubicoKey()],
  ] as const)("%s is 409 and changes nothing, unless `replace=true`, which is an audit event", async (_, makeOther) => {
    const key = await imported(hotpKey());
    const second = makeOther();
    const fields: Fields = { ...second.fields, prefix: key.prefix };
    const { status, body } = await importing(fields);
    expect({ status, body }).toEqual({
      status: 409,
      body: { error: "The otpkey has another secret. Set `replace` to replace it." },
    });
    expect(await isValid(key.otp(0))).toBe(true);
    const replaced = await importing({ ...fields, replace: "true" });
    expect(replaced).toMatchObject({ status: 200, body: viewOf(key.prefix) });
    expect(auth.events("otpkey_secret_replaced")).toContainEqual(
      expect.objectContaining({
        prefix: key.prefix,
        requestId: expect.any(String),
      }),
    );
    expect(await isValid(key.otp(1))).toBe(false);
    const factor = fields.kind === "totp" ? stepAt(auth.now()) : 1;
    expect(await isValid(key.prefix + second.otp(factor).slice(second.prefix.length))).toBe(true);
  });

  it("`replace=true` starts at the given counter, also a lower one", async () => {
    const key = await imported(hotpKey());
    await isValid(key.otp(14));
    const second = hotpKey({ prefix: key.prefix });
    expect((await importing({ ...second.fields, counter: "3", replace: "true" })).status).toBe(200);
    expect([await isValid(second.otp(2)), await isValid(second.otp(3))]).toEqual([false, true]);
  });

  it.each(["hotp", "totp", "yubico"] as const)(
    "the same secret of kind %s with `replace=true` sets the counter, also to a lower value, which is an audit event",
    async kind => {
      const key = await imported({ hotp: hotpKey, totp: totpKey, yubico: yubicoKey }[kind]());
      const factor = kind === "totp" ? stepAt(auth.now()) : 5;
      expect(await isValid(key.otp(factor))).toBe(true);
      const counter = String(factor);
      expect((await importing({ ...key.fields, counter })).status).toBe(200);
      expect((await importing({ ...key.fields, replace: "true" })).status).toBe(200);
      expect(await isValid(key.otp(factor))).toBe(false);
      const set = await importing({ ...key.fields, counter, replace: "true" });
      expect(set).toMatchObject({ status: 200, body: viewOf(key.prefix) });
      const events = auth.events("otpkey_counter_set").filter(({ prefix }) => prefix === key.prefix);
      expect(events).toEqual([expect.objectContaining({ kind, requestId: expect.any(String) })]);
      expect([await isValid(key.otp(factor)), await isValid(key.otp(factor))]).toEqual([true, false]);
    },
  );

  it("sets the drift of a new key; a repeated import keeps the stored one, also with another step, unless `replace=true`", async () => {
    const made = totpKey();
    const key = await imported({ ...made, fields: { ...made.fields, drift: "-4" } });
    const state = async () => (await auth.context.otpkeys.find(key.prefix))?.value.parameters.state;
    expect(await state()).toEqual({ counter: 0, drift: -4 });
    const again = (more: object) => importing({ ...key.fields, ...more });
    expect((await again({ drift: "6" })).status).toBe(200);
    expect(await state()).toEqual({ counter: 0, drift: -4 });
    expect((await again({ period: "60" })).status).toBe(200);
    expect(await state()).toEqual({ counter: 0, drift: -2 });
    expect((await again({ drift: "6", replace: "true" })).status).toBe(200);
    expect(await state()).toEqual({ counter: 0, drift: 6 });
    expect((await again({ drift: "6.5" })).status).toBe(400);
    const { drift: _, ...others } = key.fields;
    expect((await importing({ ...others, counter: "9", replace: "true" })).status).toBe(200);
    expect(await state()).toEqual({ counter: 9, drift: 6 });
  });

  it("`replace=true` with the same secret keeps id, assignments, state and count of failures", async () => {
    const key = await imported(hotpKey());
    const stored = await auth.context.otpkeys.find(key.prefix);
    if (stored === undefined) throw new Error("there is no key");
    await auth.context.otpkeys.save(stored, { ...stored.value, enabled: false, failures: 7, stopped: true });
    await importing({ ...key.fields, counter: "3", replace: "true" });
    const parameters = { digits: 6, state: { counter: 3 } };
    const after = (await auth.context.otpkeys.find(key.prefix))?.value;
    expect(after).toEqual({ ...stored.value, enabled: false, failures: 7, stopped: true, parameters });
  });

  it("one key, imported by many at once: one 201, the others 200", async () => {
    const key = hotpKey();
    const answers = await Promise.all(Array.from({ length: 12 }, () => importing(key.fields)));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(11).fill(200), 201]);
  });
});

describe("the time in which OTPs of a key are accepted", () => {
  const inDays = (count: number) => plus(auth.now(), days(count));

  it("is shown, and enforced by sign-in and validate with a reason of its own; an OTP is still required", async () => {
    const own = await auth.makeUser();
    const { name: username, password } = own;
    const key = hotpKey();
    const valid_from = inDays(1);
    const valid_until = inDays(2);
    const made = await importing({ ...key.fields, valid_from, valid_until, username });
    expect(made).toMatchObject({ status: 201, body: { ...viewOf(key.prefix), valid_from, valid_until } });
    const signsIn = async (fields: Fields) =>
      (await auth.post("/client/authenticate", { username, password, ...fields })).body;
    const lastReason = (event: string) => auth.events(event).at(-1)?.otpOutcome;

    expect(await signsIn({ otp: key.otp(0) })).toBe(false);
    expect(lastReason("authentication")).toBe("not_yet_valid");
    expect(await auth.isValidOtp(own, key.otp(1))).toBe(false);
    expect(lastReason("validation")).toBe("not_yet_valid");
    expect(await signsIn({})).toBe(false);
    expect(auth.events("authentication").at(-1)).toMatchObject({ reason: "no_otp" });
    auth.advance(days(1));
    expect([await signsIn({ otp: key.otp(1) }), await signsIn({ otp: key.otp(2) })]).toEqual([false, true]);
    auth.advance(days(1));
    expect(await signsIn({ otp: key.otp(3) })).toBe(false);
    expect(lastReason("authentication")).toBe("expired");
    expect(await auth.isValidOtp(own, key.otp(4))).toBe(false);
    expect(lastReason("validation")).toBe("expired");
  });

  it("stays in a repeated import that does not name it, and is set and removed by a call of its own", async () => {
    const key = hotpKey();
    const path = `/core/otpkeys/${key.prefix}`;
    const view = async () => (await auth.get(path)).body;
    await importing({ ...key.fields, valid_until: "2040-01-01T01:00:00+01:00" });
    const limited = { ...viewOf(key.prefix), valid_until: "2040-01-01T00:00:00.000Z" };
    expect((await importing(key.fields)).body).toEqual(limited);
    expect((await importing({ prefix: key.prefix, valid_from: "2039-01-01T00:00:00Z" })).body).toEqual({
      ...limited,
      valid_from: "2039-01-01T00:00:00.000Z",
    });
    expect((await importing({ ...key.fields, valid_from: "2041-01-01T00:00:00Z" })).body).toEqual({
      error: "valid_until must be later than valid_from",
    });
    const { result, sequential } = await auth.counted(() =>
      auth.post(`${path}/validity`, { valid_until: "2050-01-01T00:00:00Z" }),
    );
    expect([result.status, sequential]).toEqual([204, 2]);
    expect(await view()).toEqual({ ...viewOf(key.prefix), valid_until: "2050-01-01T00:00:00.000Z" });
    expect((await auth.post(`${path}/validity`)).status).toBe(204);
    expect(await view()).toEqual(viewOf(key.prefix));
    expect(auth.events("otpkey_validity_set").at(-1)).toMatchObject({ prefix: key.prefix, callerKind: "api_token" });
    expect((await auth.post(`/core/otpkeys/${newPrefix()}/validity`)).status).toBe(404);
    for (const valid_until of ["9999-12-31T23:59:59-01:00", "+010000-01-01T00:00:00Z"]) {
      expect((await auth.post(`${path}/validity`, { valid_until })).status).toBe(400);
      expect((await importing({ ...key.fields, valid_until })).status).toBe(400);
    }
    expect((await auth.post(`${path}/validity`, { valid_from: "tomorrow" })).body).toEqual({
      error: "valid_from must be a time in ISO 8601 with its zone, such as 2031-01-31T12:00:00Z",
    });
  });
});

describe("an import that changes the validity of an existing OTP key", () => {
  it("has an audit event with the limits, with and without a kind, and none if it changes nothing", async () => {
    const key = hotpKey();
    const [validFrom, validUntil] = ["2030-01-01T00:00:00.000Z", "2040-01-01T00:00:00.000Z"];
    await importing(key.fields);
    const events = () => auth.events("otpkey_validity_set").filter(({ prefix }) => prefix === key.prefix);
    await importing({ ...key.fields, valid_until: validUntil });
    expect(events()).toEqual([expect.objectContaining({ validUntil, callerKind: "api_token" })]);
    await importing({ prefix: key.prefix, valid_from: validFrom });
    expect(events()[1]).toMatchObject({ validFrom, validUntil });
    await importing({ ...key.fields, valid_until: validUntil });
    await importing({ prefix: key.prefix, valid_from: validFrom });
    expect(events()).toHaveLength(2);
  });
});

describe("an import with the name of a user", () => {
  it("assigns the key, also again, with at most 8 storage calls in a row", async () => {
    const key = hotpKey();
    const own = await auth.makeUser();
    const fields = { ...key.fields, username: own.name.toUpperCase() };
    const { result, sequential } = await auth.counted(() => importing(fields));
    expect(result.status).toBe(201);
    expect(sequential).toBeLessThanOrEqual(8);
    expect((await importing(fields)).status).toBe(200);
    expect((await auth.get(`/core/users/${own.id}/otpkeys`)).body).toEqual([key.prefix]);
    expect(auth.events("otpkey_assigned").at(-1)).toMatchObject({ prefix: key.prefix });
  });

  it.each([
    ["no-such-user", "username is not the name of a user"],
    ["a/b", "username must not contain / \\ ? or #"],
  ])("is refused for %s, and then neither a key nor a user is created", async (username, error) => {
    const key = hotpKey();
    expect(await importing({ ...key.fields, username })).toMatchObject({ status: 400, body: { error } });
    expect((await auth.get(`/core/otpkeys/${key.prefix}`)).status).toBe(404);
    expect((await auth.get(`/core/users/${encodeURIComponent(username)}`)).status).toBe(404);
  });
});

describe("what makes no key: 400", () => {
  const { prefix: _, ...hotp } = hotpKey().fields;
  const { prefix: __, ...yubico } = yubicoKey().fields;

  test.each<[Fields, string]>([
    [{}, "Missing required parameter(s)! kind"],
    [{ ...hotp, prefix: "" }, "prefix must be 1 to 32 letters and digits"],
    [{ ...hotp, prefix: "a-b" }, "prefix must be 1 to 32 letters and digits"],
    [{ ...hotp, prefix: "x".repeat(33) }, "prefix must be 1 to 32 letters and digits"],
    [{ kind: "sms" }, "kind must be one of hotp, totp, yubico, remote"],
    [{ kind: "__proto__" }, "kind must be one of hotp, totp, yubico, remote"],
    [{ kind: "hotp" }, "Missing required parameter(s)! secret"],
    [{ kind: "yubico" }, "Missing required parameter(s)! secret, private_id"],
    [{ secret: "00".repeat(20) }, "Missing required parameter(s)! kind"],
    [{ replace: "true" }, "Missing required parameter(s)! kind"],
    [{ ...hotp, secret: "xyz" }, "secret must be in hex"],
    [{ ...hotp, secret: "123" }, "secret must be in hex"],
    [{ ...hotp, secret: "" }, "secret must be in hex"],
    [{ ...hotp, secret: "00".repeat(13) }, "secret must have 14 to 64 bytes"],
    [{ ...hotp, secret: "00".repeat(65) }, "secret must have 14 to 64 bytes"],
    [{ ...hotp, secret_base32: "AAAA" }, "secret_base32 must not be given together with secret"],
    [{ kind: "hotp", secret_base32: "0189" }, "secret_base32 must be in Base32"],
    [{ kind: "hotp", secret_base32: "A" }, "secret_base32 must be in Base32"],
    [{ kind: "hotp", secret_base32: "" }, "secret_base32 must be in Base32"],
    [{ kind: "hotp", secret_base32: "AAAAAAAA" }, "secret must have 14 to 64 bytes"],
    [{ kind: "hotp", secret_base32: "A".repeat(401) }, "secret_base32 must have at most 400 characters"],
    [
      { kind: "yubico", secret_base32: "A".repeat(32), private_id: "00".repeat(6) },
      "secret_base32 is not for this kind of key",
    ],
    [{ kind: "remote", secret_base32: "A".repeat(32) }, "secret_base32 is not for this kind of key"],
    [{ kind: "remote", secret: "00".repeat(20) }, "secret is not for this kind of key"],
    [{ ...hotp, private_id: "00" }, "private_id is not for this kind of key"],
    [{ ...yubico, private_id: "00" }, "private_id must have 6 bytes"],
    [{ ...yubico, secret: "00" }, "secret must have 16 bytes"],
    [{ ...yubico, digits: "6" }, "digits is not for this kind of key"],
    [{ ...hotp, digits: "9" }, "digits must be 6, 7 or 8"],
    [{ ...hotp, period: "60" }, "period is not for this kind of key"],
    [{ ...hotp, algorithm: "SHA256" }, "algorithm is not for this kind of key"],
    [{ ...hotp, drift: "0" }, "drift is not for this kind of key"],
    [{ ...hotp, kind: "totp", period: "45" }, "period must be 30 or 60"],
    [{ ...hotp, kind: "totp", drift: "10001" }, "drift must be a whole number from -10000 to 10000"],
    [{ ...hotp, kind: "totp", drift: "-10001" }, "drift must be a whole number from -10000 to 10000"],
    [{ ...yubico, secret: "00", digits: "6" }, "secret must have 16 bytes; digits is not for this kind of key"],
    [{ ...hotp, digits: "six" }, "digits must be a whole number"],
    [{ ...hotp, counter: "-1" }, "counter must be a whole number"],
    [{ ...hotp, counter: "1.5" }, "counter must be a whole number"],
    [{ ...hotp, counter: "9007199254740992" }, "counter must be a whole number from 0 to 4503599627370496"],
    [{ ...yubico, counter: "32768" }, "counter must be a whole number from 0 to 32767"],
    [{ ...hotp, replace: "yes" }, "replace must be true or false"],
    // Values that cannot be read, and others that the kind does not have.
    [
      {
        ...hotp,
        digits: "many",
        secret: "00",
        period: "30",
        valid_from: "2027-01-02T00:00:00Z",
        valid_until: "2027-01-01T00:00:00Z",
      },
      "digits must be a whole number; secret must have 14 to 64 bytes; period is not for this kind of key; valid_until must be later than valid_from",
    ],
    [
      { kind: "none", secret: "00", counter: "many" },
      "kind must be one of hotp, totp, yubico, remote; counter must be a whole number",
    ],
    [
      { kind: "yubico", private_id: "00".repeat(6), secret_base32: "1", digits: "6" },
      "secret_base32 must be in Base32; digits is not for this kind of key",
    ],
    [{ ...hotp, secret: "x", digits: "7", counter: "x" }, "secret must be in hex; counter must be a whole number"],
  ])("%j", async (fields, error) => {
    const prefix = newPrefix();
    const given = Object.keys(fields).length === 0 ? { prefix, counter: "1" } : { prefix, ...fields };
    const { status, body } = await importing(given);
    expect({ status, body }).toEqual({ status: 400, body: { error } });
    expect((await auth.get(`/core/otpkeys/${prefix}`)).status).toBe(404);
  });

  it("padding that never ends is not looked through again and again", async () => {
    const { status, body } = await importing({
      prefix: newPrefix(),
      kind: "hotp",
      secret_base32: `${"=".repeat(100_000)}A`,
    });
    expect({ status, body }).toEqual({
      status: 400,
      body: { error: "secret_base32 must have at most 400 characters" },
    });
  });

  it("no prefix", async () => {
    const { status, body } = await importing(hotp);
    expect({ status, body }).toEqual({ status: 400, body: { error: "Missing required parameter(s)! prefix" } });
  });
});
