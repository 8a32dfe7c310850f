import { describe, expect, it } from "vitest";
import { Fault } from "../../../../lib/platform/fault.ts";
import { fillUser } from "../../../support/auth/fill-user.ts";
import { hotpKey, type SoftwareKey, wrongOtp, yubicoKey } from "../../../support/auth/software-key.ts";
import {
  type MadeUser,
  newPassword,
  replacing,
  testAuth,
  throttleOf,
  withSession,
} from "../../../support/auth/test-auth.ts";

const auth = await testAuth({ settings: { AUTH_SELF_ASSIGN: "true" } });

/** A user with a session, who asks for keys. */
async function asking(on = auth, user?: MadeUser) {
  const who = user ?? (await auth.makeUser());
  const headers = withSession(await on.logIn(who));
  const assign = (otp: string, password = who.password) => on.post("/client/otpkeys", { otp, password }, headers);
  const keys = async () => (await auth.get(`/core/users/${who.id}/otpkeys`)).body;
  return { user: who, assign, keys };
}

async function unassigned<K extends SoftwareKey>(key: K): Promise<K> {
  expect((await auth.post("/core/otpkeys", key.fields)).status).toBe(201);
  return key;
}

const failuresOf = async ({ id }: MadeUser) =>
  ((await auth.get(`/core/users/${id}/lock`)).body as { failures: number }).failures;
const lastEvent = () => auth.events("self_assignment").at(-1);

