import { describe, expect, test } from "vitest";
import { idpSettings } from "../../../../lib/connector/idp/kinds.ts";

const least = { type: "entra", "tenant-id": "tenant.example", "client-id": "3f2b" };
const timeout = ["challenge-timeout-minutes"];
const parse = (told: Record<string, unknown>) => idpSettings.safeParse({ ...least, ...told });
const wrong = (told: Record<string, unknown>) => parse(told).error?.issues.flatMap(({ path }) => path) ?? "fine";

describe("the settings of an IdP of kind B (decisions C13, C17)", () => {
  test("need the two ids and have a default for the rest", () => {
    expect(idpSettings.parse(least)).toEqual({
      ...least,
      "graph-endpoint": "https://graph.microsoft.com",
      "online-endpoint": "https://login.microsoftonline.com",
      "api-version": "beta",
      "challenge-timeout-minutes": 20_160,
      "default-relying-party": "login.microsoft.com",
    });
    expect(wrong({ "tenant-id": undefined, "client-id": undefined })).toEqual(["tenant-id", "client-id"]);
  });

  test("have a challenge of 5 to 43200 whole minutes", () => {
    for (const minutes of [5, 43_200, "60"]) {
      expect(parse({ "challenge-timeout-minutes": minutes }).data).toHaveProperty(timeout, Number(minutes));
    }
    for (const minutes of [4, 43_201, 5.5, "4", "1e3", "", " 60", true]) {
      expect(wrong({ "challenge-timeout-minutes": minutes })).toEqual(["challenge-timeout-minutes"]);
    }
  });

  test("with version v1.0 have a challenge of 5 minutes, which is all that it knows", () => {
    expect(parse({ "api-version": "v1.0" }).data).toHaveProperty(timeout, 5);
    expect(parse({ "api-version": "v1.0", "challenge-timeout-minutes": 5 }).success).toBe(true);
    expect(wrong({ "api-version": "v1.0", "challenge-timeout-minutes": 60 })).toEqual(["challenge-timeout-minutes"]);
    expect(wrong({ "api-version": "v2.0" })).toEqual(["api-version"]);
  });

  test.each(["graph-endpoint", "online-endpoint"])("take https for the %s, and http to this machine alone", name => {
    for (const address of [
      "https://graph.example/",
      "http://127.0.0.1:7001",
      "http://localhost:1",
      "http://[::1]:1/",
    ]) {
      expect(parse({ [name]: address }).data).toHaveProperty([name], address.replace(/\/$/, ""));
    }
    const others = [
      "http://graph.example",
      "http://localhost.example",
      "https://user:secret@graph.example",
      "https://graph.example?x",
      "https://graph.example#",
      "ftp://127.0.0.1",
      "graph.example",
      "",
    ];
    for (const address of others) expect(wrong({ [name]: address })).toEqual([name]);
  });

  test("refuse ids that would change the address of the tenant", () => {
    for (const id of ["", "a/b", "a?b", "a b", "a#"]) {
      expect(wrong({ "tenant-id": id })).toEqual(["tenant-id"]);
      expect(wrong({ "client-id": id })).toEqual(["client-id"]);
    }
  });

  test("name every key that is not known, and no other kind", () => {
    const { error } = parse({ "client-secret": "x", "tenant-di": "y" });
    expect(error?.issues).toMatchObject([{ code: "unrecognized_keys", keys: ["client-secret", "tenant-di"] }]);
    expect(wrong({ type: "other" })).toEqual(["type"]);
  });
});
