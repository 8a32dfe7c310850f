import { describe, expect, it } from "vitest";
import { deploymentSettings, isInAzure } from "../../../../lib/platform/settings/deployment-settings.ts";
import { BadSettings, type Environment, readSettings } from "../../../../lib/platform/settings/read-settings.ts";

const least = {
  CLOUD_KEY_VAULT_ENDPOINT: "https://vault.example",
  CLOUD_TABLES_ENDPOINT: "https://tables.example",
  CLOUD_STORAGE_BLOB_ENDPOINT: "https://blobs.example",
};
const read = (environment: Environment) => readSettings(deploymentSettings, { ...least, ...environment });
const wrong = (environment: Environment) => {
  try {
    read(environment);
    return [];
  } catch (error) {
    return error instanceof BadSettings ? error.problems : [{ path: String(error), reason: "" }];
  }
};

describe("the APIs of a deployment", () => {
  it("are none where the setting is missing or empty", () => {
    expect(read({}).SERVICE_APIS).toEqual([]);
    expect(read({ SERVICE_APIS: " " }).SERVICE_APIS).toEqual([]);
  });

  it("are those that are named, each once", () => {
    expect(read({ SERVICE_APIS: "connector, core,connector" }).SERVICE_APIS).toEqual(["core", "connector"]);
  });

  it("are refused where one is unknown: a mistyped name must not silently serve nothing", () => {
    expect(wrong({ SERVICE_APIS: "conector" })).toEqual([
      { path: "SERVICE_APIS", reason: "must contain only core, client, connector" },
    ]);
  });
});

describe("the retention of backups", () => {
  it("is at least a day, because with 0 a backup would delete itself", () => {
    expect(read({ BACKUP_KEEP_DAYS: "1" }).BACKUP_KEEP_DAYS).toBe(1);
    const reason = "must be a whole number from 1 to 36500";
    expect(wrong({ BACKUP_KEEP_DAYS: "0" })).toEqual([{ path: "BACKUP_KEEP_DAYS", reason }]);
  });
});

describe("the paths of the APIs", () => {
  it.each(["admin", "Administration/core", "/runtime", "RuntimeX"])(
    "are not %s, which the host keeps for itself",
    path => {
      const reason = "must not begin with admin or runtime: the Functions host reserves these routes";
      for (const name of ["CORE_PATH", "CLIENT_PATH", "CONNECTOR_PATH"]) {
        expect(wrong({ [name]: path })).toEqual([{ path: name, reason }]);
      }
      expect(wrong({ CORE_PATH: "fido/admin" })).toEqual([]);
    },
  );

  it.each([".", "..", "a/../b", "./a", "a/."])("have no dot segments, which a URL removes: %s", path => {
    const reason = "must not have . or .. as a segment: a URL removes it";
    expect(wrong({ CORE_PATH: path })).toEqual([{ path: "CORE_PATH", reason }]);
    expect(wrong({ CORE_PATH: ".well-known/..." })).toEqual([]);
  });

  it.each([
    ["core", "CORE"],
    ["", ""],
    ["fido", "fido/client"],
    ["fido/core", "fido"],
  ])("of two served APIs are not equal or one below the other: %j and %j", (CORE_PATH, CLIENT_PATH) => {
    const paths = { CORE_PATH: CORE_PATH || "/", CLIENT_PATH: CLIENT_PATH || "/" };
    expect(wrong({ SERVICE_APIS: "core,client", ...paths })).toEqual([
      { path: "CLIENT_PATH", reason: "must not equal, contain or be contained in CORE_PATH" },
    ]);
    expect(wrong({ SERVICE_APIS: "client", ...paths })).toEqual([]);
    expect(wrong({ SERVICE_APIS: "core,client", CORE_PATH: "fido/core", CLIENT_PATH: "fido/core2" })).toEqual([]);
  });

  it("are those of the specifications by default", () => {
    expect(read({})).toMatchObject({ CORE_PATH: "core", CLIENT_PATH: "client", CONNECTOR_PATH: "" });
  });

  it.each([
    ["/fido/keys/", "fido/keys"],
    ["a-b/c_d.e~1", "a-b/c_d.e~1"],
  ])("may be %s", (given, path) => {
    expect(read({ CONNECTOR_PATH: given }).CONNECTOR_PATH).toBe(path);
  });

  it.each(["a//b", "{a}", "a b", "a?b", "a%2Fb", "ä", "*"])("are refused where a route cannot hold them: %s", given => {
    expect(wrong({ CORE_PATH: given })).toEqual([
      { path: "CORE_PATH", reason: "must be path segments of letters, digits, . _ ~ -" },
    ]);
  });
});

