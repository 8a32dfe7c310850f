import { createHash, randomBytes } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cookieOf, readPresented } from "../../../../functions/auth/client/sessions.ts";
import { createSession, isLive, sessionKey } from "../../../../lib/auth/sessions/sessions.table.ts";
import { hourOf, hours, plus } from "../../../../lib/platform/time.ts";
import { forAll } from "../../../support/for-all.ts";

const now = "2031-01-01T12:34:56.789Z";
const user = { id: 42, epoch: 3 };
const random = (bytes: number) => new Uint8Array(randomBytes(bytes));
const create = (options: { prefix?: string; at?: string } = {}) =>
  createSession(user, options.prefix, options.at ?? now, { absoluteMs: hours(24), random });
const limits = { idleMs: hours(1) };

describe("a session's value", () => {
  it("is opaque, and has 32 random bytes that are new each time", () => {
    const [one, other] = [create().value, create().value];
    expect(one).toMatch(/^2031-01-02T12\.42\.[\w-]{43}$/);
    expect(one.slice(-43)).not.toBe(other.slice(-43));
  });

  it("takes all its randomness from what it is given", () => {
    const asked: number[] = [];
    const zeros = (bytes: number) => {
      asked.push(bytes);
      return new Uint8Array(bytes);
    };
    const { value } = createSession(user, undefined, now, { absoluteMs: hours(24), random: zeros });
    expect(asked).toEqual([32]);
    expect(value.slice(-43)).toBe("A".repeat(43));
  });

  it("holds what finds the session and its user; of itself only the SHA-256 of the whole is stored", () => {
    const { value, key, session } = create();
    expect(key).toEqual({
      userId: 42,
      hour: "2031-01-02T12",
      hash: createHash("sha256").update(value).digest("base64url"),
    });
    expect(sessionKey(value)).toEqual(key);
    for (const stored of [JSON.stringify(key), JSON.stringify(session)]) {
      expect(stored).not.toContain(value);
      expect(stored).not.toContain(value.slice(-43));
    }
  });

  it("with any character changed is another session's or none", () => {
    const { value, key } = create();
    forAll(fc.tuple(fc.nat(59), fc.constantFrom(..."Az09-_")), ([place, character]) => {
      const changed = value.slice(0, place) + character + value.slice(place + 1);
      if (changed !== value) expect(sessionKey(changed)?.hash).not.toBe(key.hash);
    });
  });

  const random43 = "A".repeat(43);
  it.each([
    "",
    random43,
    `2031-01-02T12.42.${random43}A`,
    `2031-01-02T12.42.${random43.slice(1)}`,
    `2031-01-02T12.42.${random43.slice(1)}=`,
    `2031-01-02T12.0.${random43}`,
    `2031-01-02T12.9007199254740992.${random43}`,
    `12031-01-02T12.42.${random43}`,
    `2031-01-02T12.42.${"é".repeat(43)}`,
  ])("is not %j", value => {
    expect(sessionKey(value)).toBeUndefined();
  });

  it("finds its session in an hour that clean-up drops only when the session has expired", () => {
    forAll(fc.integer({ min: 0, max: 4e12 }), epochMs => {
      const { key, session } = create({ at: new Date(epochMs).toISOString() });
      expect(key.hour >= hourOf(plus(session.expiresAt, -1))).toBe(true);
      expect(key.hour < hourOf(plus(session.expiresAt, hours(1)))).toBe(true);
    });
  });
});

describe("a session", () => {
  const { session } = create({ prefix: "dteffuje" });

  it("begins with the user's epoch and the key's prefix, none where no OTP was used", () => {
    expect(session).toEqual({
      userId: 42,
      epoch: 3,
      prefix: "dteffuje",
      createdAt: now,
      accessedAt: now,
      expiresAt: plus(now, hours(24)),
    });
    expect("prefix" in create().session).toBe(false);
  });

  it("lives for an hour without use, to the millisecond", () => {
    expect(isLive(session, user, plus(now, hours(1) - 1), limits)).toBe(true);
    expect(isLive(session, user, plus(now, hours(1)), limits)).toBe(false);
  });

  it("lives for a day however much it is used, to the millisecond", () => {
    const used = { ...session, accessedAt: plus(now, hours(24) - 1) };
    expect(isLive(used, user, plus(now, hours(24) - 1), limits)).toBe(true);
    expect(isLive(used, user, plus(now, hours(24)), limits)).toBe(false);
  });

  it("of another epoch, of a user who is gone, or of the name's next owner is none", () => {
    expect(isLive(session, { ...user, epoch: user.epoch + 1 }, now, limits)).toBe(false);
    expect(isLive(session, { ...user, epoch: 2 }, now, limits)).toBe(false);
    expect(isLive(session, { ...user, id: 43 }, now, limits)).toBe(false);
  });
});

describe("the session cookie", () => {
  it("is bound to the host and to TLS, and out of reach for scripts and other sites", () => {
    const common = { path: "/", httpOnly: true, sameSite: "Strict" };
    const secure = { ...common, name: "__Host-Service-Session", secure: true };
    expect(cookieOf("Session", "value", true)).toEqual({ ...secure, value: "value" });
    expect(cookieOf("Session", "", true, 0)).toEqual({ ...secure, value: "", maxAge: 0 });
    const local = { ...common, name: "Service-Session", value: "value", secure: false };
    expect(cookieOf("Session", "value", false)).toEqual(local);
  });
});

describe("the session that a request presents", () => {
  const sessionOf = (headers: Record<string, string>, secure = true) =>
    readPresented("Session", new Headers(headers), secure);

  it.each([
    [{}, undefined],
    [{ "x-service-session": "h" }, "h"],
    [{ "X-Service-Session": " h " }, "h"],
    [{ cookie: "__Host-Service-Session=c" }, "c"],
    [{ cookie: "a=b; __Host-Service-Session=c;d=e" }, "c"],
    [{ "x-service-session": "h", cookie: "__Host-Service-Session=c" }, "h"],
    [{ "x-service-session": "", cookie: "__Host-Service-Session=c" }, "c"],
    [{ "x-service-session": " ", cookie: "__Host-Service-Session=" }, undefined],
    [{ cookie: 'a=b; x__Host-Service-Session=no;__Host-Service-Session=c ; z="q;w"' }, "c"],
    [{ cookie: "a=b,__Host-Service-Session=c" }, "c"],
    [{ cookie: "__Host-Service-Session=c,a=b; c=d" }, "c"],
    [{ cookie: "a=b; c=d, __Host-Service-Session=c, e=f; g=h" }, "c"],
    [{ cookie: "theme=a,__Host-Service-Session=foreign; __Host-Service-Session=c" }, "c"],
    [{ cookie: "Service-Session=c" }, undefined],
    [{ cookie: "x__Host-Service-Session=c" }, undefined],
    [{ cookie: "__Host-Service-Session" }, undefined],
  ])("of %j is %j", (headers, value) => {
    expect(sessionOf(headers as Record<string, string>)).toBe(value);
  });

  it("is in the other cookie in a local run without TLS", () => {
    expect(sessionOf({ cookie: "__Host-Service-Session=a; Service-Session=c" }, false)).toBe("c");
  });
});
