import { describe, expect, test } from "vitest";
import type { BadSettings } from "../../../../lib/platform/settings/read-settings.ts";
import { readAllSettings } from "../../../../local/deploy/read-all-settings.ts";

const others = {
  SERVICE_APIS: "connector",
  CLOUD_KEY_VAULT_ENDPOINT: "https://vault.example",
  CLOUD_TENANT_ID: "tenant.example",
  CLOUD_TABLES_ENDPOINT: "https://tables.example",
  CLOUD_STORAGE_BLOB_ENDPOINT: "https://blobs.example",
  EMAIL_API_SEND_ENDPOINT: "https://mail.example",
  EMAIL_SENDER_ADDRESS: "keys@example.com",
  DELIVERY_API_BASE_URL: "https://delivery.example",
  DELIVERY_JWKS_SIGN_ENDPOINT: "https://delivery.example/sign",
  DELIVERY_JWKS_TRANSPORT_ENDPOINT: "https://delivery.example/transport",
  IDP_SECRET_HOSTS: "graph.microsoft.com,login.microsoftonline.com,*.ping.example",
};
const kindA = {
  IDPB_ENVIRONMENT: "e1",
  IDPB_DEFAULT_RELYING_PARTY: "keys.example",
  IDPB_AUTH_BASE_URL: "https://auth.ping.example/",
  IDPB_CLIENT_ID: "c1",
  IDPB_API_BASE_URL: "https://api.ping.example/v1",
};
const idpsOf = (variables: Record<string, string>) =>
  Object.fromEntries(readAllSettings({ ...others, ...variables }).connector?.idps.known ?? []);

function problemsOf(variables: Record<string, string>) {
  try {
    return idpsOf(variables);
  } catch (error) {
    return (error as BadSettings).problems.map(({ path, reason }) => `${path}: ${reason}`);
  }
}

describe("single-IdP mode", () => {
  test("reads kind B from IDPA_ settings, and its tenant from the deployment by default", () => {
    const idp = {
      type: "entra",
      "tenant-id": "tenant.example",
      "client-id": "3f2b",
      "api-version": "beta",
      "challenge-timeout-minutes": 20_160,
      "graph-endpoint": "https://graph.microsoft.com",
      "online-endpoint": "https://login.microsoftonline.com",
      "managed-identity": false,
      "default-relying-party": "login.microsoft.com",
    };
    for (const id of ["3f2b", " 3f2b\n"]) expect(idpsOf({ IDPA_FIDO_API_CLIENT_ID: id })).toEqual({ entra: idp });
    expect(idpsOf({ IDPA_FIDO_API_CLIENT_ID: "3f2b", IDPA_TENANT_ID: "other" })).toEqual({
      entra: { ...idp, "tenant-id": "other" },
    });
  });

  test("reads kind A from IDPB_ settings", () => {
    const idp = {
      type: "pingone",
      "environment-id": "e1",
      "default-relying-party": "keys.example",
      "auth-base-url": "https://auth.ping.example",
      "client-id": "c1",
      "api-base-url": "https://api.ping.example/v1",
    };
    expect(idpsOf({ ...kindA, IDP_DEFAULT: "main" })).toEqual({ main: idp });
    expect(idpsOf({ ...kindA, IDP_DEFAULT: "main", IDPB_PRE_REGISTRATION_TIMEOUT_DAYS: "30" })).toEqual({
      main: { ...idp, "pre-registration-timeout-days": 30 },
    });
  });

  test("names every missing and wrong variable of the kind of which any variable is set", () => {
    expect(problemsOf({})).toEqual(["IDPA_FIDO_API_CLIENT_ID: must be set"]);
    expect(problemsOf({ IDPB_CLIENT_ID: "c 1" })).toEqual([
      "IDPB_DEFAULT_RELYING_PARTY: must be set",
      "IDPB_API_BASE_URL: must be set",
      "IDPB_AUTH_BASE_URL: must be set",
      "IDPB_ENVIRONMENT: must be set",
      "IDPB_CLIENT_ID: must be an application id",
    ]);
    expect(problemsOf({ ...kindA, IDPB_API_BASE_URL: "https://api.ping.example?x" })).toEqual([
      "IDPB_API_BASE_URL: must be an https address without credentials, query and fragment",
    ]);
  });

  test("accepts one kind only, and ignores the optional settings of others", () => {
    expect(problemsOf({ ...kindA, IDPA_FIDO_API_CLIENT_ID: "3f2b" })).toEqual([
      "IDP_ENABLE_MULTI_IDP: must be true for several identity providers: entra, pingone are set",
    ]);
    expect(problemsOf({ ...kindA, IDPA_MANAGED_IDENTITY: "true" })).toEqual([
      "IDP_ENABLE_MULTI_IDP: must be true for several identity providers: entra, pingone are set",
    ]);
    const optional = {
      IDPA_FIDO_API_CHALLENGE_TIMEOUT_MINUTES: "20160",
      IDPA_FIDO_API_VERSION: "beta",
      IDPA_MANAGED_IDENTITY: "false",
    };
    expect(idpsOf({ ...kindA, ...optional })).toMatchObject({ entra: { type: "pingone" } });
  });
});

