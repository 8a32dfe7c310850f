import { describe, expect, test } from "vitest";
import { settings } from "../../../../../lib/connector/idp/entra/settings.ts";

const least = { type: "entra", "tenant-id": "tenant.example", "client-id": "3f2b" };
const timeout = ["challenge-timeout-minutes"];
const parse = (values: Record<string, unknown>) => settings.safeParse({ ...least, ...values });
const wrong = (values: Record<string, unknown>) => parse(values).error?.issues.flatMap(({ path }) => path) ?? "fine";

describe("the settings of an IdP of kind B", () => {
  test("require the two ids and have a default for the rest", () => {
    expect(settings.parse(least)).toEqual({
      ...least,
      "graph-endpoint": "https://graph.microsoft.com",
      "online-endpoint": "https://login.microsoftonline.com",
      "api-version": "beta",
      "challenge-timeout-minutes": 20_160,
      "default-relying-party": "login.microsoft.com",
      "managed-identity": false,
    });
    expect(wrong({ "tenant-id": undefined, "client-id": undefined })).toEqual(["tenant-id", "client-id"]);
  });

  test("allow a challenge of 5 to 43200 whole minutes", () => {
    for (const minutes of [5, 43_200, "60"]) {
      expect(parse({ "challenge-timeout-minutes": minutes }).data).toHaveProperty(timeout, Number(minutes));
    }
    for (const minutes of [4, 43_201, 5.5, "4", "1e3", "", " 60", true]) {
      expect(wrong({ "challenge-timeout-minutes": minutes })).toEqual(["challenge-timeout-minutes"]);
    }
  });

  test("allow only a challenge of 5 minutes with version v1.0", () => {
    expect(parse({ "api-version": "v1.0" }).data).toHaveProperty(timeout, 5);
    expect(parse({ "api-version": "v1.0", "challenge-timeout-minutes": 5 }).success).toBe(true);
    expect(wrong({ "api-version": "v1.0", "challenge-timeout-minutes": 60 })).toEqual(["challenge-timeout-minutes"]);
    expect(wrong({ "api-version": "v2.0" })).toEqual(["api-version"]);
  });

  test.each(["graph-endpoint", "online-endpoint"])("accept https for the %s, and http on the loopback only", name => {
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

  test("reject ids that would change the address of the tenant", () => {
    for (const id of ["", "a/b", "a?b", "a b", "a#"]) {
      expect(wrong({ "tenant-id": id })).toEqual(["tenant-id"]);
      expect(wrong({ "client-id": id })).toEqual(["client-id"]);
    }
  });

  test("reject unknown keys and other kinds", () => {
    const { error } = parse({ "client-secret": "x", "tenant-di": "y" });
    expect(error?.issues).toMatchObject([{ code: "unrecognized_keys", keys: ["client-secret", "tenant-di"] }]);
    expect(wrong({ type: "other" })).toEqual(["type"]);
  });
});
