import { beforeAll, describe, expect, it } from "vitest";
import { days, seconds } from "../../../../lib/time.ts";
import {
  loggedIn,
  type MadeUser,
  makeUser,
  newName,
  newPassword,
  type TestAuth,
  testAuth,
  withSession,
} from "../../../support/auth.ts";

let auth: TestAuth;

beforeAll(async () => {
  auth = await testAuth({ still: true, settings: { AUTH_THROTTLE_FAILURES: "3" } });
});

const withDevice = (device: string) => ({ "x-service-device": device });
const login = (user: MadeUser, headers: Record<string, string> = {}, password = user.password) =>
  auth.post("/client/login", { username: user.name, password }, headers);

/** Signs in and returns the device token. */
async function remember(user: MadeUser, headers: Record<string, string> = {}, on = auth): Promise<string> {
  const fields = { username: user.name, password: user.password, remember_device: "true" };
  const { status, body } = await on.post("/client/login", fields, headers);
  expect(status).toBe(200);
  return (body as { device: string }).device;
}

/** Lets strangers lock the username. */
async function lock({ name }: { name: string }): Promise<void> {
  for (let n = 0; n < 3; n++) await auth.post("/client/authenticate", { username: name, password: "wrong" });
  expect(await auth.post("/client/authenticate", { username: name, password: "wrong" })).toMatchObject({ status: 429 });
}

describe("a device token (A23)", () => {
  it("is returned only to a login with remember_device; all other responses are unchanged", async () => {
    const user = await makeUser(auth);
    const plain = await login(user);
    expect([Object.keys(plain.body as object), plain.cookies.map(({ name }) => name)]).toEqual([
      ["session"],
      ["__Host-Service-Session"],
    ]);
    const fields = { username: user.name, password: user.password, remember_device: "true" };
    const { body, cookies } = await auth.post("/client/login", fields);
    expect(body).toEqual({ session: expect.any(String), device: expect.stringMatching(/^[\w-]{92}$/) });
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
    const user = await makeUser(auth);
    const session = await loggedIn(auth, user);
    const device = await remember(user);
    await lock(user);
    expect((await login(user)).status).toBe(429);
    expect((await login(user, withDevice(device))).status).toBe(200);
    expect((await login(user, { cookie: `__Host-Service-Device=${device}` })).status).toBe(200);
    const answer = await auth.post(
      "/client/authenticate",
      { username: user.name, password: user.password },
      withDevice(device),
    );
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

  it("has failures of its own, which lock the device and not the username", async () => {
    const user = await makeUser(auth);
    const device = await remember(user);
    for (let n = 0; n < 3; n++) expect((await login(user, withDevice(device), "wrong")).status).toBe(401);
    const { status, headers } = await login(user, withDevice(device));
    expect([status, headers.get("retry-after")]).toEqual([429, "30"]);
    expect((await auth.get(`/core/users/${user.id}/lock`)).body).toMatchObject({ failures: 0 });
    expect((await login(user)).status).toBe(200);
    expect((await login(user, withDevice(device))).status).toBe(429);
    auth.advance(seconds(30));
    const renewed = await remember(user, withDevice(device));
    const idOf = (token: string) => Buffer.from(token, "base64url").subarray(21, 37).toString("hex");
    expect(idOf(renewed)).toBe(idOf(device));
    expect(idOf(await remember(user))).not.toBe(idOf(device));
  });

  it("is ignored with another username, after a change of credentials, when it has expired, and when it is forged", async () => {
    const [user, other] = [await makeUser(auth), await makeUser(auth)];
    const device = await remember(user);
    const foreign = await remember(other);
    const bytes = Buffer.from(device, "base64url");
    bytes.writeUInt8(bytes.readUInt8(12) ^ 1, 12);
    await lock(user);
    for (const token of [foreign, bytes.toString("base64url"), `${device}A`, device.slice(1), "x", "\u00e9"]) {
      expect((await login(user, withDevice(token))).status).toBe(429);
    }
    expect((await login(user, withDevice(device))).status).toBe(200);
    const off = auth.anotherInstance({ settings: { AUTH_DEVICE_DAYS: "0" } });
    const fields = { username: user.name, password: user.password };
    expect((await off.post("/client/login", fields, withDevice(device))).status).toBe(429);
    const brief = auth.anotherInstance({ settings: { AUTH_DEVICE_DAYS: "1" } });
    auth.advance(days(1) - seconds(1));
    await lock(user);
    expect((await brief.post("/client/login", fields, withDevice(device))).status).toBe(200);
    auth.advance(seconds(1));
    await lock(user);
    expect((await brief.post("/client/login", fields, withDevice(device))).status).toBe(429);
    expect((await login(user, withDevice(device))).status).toBe(200);
    await auth.post(`/core/users/${user.id}/sessions/delete`);
    expect((await login(user, withDevice(device))).status).toBe(429);
    expect(
      (
        await off.post("/client/login", {
          ...fields,
          username: other.name,
          password: other.password,
          remember_device: "true",
        })
      ).body,
    ).toEqual({
      session: expect.any(String),
    });
  });

  it("is ignored for the next owner of the name", async () => {
    const user = await makeUser(auth);
    const device = await remember(user);
    await auth.call("DELETE", `/core/users/${user.id}`);
    const next = await makeUser(auth, { name: user.name });
    await lock(next);
    expect((await login(next, withDevice(device))).status).toBe(429);
  });

  it("is an audit event when it is issued, and the event of each attempt on the device says so", async () => {
    const user = await makeUser(auth);
    const device = await remember(user);
    await login(user, withDevice(device), "wrong");
    expect(auth.events("device_remembered").at(-1)).toMatchObject({ userId: user.id });
    expect(auth.events("authentication").at(-1)).toMatchObject({ userId: user.id, outcome: "refused", device: true });
    expect(auth.lines.join()).not.toContain(device);
  });

  it("costs no further round trip, and one more read for any username", async () => {
    const user = await makeUser(auth);
    const device = await remember(user);
    const cost = async (username: string, password: string, headers = {}) => {
      const { sequential, total } = await auth.counted(() =>
        auth.post("/client/authenticate", { username, password }, headers),
      );
      return { sequential, total };
    };
    const own = await cost(user.name, user.password, withDevice(device));
    // The user, the throttle of the device, an OTP key; the reservation with its expiry; the end with the time of the
    // sign-in.
    expect(own).toEqual({ sequential: 3, total: 7 });
    const [known, unknown] = [(await makeUser(auth)).name, newName()];
    for (const headers of [{}, withDevice(device)]) {
      expect(await cost(known, "wrong", headers)).toEqual(await cost(unknown, "wrong", headers));
    }
    const [without, withIt] = [await cost(newName(), "wrong"), await cost(newName(), "wrong", withDevice(device))];
    expect(withIt).toEqual({ sequential: without.sequential, total: without.total + 1 });
  });
});
