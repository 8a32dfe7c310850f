import { describe, expect, it } from "vitest";
import { rememberDevice } from "../../../../lib/auth/sessions/manage-sessions.ts";
import { days, seconds } from "../../../../lib/platform/time.ts";
import {
  type MadeUser,
  newName,
  newPassword,
  replacing,
  type TestAuth,
  testAuth,
  withSession,
} from "../../../support/auth/test-auth.ts";

const auth = await testAuth({ still: true, settings: { AUTH_THROTTLE_FAILURES: "3" } });

const withDevice = (device: string) => ({ "x-service-device": device });
const login = (user: MadeUser, headers: Record<string, string> = {}, password = user.password) =>
  auth.post("/client/login", { username: user.name, password }, headers);

/** Signs in and returns the device token. */
async function remember(user: MadeUser): Promise<string> {
  const { status, body } = await auth.post("/client/login", { ...user.credentials, remember_device: "true" });
  expect(status).toBe(200);
  return (body as { device: string }).device;
}

/** Lets unknown callers lock the username. */
async function lock({ name }: { name: string }): Promise<void> {
  for (let n = 0; n < 3; n++) await auth.post("/client/authenticate", { username: name, password: "wrong" });
  expect(await auth.post("/client/authenticate", { username: name, password: "wrong" })).toMatchObject({ status: 429 });
}

