import * as fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { client, core } from "../../../functions/auth/routes.ts";
import { hotpKey, type SoftwareKey } from "../../support/auth/software-key.ts";
import { type MadeUser, testAuth } from "../../support/auth/test-auth.ts";

let user: MadeUser;
let key: SoftwareKey;
let session: string;

const auth = await testAuth({
  settings: { AUTH_THROTTLE_FAILURES: "100", AUTH_IDENTIFY_BY_OTP: "true", AUTH_SELF_ASSIGN: "true" },
});

/** Anew for every route: some take away what they find. */
beforeEach(async () => {
  user = await auth.makeUser();
  session = await auth.logIn(user);
  key = await auth.giveKey(user, hotpKey());
});

const routes = [
  ...Object.values(core.endpoints).flatMap(({ routes }) => routes.map(route => route.replace(" /", " /core/"))),
  ...Object.values(client.endpoints).flatMap(({ routes }) => routes.map(route => route.replace(" /", " /client/"))),
].filter(route => !route.includes("/api-tokens"));

const names = [
  ..."username password otp newpass oldpass key value otpkey otpkeys prefix kind secret secret_base32".split(" "),
  ..."private_id digits counter period algorithm valid_from valid_until uses replace $top $skiptoken".split(" "),
  ...["__proto__", ""],
];

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.string({ unit: "grapheme-composite", maxLength: 20 }),
  fc.constantFrom(
    "",
    "'",
    "%",
    "%2F",
    "..",
    "\u0000",
    "__proto__",
    "9007199254740993",
    "-1",
    "hotp",
    "yubico",
    "true",
    "ffffffffffffffffffffffffffffffff",
    "cccccccccccc123456",
    "x".repeat(1024),
    "\u{1f511}".repeat(300),
  ),
);
const json = fc.oneof(text, fc.jsonValue({ maxDepth: 2 }));
const fields = <T>(value: fc.Arbitrary<T>) =>
  fc.dictionary(fc.oneof(fc.constantFrom(...names), text), value, { maxKeys: 5 });

/** What lies in the path: now and then who or what is there. */
const segment = fc.oneof(
  text,
  fc.constantFrom("the user", "the key").map(there => there),
);
const sent = fc.record({
  segments: fc.array(segment, { minLength: 3, maxLength: 3 }),
  query: fields(text),
  body: fc.oneof(
    fields(text).map(form => ({
      type: "application/x-www-form-urlencoded",
      body: new URLSearchParams(form).toString(),
    })),
    fields(json).map(value => ({ type: "application/json", body: JSON.stringify(value) })),
    fc.uint8Array({ maxLength: 60 }).map(body => ({ type: "application/json", body })),
    fc.tuple(text, text).map(([type, body]) => ({ type: type.replace(/[^ -~]/g, "").trim(), body })),
  ),
});

describe("any input", () => {
  it.each(routes)("%s never answers 500", async route => {
    const [method = "", template = ""] = route.split(" ");
    await fc.assert(
      fc.asyncProperty(sent, async ({ segments, query, body: { type, body } }) => {
        const rest = [...segments];
        const path = template.replace(/\{(\w+)\}/g, () => {
          const next = rest.shift() ?? "";
          return (
            encodeURIComponent({ "the user": user.name, "the key": key.prefix }[next] ?? next.toWellFormed()) || "x"
          );
        });
        const well = Object.fromEntries(Object.entries(query).map(([k, v]) => [k.toWellFormed(), v.toWellFormed()]));
        const { status, body: reply } = await auth.call(method, `${path}?${new URLSearchParams(well)}`, {
          headers: { "x-service-session": session, ...(method === "POST" && { "content-type": type }) },
          ...(method === "POST" && { body }),
        });
        expect([200, 201, 204, 400, 401, 404, 409, 415, 429]).toContain(status);
        if (status >= 400 && reply !== undefined) expect(reply).toEqual({ error: expect.any(String) });
      }),
      { numRuns: 12 },
    );
  });

  it("and the log has no failure", () => {
    expect(auth.lines.length).toBeGreaterThan(routes.length * 3);
    expect([...auth.events("failed"), ...auth.events("unavailable")]).toEqual([]);
  });
});
