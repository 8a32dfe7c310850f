import { describe, expect, it } from "vitest";
import { Fault } from "../../../../lib/platform/fault.ts";
import { minutes } from "../../../../lib/platform/time.ts";
import { hotpKey } from "../../../support/auth/software-key.ts";
import {
  type MadeUser,
  newName,
  newPassword,
  replacing,
  testAuth,
  withSession,
} from "../../../support/auth/test-auth.ts";
import { aroundCalls } from "../../../support/storage/around-calls.ts";

const auth = await testAuth({ settings: { AUTH_IDENTIFY_BY_OTP: "true" } });

const disable = async ({ id }: MadeUser) => expect((await auth.post(`/core/users/${id}/disable`)).status).toBe(204);
const view = async ({ id }: MadeUser) => (await auth.get(`/core/users/${id}`)).body as Record<string, unknown>;

describe("a disabled user", () => {
  it("has no session and no device token any more, and cannot sign in until it is enabled", async () => {
    const user = await auth.makeUser();
    const { name: username, password } = user;
    const first = await auth.post("/client/login", { username, password, remember_device: "true" });
    const { session, device } = first.body as { session: string; device: string };
    const { calls, result } = await auth.counted(() => auth.post(`/core/users/${user.id}/disable`));
    expect(result.status).toBe(204);
    // One read and one write: sessions end by the epoch in the user's row.
    expect(calls).toHaveLength(2);
    expect((await auth.get("/client/status", {}, withSession(session))).status).toBe(401);
    expect(await view(user)).toMatchObject({ enabled: false, name: username });
    const wrong = await auth.post("/client/login", { username, password: "wrong" });
    const right = await auth.post("/client/login", { username, password });
    expect([right.status, right.body]).toEqual([wrong.status, wrong.body]);
    expect((await auth.post("/client/authenticate", { username, password })).body).toBe(false);
    expect(auth.events("authentication").at(-1)).toMatchObject({ outcome: "refused", reason: "disabled" });
    expect((await auth.post(`/core/users/${username}/enable`)).status).toBe(204);
    expect(auth.events("user_disabled").at(-1)).toMatchObject({ userId: user.id });
    expect(auth.events("user_enabled").at(-1)).toMatchObject({ userId: user.id });
    const remembered = { "x-service-device": device };
    expect((await auth.post("/client/login", { username, password }, remembered)).status).toBe(200);
    // The old token is of an ended epoch, so this attempt counted for the username.
    expect(auth.events("authentication").at(-1)).not.toHaveProperty("isOnDevice");
    expect(await view(user)).toMatchObject({ enabled: true });
  });

  it("costs a sign-in as many storage calls as a wrong password, also with an OTP, by name and by OTP", async () => {
    const [[one, oneKey], [other, otherKey]] = [await auth.makeOwner(hotpKey()), await auth.makeOwner(hotpKey())];
    await disable(one);
    const calls = async (fields: Record<string, string>) =>
      (await auth.counted(() => auth.post("/client/authenticate", fields))).calls.length;
    for (const named of [true, false]) {
      const nameOf = ({ name: username }: MadeUser) => (named ? { username } : {});
      const counter = named ? 0 : 1;
      expect(await calls({ ...nameOf(one), password: one.password, otp: oneKey.otp(counter) })).toBe(
        await calls({ ...nameOf(other), password: "wrong", otp: otherKey.otp(counter) }),
      );
    }
    expect(await calls({ username: one.name, password: one.password })).toBe(
      await calls({ username: other.name, password: "wrong" }),
    );
  });

  it("is refused as by a wrong password: attempts lock the username, and a wrong OTP does not count", async () => {
    const own = auth.anotherInstance({ settings: { AUTH_THROTTLE_FAILURES: "2" } });
    const [user, key] = await auth.makeOwner(hotpKey());
    await disable(user);
    const { name: username, password } = user;
    for (let n = 0; n < 2; n++)
      expect((await own.post("/client/authenticate", { username, password, otp: `${key.prefix}000000` })).body).toBe(
        false,
      );
    expect((await own.post("/client/authenticate", { username, password })).status).toBe(429);
    expect((await auth.get(`/core/otpkeys/${key.prefix}`)).body).not.toHaveProperty("failures");
  });

  it("keeps attributes, OTP keys and password, also over a rename and a new password, and stays disabled", async () => {
    const [user, { prefix }] = await auth.makeOwner(hotpKey());
    await auth.post(`/core/users/${user.id}/attributes`, { key: "team", value: "red" });
    await disable(user);
    const name = newName();
    expect((await auth.post(`/core/users/${user.id}/rename`, { username: name })).status).toBe(200);
    await auth.post(`/core/users/${user.id}/reset`, { password: newPassword() });
    const { enabled, attributes, otpkeys } = await view(user);
    expect({ enabled, attributes, otpkeys }).toEqual({
      enabled: false,
      attributes: { team: "red" },
      otpkeys: [prefix],
    });
  });

  it("has its audit event from the repeated call if storage became unavailable after the change was stored", async () => {
    const user = await auth.makeUser();
    let isAway = false;
    const tables = aroundCalls(auth.deployment.tables, async (call, send) => {
      if (isAway) throw new Fault("unavailable", "no storage");
      const result = await send();
      isAway = call.writes;
      if (isAway) throw new Fault("unavailable", "no storage");
      return result;
    });
    const failing = auth.anotherInstance({ ports: () => auth.storeOn(tables) });
    expect((await failing.post(`/core/users/${user.id}/disable`)).status).toBe(503);
    expect(await view(user)).toMatchObject({ enabled: false });
    const ofUser = () => auth.events("user_disabled").filter(({ userId }) => userId === user.id);
    expect(ofUser()).toEqual([]);
    await disable(user);
    expect(ofUser()).toMatchObject([{ changed: false }]);
  });

  it("is disabled once: a repeated call writes nothing", async () => {
    const user = await auth.makeUser();
    await disable(user);
    const { calls } = await auth.counted(() => disable(user));
    expect(calls).toHaveLength(1);
    for (const call of ["disable", "enable"])
      expect((await auth.post(`/core/users/${newName()}/${call}`)).status).toBe(404);
  });

  it("is found by the list filter, with others and with `$prefix`", async () => {
    const [user, other] = [await auth.makeUser(), await auth.makeUser()];
    await disable(user);
    const listed = async (query: Record<string, string>) =>
      ((await auth.get("/core/users", query)).body as readonly { id: number }[]).map(({ id }) => id);
    const [disabled, active] = [await listed({ $enabled: "false" }), await listed({ $enabled: "true" })];
    expect([disabled.includes(user.id), disabled.includes(other.id)]).toEqual([true, false]);
    expect([active.includes(user.id), active.includes(other.id)]).toEqual([false, true]);
    expect(await listed({ $enabled: "false", $prefix: user.name })).toEqual([user.id]);
    expect(await listed({ $enabled: "true", $prefix: user.name })).toEqual([]);
  });
});

