import { describe, expect, it, test, vi } from "vitest";
import type * as z from "zod";
import { listOtpkeys } from "../../../../functions/auth/core/otpkeys.ts";
import { listUsers } from "../../../../functions/auth/core/users.ts";
import { hours } from "../../../../lib/platform/time.ts";
import { hotpKey, newPrefix, type SoftwareKey } from "../../../support/auth/software-key.ts";
import { type MadeUser, newPassword, origin, type TestAuth, testAuth } from "../../../support/auth/test-auth.ts";

const shown = (...some: readonly (MadeUser | undefined)[]) => some.map(user => ({ id: user?.id, name: user?.name }));
const set = (user: MadeUser | undefined, key: string, value: string) =>
  auth.post(`/core/users/${user?.id}/attributes`, { key, value });
const listed = async (query: Record<string, string>, on = auth) => (await on.get("/core/users", query)).body;

/** Follows the links of a list from its first page, and returns all entries. Each page but the last one is full. */
async function paged(on: TestAuth, list: string, query: Record<string, string>): Promise<readonly object[]> {
  const found: object[] = [];
  let path: string | undefined = `/core/${list}?${new URLSearchParams(query)}`;
  while (path !== undefined) {
    const { status, body, headers }: Awaited<ReturnType<TestAuth["get"]>> = await on.call("GET", path);
    const page = body as readonly object[];
    found.push(...page);
    const link = headers.get("link");
    const [, next] = /^<([^>]+)>; rel="next"$/.exec(link ?? "") ?? [];
    expect([status, link === null]).toEqual([200, next === undefined]);
    expect(next?.startsWith(`${origin}/core/${list}?`) ?? true).toBe(true);
    expect(page.length).toBeGreaterThan(0);
    expect(page.length).toBeLessThanOrEqual(Number(query.$top));
    path = next?.slice(origin.length);
  }
  return found;
}

const auth = await testAuth();
const users: MadeUser[] = [];
for (let n = 0; n < 7; n++) users.push(await auth.makeUser());
const [a, b, c] = users;
for (const user of [a, b, c]) await set(user, "team", "red");
for (const user of [b, c]) await set(user, "floor", "2");
await set(c, "team", "Red");
await set(a, "__proto__", "polluted?");
await set(a, "name", "not the username");
for (const user of [b, c]) await auth.post(`/core/users/${user?.id}/otpkeys`, { otpkey: "ccccccccccct" });

