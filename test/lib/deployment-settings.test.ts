import { describe, expect, it } from "vitest";
import { deploymentSettings, inAzure } from "../../lib/deployment-settings.ts";
import { BadSettings, type Environment, readSettings } from "../../lib/settings.ts";

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

describe("the surfaces of a deployment (decision G1)", () => {
  it("are none where the setting is missing or empty", () => {
    expect(read({}).SERVICE_APIS).toEqual([]);
    expect(read({ SERVICE_APIS: " " }).SERVICE_APIS).toEqual([]);
  });

  it("are those that are named, each once", () => {
    expect(read({ SERVICE_APIS: "connector, core,connector" }).SERVICE_APIS).toEqual(["core", "connector"]);
  });

  it("are refused where one is unknown: a mistyped name must not silently serve nothing", () => {
    expect(wrong({ SERVICE_APIS: "conector" })).toEqual([
      { path: "SERVICE_APIS", reason: "must name core, client, connector only" },
    ]);
  });
});

describe("the paths of the surfaces (decision G2)", () => {
  it("are those of the specifications by default", () => {
    expect(read({})).toMatchObject({ CORE_PATH: "core", CLIENT_PATH: "client", CONNECTOR_PATH: "" });
  });

  it.each([
    ["/fido/keys/", "fido/keys"],
    ["a-b/c_d.e~1", "a-b/c_d.e~1"],
  ])("may be %s", (given, path) => {
    expect(read({ CONNECTOR_PATH: given }).CONNECTOR_PATH).toBe(path);
  });

  it.each(["a//b", "{a}", "a b", "a?b", "a%2Fb", "ä", "*"])(
    "are refused where a route can not hold them: %s",
    given => {
      expect(wrong({ CORE_PATH: given })).toEqual([
        { path: "CORE_PATH", reason: "must be path segments of letters, digits, . _ ~ -" },
      ]);
    },
  );
});

describe("a deployment", () => {
  it("runs in Azure unless storage is reached by a key", () => {
    expect(inAzure(read({}))).toBe(true);
    expect(inAzure(read({ CLOUD_STORAGE_CONNECTION_STRING: "UseDevelopmentStorage=true" }))).toBe(false);
  });

  it("has the decided intervals by default (decisions G3, G11)", () => {
    expect(read({})).toMatchObject({
      SECRETS_MAX_AGE_SECONDS: 300_000,
      SECRETS_REFRESH_SECONDS: 60_000,
      HEALTH_MAX_AGE_SECONDS: 10_000,
    });
  });

  it("accepts no token unless it is told which (decision G3)", () => {
    expect(read({})).toMatchObject({ CALLER_AUDIENCES: [], CALLER_ISSUERS: [], CALLER_STATIC_TOKENS: false });
  });

  it("must know its vault", () => {
    expect(wrong({ CLOUD_KEY_VAULT_ENDPOINT: "" })).toEqual([
      { path: "CLOUD_KEY_VAULT_ENDPOINT", reason: "must be set" },
    ]);
  });
});
