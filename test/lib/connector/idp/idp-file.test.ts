import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readIdpFile } from "../../../../lib/connector/idp/idp-file.ts";
import { longestIdpFile } from "../../../../lib/connector/idp/kind.ts";
import { vendorHosts } from "../../../../lib/connector/idp/secret-hosts.ts";

const hosts = [...vendorHosts, "*.example"];
const read = (text: string, defaultId = "main") => readIdpFile(Buffer.from(text), defaultId, hosts);
const idpsIn = (text: string, defaultId = "main") => Object.fromEntries(read(text, defaultId).idps ?? []);
const problemsIn = (text: string, defaultId = "main") =>
  (read(text, defaultId).problems ?? []).map(({ path, reason }) => `${path}: ${reason}`);

const entra = "type: entra, tenant-id: t, client-id: c";
const main = `main: { ${entra} }\n`;

describe("a file of several IdPs", () => {
  test("is keyed by IdP id, with the specification's names below, of every kind", () => {
    const file = `
# Identity providers
main:
  type: entra
  tenant-id: tenant.example
  client-id: "5f0c"
  graph-endpoint: https://graph.example/
  online-endpoint: https://login.example
  api-version: beta
  challenge-timeout-minutes: 43200
ping-1:
  type: pingone
  environment-id: e1
  client-id: c1
  api-base-url: https://api.example
  auth-base-url: https://auth.example
  default-relying-party: keys.example
  pre-registration-timeout-days: 14
ping-2:
  type: aic
  api-base-url: https://am.example
  auth-base-url: https://am.example
  realm: alpha
  journey: Register Key
  client-id: connector
  scope: fido
  challenge-timeout-milliseconds: 1209600000
`;
    expect(idpsIn(file)).toEqual({
      main: {
        type: "entra",
        "tenant-id": "tenant.example",
        "client-id": "5f0c",
        "graph-endpoint": "https://graph.example",
        "online-endpoint": "https://login.example",
        "api-version": "beta",
        "challenge-timeout-minutes": 43_200,
        "default-relying-party": "login.microsoft.com",
        "managed-identity": false,
      },
      "ping-1": {
        type: "pingone",
        "environment-id": "e1",
        "client-id": "c1",
        "api-base-url": "https://api.example",
        "auth-base-url": "https://auth.example",
        "default-relying-party": "keys.example",
        "pre-registration-timeout-days": 14,
      },
      "ping-2": {
        type: "aic",
        "api-base-url": "https://am.example",
        "auth-base-url": "https://am.example",
        realm: "alpha",
        journey: "Register Key",
        "client-id": "connector",
        scope: "fido",
        "challenge-timeout-milliseconds": 1_209_600_000,
        "authentication-header": "Authorization",
        "callback-1": "NameCallback",
        "callback-2": "MetadataCallback",
        "callback-3": "HiddenValueCallback",
        "token-id-1": "IDToken1",
        "token-id-2": "IDToken2",
      },
    });
  });

  test.each([
    ["A", "pingone"],
    ["B", "entra"],
    ["C", "aic"],
  ])("may name a kind by the specification's letter: %s is %s", (letter, name) => {
    const rest = {
      pingone: "environment-id: e, default-relying-party: k.example",
      entra: "tenant-id: t",
      aic: "realm: a, journey: j",
    }[name];
    const bases = name === "entra" ? "" : ", api-base-url: https://a.example, auth-base-url: https://b.example";
    expect(idpsIn(`main: { type: ${letter}, client-id: c, ${rest}${bases} }`).main).toMatchObject({ type: name });
  });

  test("has texts only, so that no id becomes a number, a boolean or null", () => {
    const idp = (keys: string) => idpsIn(`main: { type: B, ${keys} }`).main;
    expect(idp("tenant-id: 123e4567, client-id: 0x10")).toMatchObject({ "tenant-id": "123e4567", "client-id": "0x10" });
    expect(idp("tenant-id: true, client-id: null")).toMatchObject({ "tenant-id": "true", "client-id": "null" });
    expect(problemsIn("main: { type: B, tenant-id: , client-id: ~ }")).toEqual([
      "IDP_CONFIGURATION_PATH/main/tenant-id: must be a tenant id or a domain",
      "IDP_CONFIGURATION_PATH/main/client-id: must be an application id",
    ]);
  });

  test("must not have a host that may not get the IdP's secrets", () => {
    expect(
      problemsIn(`main: { ${entra}, graph-endpoint: "https://a.b.example", online-endpoint: https://evil.test }`),
    ).toEqual(
      ["graph-endpoint", "online-endpoint"].map(
        key =>
          `IDP_CONFIGURATION_PATH/main/${key}: must be on a host that IDP_SECRET_HOSTS names: the IdP's secrets are sent there`,
      ),
    );
  });

  test("must contain the default IdP", () => {
    expect(problemsIn(main, "other")).toEqual(["IDP_DEFAULT: is not in IDP_CONFIGURATION_PATH"]);
    expect(problemsIn(main, "constructor")).toEqual(["IDP_DEFAULT: is not in IDP_CONFIGURATION_PATH"]);
    expect(Object.keys(idpsIn(`constructor: { ${entra} }`, "constructor"))).toEqual(["constructor"]);
  });
});