describe("GET /core/users (specification section 4)", () => {
  it("lists every user as a plain array of {id, name} in the order of ids", async () => {
    const { status, body, headers } = await auth.get("/core/users");
    expect({ status, body, link: headers.get("link") }).toEqual({ status: 200, body: shown(...users), link: null });
  });

  it("lists users by attributes, matched exactly and joined by AND", async () => {
    expect(await listed({ team: "red" })).toEqual(shown(a, b));
    expect(await listed({ team: "Red" })).toEqual(shown(c));
    expect(await listed({ floor: "2" })).toEqual(shown(b, c));
    expect(await listed({ team: "red", floor: "2" })).toEqual(shown(b));
    expect(await listed({ team: "red", floor: "3" })).toEqual([]);
    expect(await listed({ team: "" })).toEqual([]);
    expect(await listed({ TEAM: "red" })).toEqual([]);
  });

  it("lists users by the prefix of an assigned key, also beside attributes", async () => {
    expect(await listed({ otpkey: "ccccccccccct" })).toEqual(shown(b, c));
    expect(await listed({ otpkey: "CCCCCCCCCCCT" })).toEqual(shown(b, c));
    expect(await listed({ otpkey: "ccccccccccct", team: "red" })).toEqual(shown(b));
    for (const otpkey of ["", "unknown", "no prefix", "x".repeat(33), "'"])
      expect(await listed({ otpkey })).toEqual([]);
  });

  it("reads every other name as the key of an attribute", async () => {
    expect(await listed({ name: users[0]?.name ?? "" })).toEqual([]);
    expect(await listed({ name: "not the username" })).toEqual(shown(users[0]));
    expect(await listed({ id: String(users[0]?.id) })).toEqual([]);
    expect(await listed({ __proto__: "polluted?" })).toEqual(shown(...users));
    expect((await auth.get("/core/users?__proto__=polluted%3F")).body).toEqual(shown(users[0]));
    expect((await auth.get("/core/users?__proto__=other")).body).toEqual([]);
    expect((await auth.get("/core/users?constructor=x")).body).toEqual([]);
    expect((await auth.get("/core/users?a%20b=x&=y")).body).toEqual([]);
  });

  it.each([
    ["too long for a query of storage", "'".repeat(7900)],
    ["too long", "x".repeat(129)],
    ["empty", ""],
    ["with a blank", "a b"],
  ])("looks for no user by an attribute's key that is %s", async (_, key) => {
    for (const fields of [{}, { $prefix: "user" }, { $unused_since: "2026-01-01" }, { otpkey: "ccccccccccct" }]) {
      const query = new URLSearchParams({ ...fields, [key]: "x" });
      const { total, result } = await auth.counted(() => auth.get(`/core/users?${query}`));
      expect([result.status, result.body, total]).toEqual([200, [], 0]);
    }
    expect(auth.errors).toEqual([]);
  });

  it("follows a change of what it is filtered by", async () => {
    await set(a, "shoe", "41");
    await set(a, "shoe", "42");
    expect(await listed({ shoe: "41" })).toEqual([]);
    expect(await listed({ shoe: "42" })).toEqual(shown(a));
    await auth.call("DELETE", `/core/users/${a?.id}/attributes/shoe`);
    expect(await listed({ shoe: "42" })).toEqual([]);
  });

  test.each([{}, { team: "red" }, { otpkey: "ccccccccccct", floor: "2" }])("is paged, filtered by %j", async filter => {
    const all = await listed(filter);
    for (const $top of ["1", "2", "6", "7", "8", "1000"])
      expect(await paged(auth, "users", { ...filter, $top })).toEqual(all);
  });

  it("comes whole without `$top`, however many pages of storage it takes", async () => {
    const paged = auth.anotherInstance({
      ports: ({ users, otpkeys }) => ({
        users: { ...users, list: (range, filter) => users.list({ ...range, top: 1 }, filter) },
        otpkeys: { ...otpkeys, list: range => otpkeys.list({ ...range, top: 1 }) },
      }),
    });
    await auth.post("/core/otpkeys", { prefix: "ccccccccccbb" });
    for (const path of ["/core/users", "/core/users?team=red", "/core/otpkeys"]) {
      const whole = (await auth.get(path)).body as readonly unknown[];
      expect(whole.length).toBeGreaterThan(1);
      const response = await paged.get(path);
      expect([response.body, response.headers.get("link")]).toEqual([whole, null]);
    }
  });

  it("continues from `$skiptoken` to the end without `$top`", async () => {
    expect(await listed({ $skiptoken: String(b?.id) })).toEqual(shown(...users.slice(2)));
  });

  it("links to the next page below PUBLIC_BASE_URL, with or without a slash at the end of the call", async () => {
    const moved = auth.anotherInstance({ settings: { PUBLIC_BASE_URL: "https://keys.example" } });
    const { headers } = await moved.call("GET", "/core/users/?$top=1&team=red");
    expect(headers.get("link")).toBe(
      `<https://keys.example/core/users?%24top=1&team=red&%24skiptoken=${users[0]?.id}>; rel="next"`,
    );
  });

  test.each<[string, string]>([
    ...["0", "1001", "-1", "1.5", "1e2", "", "ten", "99999999999999999999"].map((top): [string, string] => [
      `$top=${top}`,
      "$top must be a number from 1 to 1000",
    ]),
    ["$skiptoken=x", "$skiptoken must be a value from the link to the next page"],
    ["$skiptoken=", "$skiptoken must be a value from the link to the next page"],
    ["$skiptoken=9999999999999999", "$skiptoken must be a value from the link to the next page"],
    ["$top=1&$top=2", "$top must be given once"],
    ["team=red&team=blue", "team must be given once"],
  ])("answers ?%s with 400: no list that only looks filtered or paged", async (query, error) => {
    // Digits and letters are a prefix, where a list of OTP keys can continue.
    for (const list of /skiptoken=\w/.test(query) ? ["users"] : ["users", "otpkeys"]) {
      const { status, body } = await auth.call("GET", `/core/${list}?${query}`);
      expect({ status, body }).toEqual({ status: 400, body: { error } });
    }
  });

  test.each(["$filter", "$TOP", "$", "enable"])(
    "refuses the unknown parameter %s with 400, and names the known ones",
    async name => {
      const known = {
        users: "otpkey, $top, $skiptoken, $prefix, $enabled, $password, $unused_since",
        otpkeys: "$top, $skiptoken, enabled, stopped, assigned, $prefix, unused_since",
      };
      for (const [list, names] of Object.entries(known)) {
        // Of users it is the key of an attribute.
        if (name === "enable" && list === "users") continue;
        const { status, body } = await auth.call("GET", `/core/${list}?${name}=1`);
        const error = `${name} is not known: the call accepts ${names}`;
        expect({ status, body }).toEqual({ status: 400, body: { error } });
      }
    },
  );

  it("builds the schema of its query at most once, however many parameters a query has", async () => {
    for (const [list, { query }] of Object.entries({ users: listUsers, otpkeys: listOtpkeys })) {
      const build = vi.spyOn((query as z.ZodLazy)._zod.def, "getter");
      for (const first of ["enabled", "$enabled"]) {
        const filters = Array.from({ length: 31 }, (_, index) => [`key${index}`, "x"]);
        await auth.get(`/core/${list}`, Object.fromEntries([[first, "true"], ...filters]));
      }
      expect(build.mock.calls.length, list).toBeLessThanOrEqual(1);
      build.mockRestore();
    }
  });

  it("costs storage reads by its matches, not by the number of users", async () => {
    const rare = async () => (await auth.counted(() => auth.get("/core/users", { team: "red", floor: "2" }))).total;
    const before = await rare();
    await Promise.all(Array.from({ length: 20 }, () => auth.makeUser({ password: newPassword() })));
    expect(await rare()).toBe(before);
  });
});

