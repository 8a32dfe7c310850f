import { describe, expect, it } from "vitest";
import { days, plus } from "../../../../lib/platform/time.ts";
import { hotpKey } from "../../../support/auth/software-key.ts";
import { newPassword, testAuth } from "../../../support/auth/test-auth.ts";

const auth = await testAuth();
const [user, { prefix }] = await auth.makeOwner(hotpKey());
const [past, future] = [plus(auth.now(), -days(1)), plus(auth.now(), days(1))];

type Fields = Readonly<Record<string, string>>;

describe("a Core call with several wrong fields names all of them", () => {
  it.each<[string, Fields, readonly string[]]>([
    ["users", { username: "", password: "short", must_change: "maybe" }, ["username", "password", "must_change"]],
    ["users", { username: "/", password: "", must_change: "true" }, ["username", "must_change"]],
    [`users/${user.id}/reset`, { must_change: "maybe" }, ["password", "must_change"]],
    [`users/${user.id}/reset`, { password: "short", must_change: "maybe" }, ["password", "must_change"]],
    [
      `users/${user.id}/reset`,
      { password: newPassword(), must_change: "true", issue_code: "true" },
      ["password", "must_change"],
    ],
    [`users/${user.id}/attributes`, { key: "/", value: "x".repeat(32_769) }, ["key", "value"]],
    [
      `otpkeys/${prefix}/temporary-code`,
      { uses: "0", valid_until: past, end_sessions: "maybe" },
      ["uses", "valid_until", "end_sessions"],
    ],
    [
      `otpkeys/${prefix}/validity`,
      { valid_from: future, valid_until: past, valid_untill: "" },
      ["valid_until", "valid_untill"],
    ],
    [
      "otpkeys",
      { prefix: "-", kind: "hotp", secret: "0g", digits: "5", username: "/" },
      ["prefix", "secret", "digits", "username"],
    ],
    ["api-tokens", { name: " ", expires_at: past, role: "call" }, ["name", "expires_at", "role"]],
  ])("POST /core/%s %j", async (path, fields, names) => {
    const { status, body } = await auth.post(`/core/${path}`, fields);
    expect({ status, names: namedIn(body) }).toEqual({ status: 400, names: names.toSorted() });
  });

  it.each<[string, Fields, readonly string[]]>([
    [
      "users",
      { $top: "0", $skiptoken: "x", $unused_since: future, $no_such: "1" },
      ["$top", "$skiptoken", "$unused_since", "$no_such"],
    ],
    [
      "otpkeys",
      { $top: "0", enabled: "maybe", unused_since: future, no_such: "1" },
      ["$top", "enabled", "unused_since", "no_such"],
    ],
  ])("GET /core/%s %j", async (path, fields, names) => {
    const { status, body } = await auth.get(`/core/${path}`, fields);
    expect({ status, names: namedIn(body) }).toEqual({ status: 400, names: names.toSorted() });
  });

  it("but none that only a wrong field could make wrong", async () => {
    expect((await auth.post(`/core/users/${user.id}/reset`, { issue_code: "yes" })).body).toEqual({
      error: "issue_code must be true or false",
    });
    expect((await auth.post("/core/users", { username: "ada", must_change: "true" })).body).toEqual({
      error: "Missing required parameter(s)! password",
    });
    expect((await auth.get("/core/users", { $prefix: "", $skiptoken: "61-0000000000000001" })).body).toEqual({
      error: "$prefix must not be empty",
    });
  });

  it("also where fields are given twice", async () => {
    expect(await auth.post("/core/users?a=1&a=2&b=1&c=1&c=1", {})).toMatchObject({
      status: 400,
      body: { error: "a must be given once; c must be given once" },
    });
  });
});

/** The fields that an error names. */
function namedIn(body: unknown): readonly string[] {
  const { error } = body as { error: string };
  return error
    .replace("Missing required parameter(s)! ", "")
    .split("; ")
    .map(sentence => sentence.split(" ")[0] ?? "")
    .sort();
}