describe("POST /client/otpkeys", () => {
  it.each([
    ["hotp", hotpKey],
    ["yubico", yubicoKey],
  ])("assigns an unassigned key of kind %s to the session's user, whose next sign-in needs it", async (_, make) => {
    const { user, assign, keys } = await asking();
    const key = await unassigned(make());
    const { result, sequential } = await auth.counted(() => assign(` ${key.otp(1)}\r\n`));
    expect(result).toMatchObject({ status: 200, body: { prefix: key.prefix } });
    expect(sequential).toBeLessThanOrEqual(7);
    expect(await keys()).toEqual([key.prefix]);
    expect(lastEvent()).toMatchObject({ userId: user.id, outcome: "granted", otpOutcome: "valid", prefix: key.prefix });
    const { name: username, password } = user;
    expect((await auth.post("/client/authenticate", { username, password })).body).toBe(false);
    expect((await auth.post("/client/authenticate", { username, password, otp: key.otp(1) })).body).toBe(false);
    expect((await auth.post("/client/authenticate", { username, password, otp: key.otp(2) })).body).toBe(true);
  });

  it("refuses a wrong password, a wrong OTP and an unknown key, and counts each as a failure", async () => {
    const { user, assign, keys } = await asking();
    const key = await unassigned(hotpKey());
    expect((await assign(key.otp(0), "wrong")).status).toBe(401);
    expect(lastEvent()).toMatchObject({ outcome: "refused", reason: "wrong_password" });
    expect((await assign(wrongOtp(key))).status).toBe(401);
    expect((await assign(hotpKey().otp(0))).status).toBe(401);
    expect(lastEvent()).toMatchObject({ outcome: "refused", reason: "wrong_otp", otpOutcome: "unknown_key" });
    expect(await failuresOf(user)).toBe(3);
    expect((await auth.context.otpkeys.find(key.prefix))?.value.failures).toBe(1);
    expect(await keys()).toEqual([]);
    expect((await assign(key.otp(0))).status).toBe(200);
    expect(await failuresOf(user)).toBe(0);
  });

  it.each([
    ["hotp", hotpKey],
    ["yubico", yubicoKey],
  ])(
    "refuses a key of kind %s that another user has, says so to administrators, and does not use up its OTP",
    async (_, make) => {
      const { user, assign, keys } = await asking();
      const [owner, key] = await auth.makeOwner<SoftwareKey>(make());
      expect((await assign(key.otp(1))).status).toBe(401);
      expect(await keys()).toEqual([]);
      const refused = { reason: "wrong_otp", otpOutcome: "not_assigned", prefix: key.prefix };
      expect(lastEvent()).toMatchObject({ outcome: "refused", ...refused });
      expect((await auth.get(`/core/users/${user.id}`)).body).toMatchObject({
        last_refusal: { reason: "wrong_otp", otp_outcome: "not_assigned", otpkey: key.prefix },
      });
      await auth.logIn(owner, key.otp(1));
    },
  );

  it("refuses a key that nine other users have", async () => {
    const { assign, keys } = await asking();
    const key = await unassigned(hotpKey());
    for (const { id } of await Promise.all(Array.from({ length: 9 }, () => auth.makeUser())))
      expect((await auth.post(`/core/users/${id}/otpkeys`, { otpkey: key.prefix })).status).toBe(204);
    expect((await assign(key.otp(0))).status).toBe(401);
    expect(lastEvent()).toMatchObject({ otpOutcome: "not_assigned", prefix: key.prefix });
    expect(await keys()).toEqual([]);
  });

  it("assigns a key again to the user who has it, so that a call whose response was lost can be repeated", async () => {
    const { assign, keys } = await asking();
    const key = await unassigned(hotpKey());
    expect([(await assign(key.otp(0))).status, (await assign(key.otp(1))).status]).toEqual([200, 200]);
    expect(await keys()).toEqual([key.prefix]);
  });

  it.each([
    ["granted, and reports the assignment", true, 200, { outcome: "granted" }, "attempt_not_concluded"],
    ["undecided", false, 503, { outcome: "undecided" }, "attempt_not_withdrawn"],
  ])("whose end cannot be written is logged and %s", async (_, isRight, status, event, logged) => {
    let writes = 0;
    const on = auth.anotherInstance({
      ports: replacing("throttles", ({ save }) => ({
        save: async (...given) => {
          if (writes++ > 0) throw new Fault("unavailable", "no storage");
          return save(...given);
        },
      })),
    });
    const user = await auth.makeUser();
    const key = await unassigned(hotpKey());
    const sent = { otp: key.otp(0), password: isRight ? user.password : "wrong" };
    expect((await on.post("/client/otpkeys", sent, withSession(await auth.logIn(user)))).status).toBe(status);
    expect((await auth.get(`/core/users/${user.id}/otpkeys`)).body).toEqual(isRight ? [key.prefix] : []);
    expect(on.events("self_assignment")).toMatchObject([event]);
    expect(on.events(logged)).toHaveLength(1);
  });

  it("is subtracted from the count of its address once if it ends with an error; a failure of that is logged", async () => {
    const user = await auth.makeUser();
    const headers = { ...withSession(await auth.logIn(user)), "x-forwarded-for": "203.0.113.10" };
    const away = () => Promise.reject(new Fault("unavailable", "no storage"));
    const on = auth.anotherInstance({
      settings: { AUTH_ADDRESS_LIMIT: "2" },
      ports: replacing("otpkeys", () => ({ assign: away })),
    });
    const key = await unassigned(hotpKey());
    const assign = async (password: string, host = on) =>
      (await host.post("/client/otpkeys", { otp: key.otp(0), password }, headers)).status;
    expect([await assign("wrong"), await assign(user.password)]).toEqual([401, 503]);
    const failing = on.anotherInstance({
      ports: ({ hasher, addresses }) => ({
        hasher: { ...hasher, verify: away },
        addresses: { ...addresses, uncount: away },
      }),
    });
    expect([await assign("wrong", failing), await assign("wrong")]).toEqual([503, 429]);
    expect(failing.events("address_not_uncounted")).toMatchObject([{ error: { message: "no storage" } }]);
  });

  it("costs the same storage calls in a row for a wrong password, a wrong OTP and an unknown key", async () => {
    const { assign } = await asking();
    const key = await unassigned(hotpKey());
    const cost = async (otp: string, password?: string) => {
      const { sequential, result } = await auth.counted(() => assign(otp, password));
      expect(result.status).toBe(401);
      return sequential;
    };
    const wrongPassword = await cost(key.otp(0), "wrong");
    expect([await cost(wrongOtp(key)), await cost(hotpKey().otp(0))]).toEqual([wrongPassword, wrongPassword]);
  });

  it("refuses a disabled key and a temporary code", async () => {
    const { assign } = await asking();
    const key = await unassigned(hotpKey());
    const valid_until = new Date(Date.parse(auth.now()) + 3_600_000).toISOString();
    const { body } = await auth.post(`/core/otpkeys/${key.prefix}/temporary-code`, { valid_until });
    expect((await assign((body as { code: string }).code)).status).toBe(401);
    expect((await assign(key.otp(0))).status).toBe(401);
  });

  it("assigns a key to one of two users who request it at the same time over two hosts", async () => {
    const beside = auth.anotherInstance();
    for (let round = 0; round < 3; round++) {
      const [one, other] = await Promise.all([asking(), asking(beside)]);
      const key = await unassigned(yubicoKey());
      const answers = await Promise.all([one.assign(key.otp(1)), other.assign(key.otp(2))]);
      const owned = [...((await one.keys()) as string[]), ...((await other.keys()) as string[])];
      expect(owned.length).toBe(answers.filter(({ status }) => status === 200).length);
      expect(owned).toEqual([key.prefix]);
    }
  });

  it.each([
    ["the end of all sessions", "before the password is checked", "sessions/delete"],
    ["a reset", "before the assignment is written", "reset"],
  ])("assigns no key after %s %s, because the session has ended", async (_, when, change) => {
    const user = await auth.makeUser();
    const key = await unassigned(hotpKey());
    const isEarly = when === "before the password is checked";
    let hasEnded = false;
    const end = async (isNow: boolean) => {
      if (hasEnded || !isNow) return;
      hasEnded = true;
      const fields = change === "reset" ? { password: newPassword() } : {};
      expect((await auth.post(`/core/users/${user.id}/${change}`, fields)).status).toBe(204);
    };
    const on = auth.anotherInstance({
      ports: ({ users, otpkeys }) => ({
        users: { ...users, find: userRef => end(isEarly).then(() => users.find(userRef)) },
        otpkeys: { ...otpkeys, save: (...given) => end(!isEarly).then(() => otpkeys.save(...given)) },
      }),
    });
    const headers = withSession(await auth.logIn(user));
    const response = await on.post("/client/otpkeys", { otp: key.otp(1), password: user.password }, headers);
    expect(response).toMatchObject({ status: 401, body: { error: "Session required!" } });
    expect(on.events("self_assignment")).toMatchObject([
      isEarly ? { outcome: "undecided", reason: "unauthenticated" } : { outcome: "refused", reason: "no_user" },
    ]);
    expect((await auth.get(`/core/users/${user.id}/otpkeys`)).body).toEqual([]);
    expect(await failuresOf(user)).toBe(0);
  });

  it("checks the password that the user has when the attempt gets its slot", async () => {
    const user = await auth.makeUser();
    const key = await unassigned(hotpKey());
    const session = await auth.logIn(user);
    const reservations = Array.from({ length: 10 }, (_, n) => ({ id: `${n}`, at: auth.now() }));
    await auth.context.throttles.save(await throttleOf(auth, user), { failures: 0, reservations }, undefined);
    const reset = () => auth.post(`/core/users/${user.id}/reset`, { password: newPassword() });
    const on = auth.anotherInstance({ ports: () => ({ sleep: async () => void (await reset()) }) });
    const sent = { otp: key.otp(1), password: user.password };
    expect((await on.post("/client/otpkeys", sent, withSession(session))).status).toBe(401);
    expect((await auth.get(`/core/users/${user.id}/otpkeys`)).body).toEqual([]);
  });

  it("tells a user who has 256 keys so, and names no field that the caller has not sent", async () => {
    const { user, assign } = await asking();
    const key = await unassigned(hotpKey());
    await fillUser(auth, user, { free: 0 });
    expect(await assign(key.otp(0))).toMatchObject({
      status: 400,
      body: { error: "The user has 256 otpkeys already, the most that a user can have." },
    });
  });

  it("requires a session, and responds 403 unless the deployment allows it", async () => {
    const key = await unassigned(hotpKey());
    expect((await auth.post("/client/otpkeys", { otp: key.otp(0), password: "x" })).status).toBe(401);
    const { assign } = await asking(auth.anotherInstance({ settings: { AUTH_SELF_ASSIGN: "false" } }));
    expect(await assign(key.otp(0))).toMatchObject({
      status: 403,
      body: { error: "Users may not assign otpkeys themselves." },
    });
  });
});