describe("GET /core/otpkeys", () => {
  it("lists all keys as a plain array of {id, prefix, enabled} in the order of prefixes, paged as A11", async () => {
    const own = await testAuth();
    const prefixes = ["a1", "mm", "zz"];
    for (const prefix of prefixes.toReversed()) await own.post("/core/otpkeys", { prefix });
    await own.post("/core/otpkeys/a1/disable");
    const { status, body } = await own.get("/core/otpkeys");
    expect(status).toBe(200);
    expect(body).toEqual(prefixes.map(prefix => ({ id: expect.any(Number), prefix, enabled: prefix !== "a1" })));
    const first = await own.call("GET", "/core/otpkeys?$top=2");
    expect(first.body).toEqual((body as unknown[]).slice(0, 2));
    expect(first.headers.get("link")).toBe(`<${origin}/core/otpkeys?%24top=2&%24skiptoken=mm>; rel="next"`);
    const second = await own.call("GET", `/core/otpkeys?$top=2&$skiptoken=mm`);
    expect([second.body, second.headers.get("link")]).toEqual([(body as unknown[]).slice(2), null]);
  });

  it("lists the OTP keys that match every filter, and bounds the storage calls of a page by what it examines", async () => {
    const own = await testAuth({ still: true, limits: { keyStopFailures: 1 } });
    const user = await own.makeUser();
    const [used, stopped, disabled, unused] = ["a", "b", "c", "d"].map(first =>
      hotpKey({ prefix: first + newPrefix() }),
    ) as [SoftwareKey, SoftwareKey, SoftwareKey, SoftwareKey];
    for (const key of [used, stopped, disabled, unused]) await own.giveKey(user, key);
    own.advance(1);
    const listed = async (fields: Record<string, string>) =>
      ((await own.get("/core/otpkeys", fields)).body as { prefix: string }[]).map(({ prefix }) => prefix);
    const midway = own.now();
    own.advance(hours(48));
    const dayOfUse = own.now().slice(0, 10);
    await own.logIn(user, used.otp(0));
    await own.post("/client/login", { ...user.credentials, otp: `${stopped.prefix}000000` });
    await own.post(`/core/otpkeys/${disabled.prefix}/disable`);
    own.advance(hours(1));
    expect(await listed({ enabled: "false" })).toEqual([disabled.prefix]);
    expect(await listed({ enabled: "true", stopped: "false" })).toEqual([used.prefix, unused.prefix]);
    expect(await listed({ stopped: "true" })).toEqual([stopped.prefix]);
    expect(await listed({ unused_since: dayOfUse })).toEqual([stopped.prefix, disabled.prefix, unused.prefix]);
    const since = midway.replace("Z", "+00:00");
    expect(await listed({ unused_since: since, enabled: "true" })).toEqual([stopped.prefix, unused.prefix]);
    const view = (await own.get(`/core/otpkeys/${stopped.prefix}`)).body;
    expect(view).toMatchObject({ stopped: true, stopped_since: expect.stringMatching(/Z$/), failures: 1 });
    expect(view).not.toHaveProperty("last_used");
    const { total } = await own.counted(() => own.get("/core/otpkeys", { stopped: "true", $top: "1" }));
    expect(total).toBe(1);
    const byState = await own.counted(() => own.get("/core/otpkeys", { enabled: "false", $top: "1" }));
    expect(byState.total).toBe(1);
    await own.post(`/core/otpkeys/${stopped.prefix}/enable`);
    expect((await own.get(`/core/otpkeys/${stopped.prefix}`)).body).toEqual({
      attributes: {},
      prefix: stopped.prefix,
      enabled: true,
      id: expect.any(Number),
      users: [expect.any(Object)],
    });
  });

  test.each([
    ["enabled=yes", "enabled must be true or false"],
    ["stopped=", "stopped must be true or false"],
    [
      "unused_since=yesterday",
      "unused_since must be a date such as 2026-01-31, or a time with its zone such as 2026-01-31T10:00:00Z",
    ],
    [
      "unused_since=2026-02-30",
      "unused_since must be a date such as 2026-01-31, or a time with its zone such as 2026-01-31T10:00:00Z",
    ],
    ["unused_since=2999-01-01", "unused_since must not be in the future"],
    ["unused_since=9999-12-31T23:59:59-01:00", "unused_since must not be in the future"],
  ])("refuses ?%s with 400", async (query, error) => {
    const { status, body } = await auth.call("GET", `/core/otpkeys?${query}`);
    expect([status, body]).toEqual([400, { error }]);
  });
});