describe("a deployment", () => {
  it("runs in Azure unless storage is reached by a key", () => {
    expect(isInAzure(read({}))).toBe(true);
    expect(isInAzure(read({ CLOUD_STORAGE_CONNECTION_STRING: "UseDevelopmentStorage=true" }))).toBe(false);
  });

  it("is a local one also if the key is wrong: no problem of an endpoint hides that of the key", () => {
    const connection = { CLOUD_STORAGE_CONNECTION_STRING: "AccountName=a", CLOUD_TABLES_ENDPOINT: "" };
    expect(wrong(connection).map(({ path }) => path)).toEqual(["CLOUD_STORAGE_CONNECTION_STRING"]);
  });

  it("accepts no token unless the settings name which", () => {
    expect(read({})).toMatchObject({ CALLER_AUDIENCES: [], CALLER_ISSUERS: [], CALLER_STATIC_TOKENS: false });
  });

  it.each([
    { CALLER_ISSUERS: "https://issuer.example", CALLER_JWKS_ENDPOINT: "http://jwks.example" },
    { CALLER_ISSUERS: "https://issuer.example" },
  ])("names of the settings that verify tokens the wrong one alone: %o", given => {
    const path = "CALLER_JWKS_ENDPOINT" in given ? "CALLER_JWKS_ENDPOINT" : "CALLER_AUDIENCES";
    expect(wrong({ CALLER_AUDIENCES: "api", ...given }).map(problem => problem.path)).toEqual([path]);
  });

  it("must know its vault", () => {
    expect(wrong({ CLOUD_KEY_VAULT_ENDPOINT: "" })).toEqual([
      { path: "CLOUD_KEY_VAULT_ENDPOINT", reason: "must be set" },
    ]);
  });
});

describe("addresses on the loopback", () => {
  const local = "http://127.0.0.1:10000";

  it.each([
    ...["http://127.0.0.1:1/x", "http://localhost", "HTTP://LOCALHOST:1"],
    ...["http://127.1:1", "http://2130706433", "http:127.0.0.1", "http:\\\\localhost", "http://127.0.0.1?x"],
  ])("are refused in Azure: %s", address => {
    for (const name of [
      "CLOUD_KEY_VAULT_ENDPOINT",
      "CLOUD_TABLES_ENDPOINT",
      "PUBLIC_BASE_URL",
      "CALLER_JWKS_ENDPOINT",
    ]) {
      const reason = "must be an https address: http on the loopback is allowed in local runs only";
      expect(wrong({ [name]: address })).toEqual([{ path: name, reason }]);
    }
  });

  it("are fine where the host is local: storage is reached by account key", () => {
    const connection = { CLOUD_STORAGE_CONNECTION_STRING: "UseDevelopmentStorage=true" };
    expect(wrong({ ...connection, CLOUD_KEY_VAULT_ENDPOINT: local, PUBLIC_BASE_URL: local })).toEqual([]);
  });

  it("are reported with every other problem", () => {
    expect(wrong({ TRUSTED_PROXIES: "x", CLOUD_KEY_VAULT_ENDPOINT: local }).map(({ path }) => path)).toEqual([
      "TRUSTED_PROXIES",
      "CLOUD_KEY_VAULT_ENDPOINT",
    ]);
  });
});
