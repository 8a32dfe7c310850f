import { describe, expect, it, onTestFinished } from "vitest";
import { seconds } from "../../../../lib/platform/time.ts";
import { hotpKey, type SoftwareKey, stepAt, totpKey, wrongOtp, yubicoKey } from "../../../support/auth/software-key.ts";
import { newName, testAuth, validationKey } from "../../../support/auth/test-auth.ts";
import { simulatedServer } from "../../../support/auth/validation-server.ts";

const auth = await testAuth({ settings: { AUTH_THROTTLE_FAILURES: "100" } });

type Fields = Readonly<Record<string, string>>;
const authenticate = (fields: Fields, on = auth) => on.post("/client/authenticate", fields);
const rowOf = ({ prefix }: SoftwareKey) => auth.context.otpkeys.find(prefix);

/** Who may ask about a key that they do not have. */
async function othersFields(): Promise<readonly Fields[]> {
  const other = await auth.makeUser();
  const { password } = other;
  const ofOther = await auth.giveKey(other, hotpKey());
  expect((await authenticate({ username: other.name, password, otp: ofOther.otp(0) })).body).toBe(true);
  return [
    {},
    { password },
    { username: "a/b", password },
    { username: newName(), password },
    { username: other.name },
    { username: other.name, password: "wrong" },
    { username: other.name, password },
  ];
}

it("is cut by the known kind of the user's key, where 20 characters could be 14 and 6, or 12 and 8", async () => {
  const [user, other] = await Promise.all([auth.makeUser(), auth.makeUser()]);
  const eight = await auth.giveKey(user, hotpKey({ digits: 8 }));
  await auth.giveKey(other, hotpKey({ prefix: eight.otp(0).slice(0, -6) }));
  expect(await auth.isValidOtp(user, eight.otp(0))).toBe(true);
});

describe("the OTP of a key that the named user does not have", () => {
  const kinds = [
    ["hotp", hotpKey, (n: number) => n],
    ["totp", totpKey, () => stepAt(auth.now())],
  ] as const;

  it.each(kinds)(
    "of kind %s changes no row of the key, genuine or not; the owner's next one passes",
    async (_, make, at) => {
      const [owner, key] = await auth.makeOwner(make());
      const before = await rowOf(key);
      let n = 0;
      for (const fields of await othersFields()) {
        for (const otp of [key.otp(at(n++)), wrongOtp(key), key.otp(at(50))]) {
          expect((await authenticate({ ...fields, otp })).body).toBe(false);
        }
      }
      const other = await auth.makeUser();
      const validated = await auth.post(`/core/users/${other.id}/validate`, { otp: key.otp(at(0)) });
      expect(validated.body).toEqual({ valid_password: false, valid_otp: false });
      expect(await rowOf(key)).toEqual(before);
      const { name, password } = owner;
      expect((await authenticate({ username: name, password, otp: key.otp(at(0)) })).body).toBe(true);
    },
  );

  it("of kind `remote` is sent to no validation server and spends nothing; the owner's passes", async () => {
    const server = await simulatedServer(validationKey);
    onTestFinished(() => server.close());
    const asking = auth.anotherInstance({
      settings: { OTP_VALIDATION_URLS: server.url, OTP_VALIDATION_CLIENT_ID: server.clientId },
    });
    const owner = await auth.makeUser();
    const key = yubicoKey();
    server.add(key);
    await asking.post(`/core/users/${owner.id}/otpkeys`, { otpkey: key.prefix });
    const before = await rowOf(key);
    const otp = key.otp(1);
    for (const fields of await othersFields())
      expect((await authenticate({ ...fields, otp }, asking)).body).toBe(false);
    expect(server.requests()).toEqual([]);
    expect(await rowOf(key)).toEqual(before);
    const mine = owner.credentials;
    expect((await authenticate({ ...mine, otp }, asking)).body).toBe(true);
    expect(server.requests()).toHaveLength(1);
  });

  it("of kind `yubico` is used up when it is genuine: no guess can be", async () => {
    const [owner, key] = await auth.makeOwner(yubicoKey());
    const mine = owner.credentials;
    let n = 1;
    for (const fields of await othersFields()) {
      const otp = key.otp(n++);
      expect((await authenticate({ ...fields, otp })).body).toBe(false);
      expect((await authenticate({ ...mine, otp })).body).toBe(false);
      expect((await rowOf(key))?.value.failures).toBe(n - 1);
    }
    expect((await authenticate({ ...mine, otp: key.otp(n) })).body).toBe(true);
  });

  it("decides nothing where the key is unassigned or disabled; those who share a key each use up its OTPs", async () => {
    const [one, two, third] = await Promise.all([auth.makeUser(), auth.makeUser(), auth.makeUser()]);
    const key = hotpKey();
    await auth.post("/core/otpkeys", key.fields);
    const before = await rowOf(key);
    const as = (user: typeof one, otp: string) => authenticate({ ...user.credentials, otp }).then(({ body }) => body);
    expect(await as(one, key.otp(0))).toBe(false);
    expect(await rowOf(key)).toEqual(before);
    for (const { id } of [one, two]) await auth.post(`/core/users/${id}/otpkeys`, { otpkey: key.prefix });
    expect([await as(one, key.otp(0)), await as(two, key.otp(0))]).toEqual([true, false]);
    expect([await as(two, key.otp(1)), await as(one, key.otp(1))]).toEqual([true, false]);
    await auth.post(`/core/otpkeys/${key.prefix}/disable`);
    const disabled = await rowOf(key);
    expect(await as(third, key.otp(2))).toBe(false);
    expect(await rowOf(key)).toEqual(disabled);
    expect(await as(one, key.otp(2))).toBe(false);
    await auth.post(`/core/otpkeys/${key.prefix}/enable`);
    expect([await as(one, key.otp(2)), await as(one, key.otp(3))]).toEqual([false, true]);
  });

  it("costs as many storage calls for every caller and every kind of key", async () => {
    const owner = await auth.makeUser();
    const unassigned = hotpKey();
    await auth.post("/core/otpkeys", unassigned.fields);
    const [hotp, yubico] = [await auth.giveKey(owner, hotpKey()), await auth.giveKey(owner, yubicoKey())];
    let n = 0;
    const asked = await othersFields();
    for (const fields of asked) await authenticate({ ...fields, password: "no" });
    const otps = () => [
      hotp.otp(n),
      wrongOtp(hotp),
      unassigned.otp(0),
      hotpKey().otp(0),
      yubico.otp(++n),
      yubicoKey().otp(1),
    ];
    for (const fields of asked) {
      for (const otp of otps()) {
        const { total, sequential } = await auth.counted(() => authenticate({ ...fields, otp }));
        expect({ total, sequential }, JSON.stringify({ ...fields, otp })).toEqual({ total: 7, sequential: 4 });
      }
    }
  });
});