describe("GET /core/users?$prefix=", () => {
  const found = async (own: TestAuth, fields: Record<string, string>) =>
    ((await own.get("/core/users", fields)).body as { name: string }[]).map(({ name }) => name);

  it("lists the users whose names begin with the text, ignoring case, sorted by name", async () => {
    const own = await testAuth();
    const family = "\u{1f468}\u0301\u{1f469}".repeat(40);
    const names = [
      "Zoe",
      "zo",
      "ΟΔΟΣ",
      "ΟΔΟΣΑ",
      "e\u0301mile",
      "Émilie",
      "a'b%c&d",
      "a b",
      "İnci",
      family,
      `${family}1`,
    ];
    for (const name of names) await own.makeUser({ name });
    await own.post("/core/users/zo/attributes", { key: "team", value: "red" });
    const prefixes: Record<string, string[]> = {
      z: ["zo", "Zoe"],
      ZO: ["zo", "Zoe"],
      zoe: ["Zoe"],
      zoes: [],
      // The last letter of the first is folded to another sigma than that of the beginning of the second.
      οδοσ: ["ΟΔΟΣ", "ΟΔΟΣΑ"],
      ΟΔΟΣ: ["ΟΔΟΣ", "ΟΔΟΣΑ"],
      οδος: ["ΟΔΟΣ", "ΟΔΟΣΑ"],
      É: ["Émilie", "émile"].toSorted(),
      "E\u0301": ["Émilie", "émile"].toSorted(),
      e: [],
      "a'": ["a'b%c&d"],
      "a'b%": ["a'b%c&d"],
      "a ": ["a b"],
      " a": ["a b", "a'b%c&d"],
      "i\u0307": ["İnci"],
      İ: ["İnci"],
      [family]: [family, `${family}1`],
      [`${family}1`]: [`${family}1`],
      "a/": [],
      "a\\": [],
      "a?": [],
      "a#": [],
      "\u0000": [],
      "%": [],
      _: [],
    };
    for (const [prefix, expected] of Object.entries(prefixes)) {
      const result = await found(own, { $prefix: prefix });
      expect(result.map(name => name.normalize("NFC")).toSorted(), prefix).toEqual(
        expected.map(name => name.normalize("NFC")).toSorted(),
      );
    }
    expect(await found(own, { $prefix: "z" })).toEqual(["zo", "Zoe"]);
    expect(await found(own, { $prefix: "z", team: "red" })).toEqual(["zo"]);
    expect(await found(own, { $prefix: "Zoe", team: "red" })).toEqual([]);
    await own.call("DELETE", "/core/users/zo");
    expect(await found(own, { $prefix: "z" })).toEqual(["Zoe"]);
  });

  it("is paged by links, like every list", async () => {
    const own = await testAuth();
    for (const name of ["page3", "page1", "Page2", "other"]) await own.makeUser({ name });
    const all = await paged(own, "users", { $prefix: "page", $top: "1" });
    expect(all.map(user => (user as { name: string }).name)).toEqual(["page1", "Page2", "page3"]);
    expect(await found(own, { $prefix: "page" })).toEqual(["page1", "Page2", "page3"]);
  });

  test.each([
    ["$prefix=", "$prefix must not be empty"],
    ["$prefix=%20", "$prefix must not be empty"],
    [`$prefix=${"x".repeat(513)}`, "$prefix must have at most 128 characters"],
    ["$prefix=a&$skiptoken=5", "$skiptoken must be a value from the link to the next page"],
    ["$skiptoken=61-0000000000000005", "$skiptoken must be a value from the link to the next page"],
  ])("refuses ?%s with 400", async (query, error) => {
    const { status, body } = await auth.call("GET", `/core/users?${query}`);
    expect([status, body]).toEqual([400, { error }]);
  });
});

