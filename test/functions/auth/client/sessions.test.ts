import { describe, expect, it, test } from "vitest";
import { minutes, seconds } from "../../../../lib/platform/time.ts";
import { hotpKey } from "../../../support/auth/software-key.ts";
import { replacing, testAuth, withSession } from "../../../support/auth/test-auth.ts";

const auth = await testAuth();
const user = await auth.makeUser();

const cookieName = "__Host-Service-Session";
const withCookie = (session: string, name = cookieName) => ({ cookie: `${name}=${session}` });
const required = { status: 401, body: { error: "Session required!" } };

describe.each(["GET", "POST"] as const)("%s /client/login (specification sections 3 and 4)", method => {
  const login = (fields: Record<string, string>, headers = {}) =>
    auth.call(method, "/client/login", { fields, headers });

  it("answers {session} and sets the session as a cookie", async () => {
    const { status, body, cookies } = await login(user.credentials);
    expect({ status, body }).toEqual({ status: 200, body: { session: expect.any(String) } });
    const { session } = body as { session: string };
    expect(cookies).toEqual([
      { name: cookieName, value: session, path: "/", httpOnly: true, secure: true, sameSite: "Strict" },
    ]);
    expect(await auth.lives(session)).toBe(true);
  });

  it("sets a cookie without Secure, by another name, only where the setting says so", async () => {
    const local = auth.anotherInstance({ settings: { SESSION_COOKIE_SECURE: "false" } });
    const { cookies } = await local.call(method, "/client/login", { fields: user.credentials });
    expect(cookies).toMatchObject([{ name: "Service-Session", secure: false }]);
  });

  test.each([
    ["nothing", {}],
    ["a wrong password", { password: "wrong" }],
    ["a name that no user could have", { username: "a/b" }],
  ])("answers %s with 401, one sentence, no session and no cookie", async (_, fields) => {
    const given = Object.keys(fields).length === 0 ? {} : { ...user.credentials, ...fields };
    expect(await login(given)).toMatchObject({ status: 401, body: { error: "Invalid credentials!" }, cookies: [] });
  });

  it("gives a new value at every login, and ends the session that was presented, by header or cookie", async () => {
    const fields = user.credentials;
    const first = await auth.logIn(user);
    for (const present of [withSession, withCookie]) {
      const before = await auth.logIn(user);
      const { body } = await login(fields, present(before));
      const { session } = body as { session: string };
      expect(session).not.toBe(before);
      expect([await auth.lives(before), await auth.lives(session), await auth.lives(first)]).toEqual([
        false,
        true,
        true,
      ]);
    }
  });

  it("leaves the presented session alone where the login fails", async () => {
    const before = await auth.logIn(user);
    await login({ username: user.name, password: "wrong" }, withSession(before));
    expect(await auth.lives(before)).toBe(true);
  });
});

test.each(["GET", "POST"])(
  "%s /client/status (specification sections 2 and 4) returns exactly the five fields of the session, found by cookie and by header",
  async method => {
    const still = await testAuth({ still: true });
    const [owner, key] = await still.makeOwner(hotpKey());
    const [before, session] = [Date.parse(still.now()) / 1000, await still.logIn(owner, key.otp(0))];
    still.advance(250);
    for (const headers of [withSession(session), withCookie(session)])
      expect(await still.call(method, "/client/status", { headers })).toMatchObject({
        status: 200,
        body: {
          username: owner.name,
          user_id: owner.id,
          prefix: key.prefix,
          _accessed_time: before + 0.25,
          _creation_time: before,
        },
      });
    const plain = await still.makeUser();
    const { body } = await still.get("/client/status", {}, withSession(await still.logIn(plain)));
    expect([Object.keys(body as object).length, body]).toEqual([5, expect.objectContaining({ prefix: null })]);
  },
);

test.each(["logout", "status", "password"])(
  "/client/%s without a valid session (specification section 5) fails with {error: 'Session required!'}",
  async path => {
    const session = await auth.logIn(user);
    const flipped = `${session.slice(0, -1)}${session.endsWith("A") ? "B" : "A"}`;
    for (const headers of [{}, withCookie(session, "Service-Session"), withSession(flipped)])
      for (const method of ["GET", "POST"])
        expect(await auth.call(method, `/client/${path}`, { headers })).toMatchObject({ ...required, cookies: [] });
    expect(await auth.lives(session)).toBe(true);
  },
);

describe.each(["GET", "POST"] as const)("%s /client/logout (specification sections 3 and 4)", method => {
  it("ends the session, answers true and clears the cookie", async () => {
    for (const present of [withSession, withCookie]) {
      const [session, other] = [await auth.logIn(user), await auth.logIn(user)];
      const response = await auth.call(method, "/client/logout", { headers: present(session) });
      expect(response).toMatchObject({ status: 200, body: true });
      expect(response.cookies).toEqual([
        { name: cookieName, value: "", path: "/", httpOnly: true, secure: true, sameSite: "Strict", maxAge: 0 },
      ]);
      expect([await auth.lives(session), await auth.lives(other)]).toEqual([false, true]);
      expect(await auth.call(method, "/client/logout", { headers: present(session) })).toMatchObject(required);
    }
  });
});

it("a session ends when it was idle for an hour, and after a day however much it is used", async () => {
  const own = await testAuth();
  const owner = await own.makeUser();
  const [used, idle] = [await own.logIn(owner), await own.logIn(owner)];
  for (let n = 0; n < 35; n++) {
    own.advance(minutes(40));
    expect(await own.lives(used)).toBe(true);
  }
  expect(await own.lives(idle)).toBe(false);
  own.advance(minutes(40));
  expect(await own.lives(used)).toBe(false);
});

describe("the access time", () => {
  it("is written at most once a minute, and never an earlier one", async () => {
    const own = await testAuth({ still: true });
    const session = await own.logIn(await own.makeUser());
    const writes = async (passedMs: number) => {
      own.advance(passedMs);
      const { calls } = await own.counted(() => own.get("/client/status", {}, withSession(session)));
      return calls.filter(call => !call.startsWith("GET")).length;
    };
    expect(await writes(seconds(60) - 1)).toBe(0);
    expect(await writes(1)).toBe(1);
    expect(await writes(-minutes(5))).toBe(0);
  });

  it("is never written into a session that a logout ended meanwhile", async () => {
    const own = await testAuth();
    const session = await own.logIn(await own.makeUser());
    const racing = own.anotherInstance({
      ports: replacing("sessions", sessions => ({
        save: async (...given) => {
          await own.post("/client/logout", {}, withSession(session));
          return sessions.save(...given);
        },
      })),
    });
    own.advance(minutes(2));
    await racing.get("/client/status", {}, withSession(session));
    expect(await own.lives(session)).toBe(false);
  });
});