describe("a bad file of several IdPs", () => {
  test("is reported with the path of every wrong key, and without values", () => {
    const file = `
main:
  type: A
  environment-id: e/hunter2
  client-id: c1
  api-base-url: http://hunter2.example
  pre-registration-timeout-days: hunter2
  region: hunter2
aic:
  type: C
  auth-base-url: https://am.example
  realm: [hunter2]
  journey:
  client-id: c1
  client-secret: hunter2
  authentication-header: "hunter 2"
entra:
  type: B
  api-version: hunter2
  challenge-timeout-minutes: 4
  graph-endpoint: https://hunter2@graph.example
kind:
  type: D
none:
list: []
`;
    const at = "IDP_CONFIGURATION_PATH";
    const problems = problemsIn(file);
    expect(problems.toSorted()).toEqual(
      [
        `${at}/main/environment-id: must be an environment id`,
        `${at}/main/api-base-url: must be an https address without credentials, query and fragment`,
        `${at}/main/auth-base-url: must be set`,
        `${at}/main/default-relying-party: must be set`,
        `${at}/main/pre-registration-timeout-days: must be a whole number from 1 to 365`,
        `${at}/main/region: is not a setting of this kind`,
        `${at}/aic/api-base-url: must be set`,
        `${at}/aic/realm: must be one value`,
        `${at}/aic/journey: must not be empty`,
        `${at}/aic/client-secret: must be stored in Key Vault, as idp-aic-client-secret`,
        `${at}/aic/authentication-header: must be the name of a header`,
        `${at}/entra/tenant-id: must be set`,
        `${at}/entra/client-id: must be set`,
        `${at}/entra/api-version: must be one of beta, v1.0`,
        `${at}/entra/challenge-timeout-minutes: must be a whole number from 5 to 43200`,
        `${at}/entra/graph-endpoint: must be an https address without credentials, query and fragment`,
        `${at}/kind/type: must be one of entra, pingone, aic, B, A, C`,
        `${at}/none: must have settings below it`,
        `${at}/list: must have settings below it`,
      ].toSorted(),
    );
    expect(problems.join()).not.toContain("hunter2");
  });

  test("is reported with the missing keys of kind B, unless it has a managed identity", () => {
    expect(problemsIn("main: { type: B }")).toEqual([
      "IDP_CONFIGURATION_PATH/main/tenant-id: must be set",
      "IDP_CONFIGURATION_PATH/main/client-id: must be set",
    ]);
    expect(idpsIn("main: { type: B, managed-identity: true }").main).toMatchObject({ "managed-identity": true });
    expect(problemsIn("main: { type: B, managed-identity: false }")).toHaveLength(2);
    expect(problemsIn(`main: { ${entra}, managed-identity: yes }`)).toEqual([
      "IDP_CONFIGURATION_PATH/main/managed-identity: must be true or false",
    ]);
  });

  test("is one with ids that do not fit the name of a secret, or share one", () => {
    const longest = "a".repeat(109);
    expect(problemsIn(`${longest}: { ${entra} }`, longest)).toEqual([]);
    for (const id of [`${longest}a`, "a_b", "a.b", "a b", "ä", '""', "__proto__"])
      expect(problemsIn(`${main}${id}: { ${entra} }`), id).toEqual([
        expect.stringMatching(/^IDP_CONFIGURATION_PATH\/.*: must have 1 to 109 letters, digits and hyphens/),
      ]);
    expect(problemsIn(`${main}Main: { ${entra} }`)).toEqual([
      "IDP_CONFIGURATION_PATH/Main: differs from another id by case only",
    ]);
  });

  test("has an alias, but no merge key: it is a key like any other", () => {
    for (const table of [`{ ${entra} }`, "{}"])
      expect(problemsIn(`main: &a ${table}\nother: *a\n`)).toEqual(["IDP_CONFIGURATION_PATH: must have no aliases"]);
    expect(problemsIn(`${main}<<: { other: { ${entra} } }`)).toEqual([expect.stringContaining("PATH/<<: must have 1")]);
  });

  test("has a key twice, in any notation", () => {
    expect(problemsIn(`${main}"main": { ${entra} }`)).toEqual([
      "IDP_CONFIGURATION_PATH, line 2, column 1: is there twice",
    ]);
    expect(problemsIn(`main: { ${entra}, type: A }`)).toEqual([
      "IDP_CONFIGURATION_PATH, line 1, column 50: is there twice",
    ]);
  });

  test("is not YAML, not text, or not a table", () => {
    expect(problemsIn("main: 'hunter2")).toEqual([
      expect.stringMatching(/^IDP_CONFIGURATION_PATH, line 1.*: is not YAML$/),
    ]);
    expect(problemsIn(`${main}---\n${main}`)).toEqual([expect.stringContaining("line 2, column 1: is not YAML")]);
    expect(readIdpFile(Uint8Array.of(0x61, 0x3a, 0x20, 0xff), "a", hosts).problems).toEqual([
      { path: "IDP_CONFIGURATION_PATH", reason: "must be text in UTF-8" },
    ]);
    for (const text of ["", "# nothing\n", "main", "- main"])
      expect(problemsIn(text), text).toEqual(["IDP_CONFIGURATION_PATH: must name identity providers by their ids"]);
  });

  test("has more than 256 KiB", () => {
    const long = (length: number) => readIdpFile(Buffer.from(main.padEnd(length, "#")), "main", hosts);
    expect(long(longestIdpFile).problems).toBeUndefined();
    expect(longestIdpFile).toBe(262_144);
    expect(long(longestIdpFile + 1).problems).toEqual([
      { path: "IDP_CONFIGURATION_PATH", reason: "must have at most 256 KiB" },
    ]);
  });

  test("may be anything, and is reported with a limited number of problems", () => {
    expect(problemsIn("[".repeat(20_000)).length).toBeLessThanOrEqual(200);
    const keys = Array.from({ length: 5_000 }, (_, index) => `  k${index}: v\n`).join("");
    expect(problemsIn(`main:\n  type: B\n${keys}`)).toHaveLength(200);
    const names = Array.from({ length: 50_000 }, (_, index) => index.toString(36)).join();
    expect(problemsIn(`{${names}}`)).toHaveLength(200);
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), text => {
        const { idps, problems = [] } = read(text);
        expect(idps === undefined).toBe(problems.length > 0);
      }),
    );
  });
});