describe("a device token (A23)", () => {
  it("is returned only to a login with remember_device; all other responses are unchanged", async () => {
    const user = await auth.makeUser();
    const plain = await login(user);
    expect([Object.keys(plain.body as object), plain.cookies.map(({ name }) => name)]).toEqual([
      ["session"],
      ["__Host-Service-Session"],
    ]);
    const fields = { ...user.credentials, remember_device: "true" };
    const { body, cookies } = await auth.post("/client/login", fields);
    expect(body).toEqual({
      session: expect.any(String),
      device: expect.stringMatching(/^\d+\.\d+\.[0-7]\.\d+\.[\w-]{43}$/),
    });
    expect(cookies[1]).toMatchObject({
      name: "__Host-Service-Device",
      value: (body as { device: string }).device,
      httpOnly: true,
      secure: true,
      sameSite: "Strict",
      maxAge: 180 * 86_400,
    });
    const refused = await auth.post("/client/login", { ...fields, password: "wrong" });
    expect([refused.status, refused.body, refused.cookies]).toEqual([401, { error: "Invalid credentials!" }, []]);
  });

  it("lets its owner sign in while other callers have locked the username, by header and by cookie", async () => {
    const user = await auth.makeUser();
    const session = await auth.logIn(user);
    const device = await remember(user);
    await lock(user);
    expect((await login(user)).status).toBe(429);
    expect((await login(user, withDevice(device))).status).toBe(200);
    expect((await login(user, { cookie: `__Host-Service-Device=${device}` })).status).toBe(200);
    const answer = await auth.post("/client/authenticate", user.credentials, withDevice(device));
    expect(answer.body).toBe(true);
    expect((await login(user)).status).toBe(429);
    const newpass = newPassword();
    const change = { newpass, oldpass: user.password };
    const headers = { ...withSession(session), ...withDevice(device) };
    expect((await auth.post("/client/password", change, withSession(session))).status).toBe(429);
    expect((await auth.post("/client/password", change, headers)).body).toBe(true);
    // The change has ended the token.
    expect((await login({ ...user, password: newpass }, withDevice(device))).status).toBe(429);
  });

  it("has failures of its own, which do not lock the username; on a locked device attempts count against the username", async () => {
    const user = await auth.makeUser();
    const device = await remember(user);
    const failures = async () =>
      ((await auth.get(`/core/users/${user.id}/lock`)).body as { failures: number }).failures;
    for (let n = 0; n < 3; n++) expect((await login(user, withDevice(device), "wrong")).status).toBe(401);
    expect(await failures()).toBe(0);
    for (let n = 1; n <= 3; n++) {
      expect((await login(user, withDevice(device), "wrong")).status).toBe(401);
      expect(await failures()).toBe(n);
    }
    const { status, headers } = await login(user, withDevice(device));
    expect([status, headers.get("retry-after")]).toEqual([429, "30"]);
    await auth.post(`/core/users/${user.id}/unlock`);
    expect((await login(user, withDevice(device), "wrong")).status).toBe(401);
    expect((await login(user, withDevice(device))).status).toBe(200);
    expect(await failures()).toBe(0);
    // The device is still locked: its own wait ends later.
    await lock(user);
    expect((await login(user, withDevice(device))).status).toBe(429);
    auth.advance(seconds(30));
    await lock(user);
    expect((await login(user, withDevice(device))).status).toBe(200);
  });

  it("has one of 8 throttles of its user, however many tokens are asked for; a renewed token keeps it", async () => {
    const { id } = await auth.makeUser();
    const user = (await auth.context.users.find({ by: "id", id }))?.value;
    if (user === undefined) throw new Error("the user is not there");
    const open = async (token = "") => {
      const device = await auth.context.deviceTokens.open(token, auth.now(), days(1));
      if (device === undefined) throw new Error("the token does not open");
      return { token, throttle: `${device.userId}/${device.epoch}/${device.number}` };
    };
    const given = await Promise.all(
      Array.from({ length: 200 }, async () => open(await rememberDevice(user, undefined, auth.context))),
    );
    expect(new Set(given.map(({ throttle }) => throttle)).size).toBe(8);
    for (const { token, throttle } of given.slice(0, 20)) {
      expect((await open(await rememberDevice(user, token, auth.context))).throttle).toBe(throttle);
    }
    const next = { ...user, epoch: user.epoch + 1 };
    const later = await open(await rememberDevice(next, given[0]?.token, auth.context));
    expect(given.map(({ throttle }) => throttle)).not.toContain(later.throttle);
  });

  it("is ignored with another username, if it is forged, expired or off, and after a change of credentials", async () => {
    const [user, other] = [await auth.makeUser(), await auth.makeUser()];
    const [device, foreign] = [await remember(user), await remember(other)];
    const statusOn = async (on: TestAuth, token: string) =>
      (await on.post("/client/login", user.credentials, withDevice(token))).status;
    // User id, epoch, device number, issue time and HMAC: each part is signed.
    const parts = device.split(".");
    const forged = parts.map((part, index) => {
      const digit = part.startsWith("1") ? "2" : "1";
      return parts.with(index, digit + part.slice(1)).join(".");
    });
    await lock(user);
    for (const token of [foreign, ...forged, `${device}A`, device.slice(1), "x", "\u00e9"])
      expect(await statusOn(auth, token)).toBe(429);
    expect(await statusOn(auth, device)).toBe(200);
    const [off, brief] = ["0", "1"].map(AUTH_DEVICE_DAYS => auth.anotherInstance({ settings: { AUTH_DEVICE_DAYS } }));
    if (off === undefined || brief === undefined) throw new Error("there is no host");
    expect(await statusOn(off, device)).toBe(429);
    const remembered = await off.post("/client/login", { ...other.credentials, remember_device: "true" });
    expect(remembered.body).toEqual({ session: expect.any(String) });
    auth.advance(days(1) - seconds(1));
    await lock(user);
    expect(await statusOn(brief, device)).toBe(200);
    auth.advance(seconds(1));
    await lock(user);
    expect([await statusOn(brief, device), await statusOn(auth, device)]).toEqual([429, 200]);
    await auth.post(`/core/users/${user.id}/sessions/delete`);
    expect(await statusOn(auth, device)).toBe(429);
  });

  it("records no sign-in for a user who is deleted during it over that of the next owner of the name", async () => {
    const user = await auth.makeUser();
    const device = await remember(user);
    let next: MadeUser | undefined;
    const slow = auth.anotherInstance({
      ports: replacing("users", users => ({
        recordLogin: async (...given) => {
          await auth.call("DELETE", `/core/users/${user.id}`);
          next = await auth.makeUser({ name: user.name });
          await auth.logIn(next);
          await users.recordLogin(...given);
        },
      })),
    });
    await slow.post("/client/authenticate", user.credentials, withDevice(device));
    expect((await auth.get(`/core/users/${next?.id}`)).body).toMatchObject({ last_login: auth.now() });
  });

  it("is an audit event when it is issued, and the event of each attempt on the device says so", async () => {
    const user = await auth.makeUser();
    const device = await remember(user);
    await login(user, withDevice(device), "wrong");
    expect(auth.events("device_remembered").at(-1)).toMatchObject({ userId: user.id });
    const who = { userId: user.id, outcome: "refused", isOnDevice: true };
    expect(auth.events("authentication").at(-1)).toMatchObject(who);
    expect(auth.lines.join()).not.toContain(device);
  });

  it("costs no further round trip, and two more reads for any username", async () => {
    const user = await auth.makeUser();
    const device = await remember(user);
    const cost = async (username: string, password: string, headers = {}) => {
      const { sequential, total } = await auth.counted(() =>
        auth.post("/client/authenticate", { username, password }, headers),
      );
      return { sequential, total };
    };
    const own = await cost(user.name, user.password, withDevice(device));
    // The name, its throttle, the user of the device, its throttle; the reservation with its expiry, the user; an OTP key
    // beside the hash; the end, the time of the sign-in.
    expect(own).toEqual({ sequential: 4, total: 10 });
    const [known, unknown] = [(await auth.makeUser()).name, newName()];
    for (const headers of [{}, withDevice(device)]) {
      expect(await cost(known, "wrong", headers)).toEqual(await cost(unknown, "wrong", headers));
    }
    const [without, withIt] = [await cost(newName(), "wrong"), await cost(newName(), "wrong", withDevice(device))];
    expect(withIt).toEqual({ sequential: without.sequential, total: without.total + 2 });
  });
});