describe("the view of a user", () => {
  const refusalOf = async (user: MadeUser) => (await view(user)).last_refusal;

  it("has the time and the reason of the last refused sign-in until it is unlocked", async () => {
    const [user, key] = await auth.makeOwner(hotpKey());
    const { name: username, password } = user;
    expect(await view(user)).not.toHaveProperty("last_refusal");
    const far = key.otp(50);
    // No code of the key, now or after a resynchronisation.
    const codes = new Set(Array.from({ length: 1_000 }, (_, counter) => key.otp(counter)));
    const wrong = [0, 1, 2, 3].map(digit => `${key.prefix}${`${digit}`.repeat(6)}`).find(otp => !codes.has(otp)) ?? "";
    const [, another] = await auth.makeOwner(hotpKey());
    const wrongOtp = (otp_outcome: string, otpkey?: string) => ({
      reason: "wrong_otp",
      otp_outcome,
      ...(otpkey && { otpkey }),
    });
    for (const [fields, refusal] of [
      [{ password: "wrong", otp: key.otp(0) }, { reason: "wrong_password" }],
      [{ password }, { reason: "no_otp" }],
      [{ password, otp: wrong }, wrongOtp("invalid", key.prefix)],
      [{ password, otp: key.otp(0) }, wrongOtp("replayed", key.prefix)],
      [{ password, otp: another.otp(0) }, wrongOtp("not_assigned", another.prefix)],
      [{ password, otp: "my holiday 2026" }, wrongOtp("unknown_key")],
      [{ password, otp: far }, wrongOtp("out_of_step", key.prefix)],
    ] as const) {
      auth.advance(minutes(1));
      const at = auth.now();
      await auth.post("/client/authenticate", { username, ...fields });
      expect(await refusalOf(user)).toEqual({ at: expect.any(String), ...refusal });
      expect(((await refusalOf(user)) as { at: string }).at >= at).toBe(true);
    }
    expect((await auth.get(`/core/users/${username}/lock`)).body).toMatchObject({
      last_refusal: { reason: "wrong_otp", otp_outcome: "out_of_step", otpkey: key.prefix },
    });
    await auth.logIn(user, key.otp(51));
    expect(await view(user)).toMatchObject({ last_refusal: { reason: "wrong_otp" }, last_login: expect.any(String) });
    await auth.post(`/core/users/${username}/unlock`);
    expect(await view(user)).not.toHaveProperty("last_refusal");
  });

  it("also of one on a remembered device, which locks the device alone", async () => {
    const [user, key] = await auth.makeOwner(hotpKey());
    const { name: username, password } = user;
    const { body } = await auth.post("/client/login", {
      username,
      password,
      otp: key.otp(0),
      remember_device: "true",
    });
    const headers = { "x-service-device": (body as { device: string }).device };
    await auth.post("/client/authenticate", { username, password: "wrong" }, headers);
    expect(auth.events("authentication").at(-1)).toMatchObject({ isOnDevice: true });
    expect(await refusalOf(user)).toMatchObject({ reason: "wrong_password" });
    await auth.post("/client/authenticate", { username, password, otp: key.otp(0) }, headers);
    const refusal = { reason: "wrong_otp", otp_outcome: "replayed", otpkey: key.prefix };
    expect(await refusalOf(user)).toMatchObject(refusal);
    expect((await auth.get(`/core/users/${username}/lock`)).body).toMatchObject({ failures: 0 });
  });

  it("logs that the refusal on a device could not be recorded, and refuses as always", async () => {
    const on = auth.anotherInstance({
      ports: replacing("throttles", real => ({
        save: async (throttle, ...rest) => {
          if (throttle.key.kind === "name") throw new Fault("unavailable", "no storage");
          return real.save(throttle, ...rest);
        },
      })),
    });
    const user = await auth.makeUser();
    const { name: username, password } = user;
    const { body } = await auth.post("/client/login", { username, password, remember_device: "true" });
    const headers = { "x-service-device": (body as { device: string }).device };
    expect((await on.post("/client/authenticate", { username, password: "wrong" }, headers)).body).toBe(false);
    expect(on.events("refusal_not_recorded")).toHaveLength(1);
  });

  it("says until when the username is locked", async () => {
    const own = auth.anotherInstance({ settings: { AUTH_THROTTLE_FAILURES: "1" } });
    const user = await auth.makeUser();
    await own.post("/client/authenticate", { username: user.name, password: "wrong" });
    expect((await own.get(`/core/users/${user.name}`)).body).toMatchObject({ locked_until: expect.any(String) });
    expect(await view(user)).not.toHaveProperty("locked_until");
  });
});
