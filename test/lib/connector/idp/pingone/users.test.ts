import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Idp } from "../../../../../lib/connector/idp/contract.ts";
import type { PingOne } from "../../../../../local/peers/pingone/pingone.ts";
import { askFor, signal, start, toolsFor, user } from "../idp-tools.ts";

const uuid = "6f1c1a52-2f7e-4f0d-8a57-0c3f3f0f9d11";
let pingone: PingOne;
let idp: Idp;

beforeEach(async () => {
  pingone = await start.pingone();
  idp = toolsFor.pingone(pingone.url).connect();
});
afterEach(() => pingone.close());

const check = async (userId: string, newCredentials?: number) =>
  (await idp.checkUser?.({ userId, newCredentials }, signal)) ?? [];
const found = async (userId: string, newCredentials?: number) =>
  (await check(userId, newCredentials)).map(({ effect, code }) => `${effect} ${code}`);
const writes = () => pingone.requests().filter(({ method, path }) => method !== "GET" && !path.endsWith("/as/token"));

describe.each([
  ["name", user],
  ["id", uuid],
])("the check of a user of PingOne by %s", (by, userId) => {
  test.each([
    ["known", []],
    ["unknown", ["refused user_unknown"]],
    ["disabled", ["warning user_disabled"]],
    ["without_mfa", ["refused mfa_disabled"]],
  ] as const)("finds one who is %s, with one call", async (accountStatus, problems) => {
    pingone.setUser(userId, accountStatus);
    expect(await found(userId)).toEqual(problems);
    expect(pingone.count("GET", /./)).toBe(1);
  });

  test("compares devices with the limit if no creation options are requested, and creates none", async () => {
    for (let n = 0; n < 3; n++) await askFor(idp, userId);
    pingone.resetRequests();
    expect(await found(userId, 2)).toEqual([]);
    expect(await check(userId, 3)).toEqual([
      {
        code: "too_many_credentials",
        effect: "refused",
        message:
          "has 3 devices and would get 3 more, but may have 5: delete some, or raise the maximum in PingOne's MFA settings",
      },
    ]);
    expect(await found(userId)).toEqual([]);
    expect(writes(), by).toEqual([]);
  });

  test("says which roles are missing, and finds what it may read", async () => {
    pingone.settings({ readsSettings: false });
    pingone.setUser(userId, "disabled");
    expect((await check(userId, 1)).map(({ message }) => message)).toEqual([
      "is disabled: enable the user in PingOne, Directory > Users, before the key is used",
      "was not fully checked: grant the worker application the roles Environment Admin and Identity Data Admin",
    ]);
  });

  test("says what could not be checked", async () => {
    pingone.fail({ kind: "refuse", status: 500, path: "/mfaSettings", times: 3 });
    expect(await found(userId, 1)).toEqual(["unchecked not_checked"]);
    pingone.fail({ kind: "nonsense", status: 404, path: "/users", times: 3 });
    expect(await found(userId)).toEqual(["unchecked not_checked"]);
  });
});

test("the check of a name that several users of PingOne have refuses it", async () => {
  const users = [1, 2].map(id => ({ id: String(id), username: user }));
  pingone.fail({ kind: "refuse", status: 200, path: "/users$", body: { _embedded: { users } } });
  expect(await found(user)).toEqual(["refused user_unknown"]);
});