describe("last sign-in", () => {
  it("is shown in the view of a user, and filters the list of users, also with attributes", async () => {
    const own = await testAuth({ still: true });
    const active = await own.makeUser();
    own.advance(1);
    const idle = await own.makeUser();
    for (const user of [active, idle])
      await own.post(`/core/users/${user.id}/attributes`, { key: "team", value: "red" });
    const view = async (user: MadeUser) => (await own.get(`/core/users/${user.id}`)).body;
    expect(await view(active)).not.toHaveProperty("last_login");
    own.advance(hours(48));
    const since = own.now();
    await own.post("/client/authenticate", { username: active.name, password: "wrong" });
    expect(await view(active)).not.toHaveProperty("last_login");
    await own.post("/client/authenticate", active.credentials);
    expect(await view(active)).toMatchObject({ last_login: since });
    await own.post(`/core/users/${active.id}/unlock`);
    own.advance(hours(48));
    await own.context.cleanUp();
    expect(await view(active)).toMatchObject({ last_login: since });
    expect(await listed({ $unused_since: since }, own)).toEqual(shown(idle));
    expect(await listed({ $unused_since: since, team: "red" }, own)).toEqual(shown(idle));
    expect(await listed({ $unused_since: since, team: "blue" }, own)).toEqual([]);
    expect(await listed({ $unused_since: own.now() }, own)).toEqual(shown(active, idle));
    expect(await listed({ $unused_since: "2026-01-01" }, own)).toEqual([]);
    const { total } = await own.counted(() => own.get("/core/users", { $unused_since: since, $top: "5" }));
    expect(total).toBe(1);
  });
});
