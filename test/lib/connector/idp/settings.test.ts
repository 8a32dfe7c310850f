import { describe, expect, test } from "vitest";
import { idpKinds, readIdp } from "../../../../lib/connector/idp/kinds.ts";
import { least, textsOf } from "./idp-tools.ts";

const settingsOf = (type: string) => {
  const { type: _, ...given }: Record<string, unknown> = least[type as keyof typeof least]("https://idp.example");
  const kind = idpKinds.find(each => each.type === type);
  if (kind === undefined) throw new Error(`no kind ${type}`);
  const parse = (values: object) => readIdp(kind, textsOf({ ...given, ...values }));
  const wrong = (values: object) => {
    const read = parse(values);
    return "type" in read ? "fine" : read.map(({ path }) => path);
  };
  return { given, parse, wrong };
};

const noSegments = ["", "a/b", "a?b", "a b", "a#"];
const noUrls = [
  "http://idp.example",
  "http://localhost.example",
  "https://user:secret@idp.example",
  "https://idp.example?x",
  "https://idp.example#",
  "ftp://127.0.0.1",
  "idp.example",
  "",
];
const urls = ["https://idp.example/", "http://127.0.0.1:7001", "http://localhost:1", "http://[::1]:1/"];

// idp-file.test.ts has the defaults.
test.each<[type: string, key: string, accepted: readonly unknown[], refused: readonly unknown[]]>([
  ["entra", "tenant-id", [], noSegments],
  ["entra", "client-id", [], noSegments],
  ["entra", "challenge-timeout-minutes", [5, 43_200, "60"], [4, 43_201, 5.5, "4", "1e3", "", " 60", true]],
  ["entra", "api-version", ["beta", "v1.0"], ["v2.0"]],
  ["entra", "graph-endpoint", urls, noUrls],
  ["entra", "online-endpoint", urls, noUrls],
  ["pingone", "pre-registration-timeout-days", [1, 365, "30"], [0, 366, 1.5, "", "1e1"]],
  ["pingone", "environment-id", [], noSegments],
  ["pingone", "client-id", [], noSegments],
  ["pingone", "default-relying-party", [], [...noSegments, "Keys.example"]],
  ["pingone", "api-base-url", urls, noUrls],
  ["pingone", "auth-base-url", urls, noUrls],
  ["aic", "realm", ["/bravo"], ["", "a/b", "..", "a?b", "a b"]],
  ["aic", "authentication-header", ["X-Token"], ["", "a b", "a:b", "Content-Type", "accept-api-version", "host"]],
  ["aic", "challenge-timeout-milliseconds", [1000, "300000"], [999, 31_536_000_001, 1000.5, "x"]],
  ["aic", "api-base-url", urls, noUrls],
  ["aic", "auth-base-url", urls, noUrls],
  ["aic", "callback-2", ["HiddenValueCallback"], ["", "TextOutputCallback"]],
  ...["journey", "client-id", "scope", "callback-1", "callback-3", "token-id-1", "token-id-2"].map(
    key => ["aic", key, [], [""]] as [string, string, unknown[], unknown[]],
  ),
])("an IdP of the kind %s has %s in its form only", (type, key, accepted, refused) => {
  const { parse, wrong } = settingsOf(type);
  for (const value of accepted) {
    const parsed = /^\d+$/.test(String(value)) ? Number(value) : String(value).replace(/\/$/, "");
    expect(parse({ [key]: value }), String(value)).toHaveProperty([key], parsed);
  }
  for (const value of refused) expect(wrong({ [key]: value }), String(value)).toEqual([key]);
});

describe.each(idpKinds.map(({ type }) => type))("the settings of the kind %s", type => {
  const { given, wrong } = settingsOf(type);

  test("require all that has no default", () => {
    const withDefault = ["graph-endpoint", "online-endpoint"];
    for (const name of Object.keys(given).filter(key => !withDefault.includes(key)))
      expect(wrong({ [name]: undefined })).toEqual([name]);
  });
});

test("version v1.0 of Microsoft Graph has only challenges of 5 minutes", () => {
  const { parse, wrong } = settingsOf("entra");
  const timeout = ["challenge-timeout-minutes"];
  expect(parse({ "api-version": "v1.0" })).toHaveProperty(timeout, 5);
  expect(wrong({ "api-version": "v1.0", "challenge-timeout-minutes": 5 })).toBe("fine");
  expect(wrong({ "api-version": "v1.0", "challenge-timeout-minutes": 60 })).toEqual(timeout);
});