describe("a host to which the secrets of an IdP are sent", () => {
  const elsewhere = (variable: string) =>
    `${variable}: must be on a host that IDP_SECRET_HOSTS names: the IdP's secrets are sent there`;

  test("is checked at the start for every address of the IdP", () => {
    const kindB = { IDPA_FIDO_API_CLIENT_ID: "3f2b" };
    for (const [kind, variable] of [
      [kindB, "IDPA_GRAPH_ENDPOINT"],
      [kindB, "IDPA_ONLINE_ENDPOINT"],
      [{ IDPA_MANAGED_IDENTITY: "true" }, "IDPA_GRAPH_ENDPOINT"],
      [kindA, "IDPB_API_BASE_URL"],
      [kindA, "IDPB_AUTH_BASE_URL"],
    ] as const)
      expect(problemsOf({ ...kind, [variable]: "https://evil.example" })).toEqual([elsewhere(variable)]);
  });

  test("is one of the vendors' own if the setting is not set, and no loopback in Azure", () => {
    expect(idpsOf({ IDPA_FIDO_API_CLIENT_ID: "3f2b", IDP_SECRET_HOSTS: "" })).toMatchObject({
      entra: { type: "entra" },
    });
    expect(problemsOf({ ...kindA, IDP_SECRET_HOSTS: "" })).toEqual(
      ["IDPB_API_BASE_URL", "IDPB_AUTH_BASE_URL"].map(elsewhere),
    );
    const loopback = {
      ...kindA,
      IDPB_API_BASE_URL: "http://127.0.0.1:7001",
      IDP_SECRET_HOSTS: "*.ping.example,127.0.0.1:7001",
    };
    expect(problemsOf(loopback)).toEqual([
      "IDPB_API_BASE_URL: must be an https address: http on the loopback is allowed in local runs only",
    ]);
    const local = { CLOUD_STORAGE_CONNECTION_STRING: "UseDevelopmentStorage=true" };
    expect(problemsOf({ ...loopback, ...local })).toMatchObject({ entra: { "api-base-url": "http://127.0.0.1:7001" } });
    // A value that is set binds on the local machine too.
    expect(problemsOf({ ...kindA, ...local, IDPB_API_BASE_URL: "http://127.0.0.1:7001" })).toEqual([
      elsewhere("IDPB_API_BASE_URL"),
    ]);
  });

  test("is rejected in another form than a list of hosts", () => {
    expect(problemsOf({ ...kindA, IDP_SECRET_HOSTS: "https://auth.ping.example" })).toEqual([
      "IDP_SECRET_HOSTS: must be hosts in lower case, as graph.microsoft.com, *.example.com or idp.example.com:8443",
    ]);
  });
});