describe("attempts that name the user by the OTP", () => {
  const strict = (failures = "10") =>
    auth.anotherInstance({ settings: { AUTH_IDENTIFY_BY_OTP: "true", AUTH_THROTTLE_FAILURES: failures } });

  it("are throttled under the prefix, and the owner's sign-in by name is not", async () => {
    const [owner, key] = await auth.makeOwner(hotpKey());
    const on = strict();
    const { password } = owner;
    for (let n = 0; n < 10; n++) expect((await authenticate({ password, otp: wrongOtp(key) }, on)).body).toBe(false);
    const otp = key.otp(0);
    const before = await rowOf(key);
    const throttled = await authenticate({ password, otp }, on);
    expect([throttled.status, throttled.headers.get("retry-after")]).toEqual([429, "30"]);
    expect(await rowOf(key)).toEqual(before);
    expect(on.events("authentication").at(-1)).toMatchObject({ reason: "throttled", prefix: key.prefix });
    expect((await authenticate({ username: owner.name, password, otp }, on)).body).toBe(true);
    expect((await authenticate({ password, otp: key.otp(1) }, on)).status).toBe(429);
    auth.advance(seconds(31));
    expect((await authenticate({ password, otp: key.otp(1) }, on)).body).toBe(true);
  });

  it("go on while the owner's name is throttled", async () => {
    const [owner, key] = await auth.makeOwner(hotpKey());
    const on = strict("3");
    const { name: username, password } = owner;
    for (let n = 0; n < 3; n++) await authenticate({ username, password: "wrong" }, on);
    expect((await authenticate({ username, password, otp: key.otp(0) }, on)).status).toBe(429);
    expect((await authenticate({ password, otp: key.otp(0) }, on)).body).toBe(true);
  });

  it("are throttled also under a prefix that identifies no user: unknown, unassigned, disabled or shared", async () => {
    const on = strict("2");
    const [one, two] = await Promise.all([auth.makeUser(), auth.makeUser()]);
    const [unassigned, disabled, shared] = [hotpKey(), hotpKey(), hotpKey()];
    await auth.post("/core/otpkeys", unassigned.fields);
    for (const key of [disabled, shared]) await auth.giveKey(one, key);
    await auth.post(`/core/otpkeys/${disabled.prefix}/disable`);
    await auth.post(`/core/users/${two.id}/otpkeys`, { otpkey: shared.prefix });
    for (const key of [hotpKey(), unassigned, disabled, shared]) {
      const before = await rowOf(key);
      const statuses: number[] = [];
      for (let n = 0; n < 3; n++) {
        statuses.push((await authenticate({ password: one.password, otp: key.otp(n) }, on)).status);
      }
      expect(statuses).toEqual([200, 200, 429]);
      expect(await rowOf(key)).toEqual(before);
    }
  });

  it("are let in again when an administrator enables the key", async () => {
    const [owner, key] = await auth.makeOwner(hotpKey());
    const on = strict("1");
    await authenticate({ otp: wrongOtp(key) }, on);
    const mine = { password: owner.password, otp: key.otp(0) };
    expect((await authenticate(mine, on)).status).toBe(429);
    await auth.post(`/core/otpkeys/${key.prefix}/enable`);
    expect((await authenticate(mine, on)).body).toBe(true);
  });
});
