import { afterEach, describe, expect, it } from "vitest";
import { BadSettings } from "../../lib/platform/settings/read-settings.ts";
import { readAllSettings } from "../../local/deploy/read-all-settings.ts";
import { goodSettings, type MainProcess, startMain } from "./main-process.ts";

const running: MainProcess[] = [];
const start = async (settings: Readonly<Record<string, string>>) => {
  const main = await startMain(settings);
  running.push(main);
  return main;
};
afterEach(async () => {
  await Promise.all(running.splice(0).map(main => main.end()));
});

const httpRoutes = ({ functions }: MainProcess) =>
  functions.flatMap(({ name, bindings }) =>
    bindings
      .filter(({ type }) => type === "httpTrigger")
      .map(({ route, methods }) => ({ name, route: route ?? "", methods: methods ?? [] })),
  );
const timers = ({ functions }: MainProcess) =>
  functions.filter(({ bindings }) => bindings.some(({ type }) => type === "timerTrigger"));

describe("CRON_BACKUP_SCHEDULE", () => {
  it("registers no backup timer when it is none", async () => {
    const names = timers(await start({ ...goodSettings, CRON_BACKUP_SCHEDULE: "none" })).map(({ name }) => name);
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter(name => name.endsWith("BackUp"))).toEqual([]);
  });

  it("is a bad setting when it is no schedule", () => {
    const read = () => readAllSettings({ ...goodSettings, CRON_BACKUP_SCHEDULE: "daily" });
    expect(read).toThrow("CRON_BACKUP_SCHEDULE: must be none, or a cron expression of six fields");
  });
});

describe("bad settings", () => {
  it("answer 503 to every call, and say every reason in one log event, no value among them", async () => {
    const [good, bad] = await Promise.all([
      start(goodSettings),
      start({
        ...goodSettings,
        TRUSTED_PROXIES: "hunter2",
        CLOUD_KEY_VAULT_ENDPOINT: "",
        RFPR_RETRY_NUMBER_DAYS: "hunter2",
        EMAIL_SENDER_ADDRESS: " ",
      }),
    ]);
    expect(timers(good).map(({ name }) => name)).toEqual([
      "scheduledAuthBackUp",
      "sessionCleanup",
      "processShipments",
      "processCredentialRequests",
      "dataCleanup",
      "scheduledConnectorBackUp",
    ]);
    expect(timers(bad)).toEqual([]);

    const routes = httpRoutes(good);
    expect(routes.filter(({ route }) => route.startsWith("maintenance/")).length).toBeGreaterThan(5);
    for (const { route, methods } of routes) {
      for (const method of methods) {
        const answer = await fetch(`${bad.url}/${route.replaceAll(/[{}]/g, "")}`, { method });
        expect([method, route, answer.status]).toEqual([method, route, 503]);
        expect(Number(answer.headers.get("retry-after")), route).toBeGreaterThan(0);
        expect(await answer.text()).not.toContain("RFPR_RETRY_NUMBER_DAYS");
      }
    }
    expect((await fetch(`${good.url}/v2/status`)).status).toBe(401);

    const lines = await bad.end();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ event: "bad_settings" });
    for (const name of [
      "TRUSTED_PROXIES",
      "CLOUD_KEY_VAULT_ENDPOINT",
      "RFPR_RETRY_NUMBER_DAYS",
      "EMAIL_SENDER_ADDRESS",
    ]) {
      expect(lines[0]?.message).toContain(`\n  ${name}: must be`);
    }
    expect(JSON.stringify(lines)).not.toContain("hunter2");
  });
});

describe("a start that fails although the settings are valid", () => {
  it("answers 503 on the routes, and logs the error", async () => {
    const broken = 'import os from "node:os"; os.availableParallelism = () => { throw new Error("no processor"); };';
    const sync = 'import { syncBuiltinESMExports } from "node:module"; syncBuiltinESMExports();';
    const preload = `data:text/javascript,${encodeURIComponent(broken + sync)}`;
    const failed = await start({ ...goodSettings, NODE_OPTIONS: `--import=${preload}` });
    expect((await fetch(`${failed.url}/v2/status`)).status).toBe(503);
    expect(await failed.end()).toMatchObject([{ event: "not_started", error: { message: "no processor" } }]);
  });
});

describe("the APIs of a deployment", () => {
  it("are none where none is named, and the log says so", async () => {
    const { SERVICE_APIS: _, ...others } = goodSettings;
    const none = await start(others);
    expect(none.functions.map(({ name }) => name)).toEqual(["health"]);
    expect(await none.end()).toMatchObject([{ event: "no_api", setting: "SERVICE_APIS" }]);
  });
});

describe("the settings of a deployment", () => {
  const problemsOf = (environment: Readonly<Record<string, string>>) => {
    try {
      readAllSettings(environment);
      return [];
    } catch (error) {
      if (error instanceof BadSettings) return error.problems.map(({ path }) => path);
      throw error;
    }
  };

  it("need not be those of an API that it does not serve", () => {
    const {
      SERVICE_APIS,
      CLOUD_KEY_VAULT_ENDPOINT = "",
      CLOUD_TABLES_ENDPOINT = "",
      CLOUD_STORAGE_BLOB_ENDPOINT = "",
    } = goodSettings;
    const shared = { CLOUD_KEY_VAULT_ENDPOINT, CLOUD_TABLES_ENDPOINT, CLOUD_STORAGE_BLOB_ENDPOINT };
    expect(readAllSettings({ ...shared, SERVICE_APIS: "core" })).not.toHaveProperty("connector");
    expect(problemsOf({ ...shared, SERVICE_APIS: SERVICE_APIS ?? "" })).toContain("DELIVERY_API_BASE_URL");
  });

  it.each([
    "nonsense",
    "endpoint=https://mail.example",
    "accesskey=a2V5",
    "endpoint=https://mail example;accesskey=a2V5",
    "endpoint=https://;accesskey=a2V5",
    "endpoint=http://mail.example;accesskey=a2V5",
  ])("have a connection string of the mail service that it accepts, which %j is not", connection => {
    expect(problemsOf({ ...goodSettings, EMAIL_CONNECTION_STRING: connection })).toEqual(["EMAIL_CONNECTION_STRING"]);
    const local = { ...goodSettings, EMAIL_CONNECTION_STRING: "endpoint=http://127.0.0.1:1/;accesskey=a2V5" };
    expect(problemsOf(local)).toEqual([]);
  });

  it("name the identity provider of the deployment by the specification's names", () => {
    expect(problemsOf(goodSettings)).toEqual([]);
    expect(readAllSettings({ ...goodSettings, IDP_DEFAULT: "mine" }).connector?.idps.known?.get("mine")).toMatchObject({
      type: "entra",
      "tenant-id": goodSettings.CLOUD_TENANT_ID,
    });
    expect(problemsOf({ ...goodSettings, IDPA_FIDO_API_CLIENT_ID: "" })).toEqual(["IDPA_FIDO_API_CLIENT_ID"]);
  });

  it("require a proxy that reports callers' addresses if these are limited", () => {
    const limited = { ...goodSettings, AUTH_ADDRESS_LIMIT: "10" };
    expect(problemsOf({ ...limited, TRUSTED_PROXIES: "0" })).toEqual(["TRUSTED_PROXIES"]);
    expect(problemsOf({ ...limited, TRUSTED_PROXIES: "1" })).toEqual([]);
    expect(problemsOf({ ...goodSettings, TRUSTED_PROXIES: "0" })).toEqual([]);
    expect(problemsOf({ ...limited, TRUSTED_PROXIES: "0", SERVICE_APIS: "connector" })).toEqual([]);
  });

  it("need the proxy's id where more than the platform's own proxy is trusted", () => {
    const two = { ...goodSettings, TRUSTED_PROXIES: "2" };
    expect(problemsOf(two)).toEqual(["PROXY_ID"]);
    expect(problemsOf({ ...two, PROXY_ID: "a short id" })).toEqual(["PROXY_ID"]);
    expect(problemsOf({ ...two, PROXY_ID: "0f5d1c2e-7a63-4b0e-9d0c-1f2e3d4c5b6a" })).toEqual([]);
    const named = { ...two, PROXY_ID: "0f5d1c2e-7a63-4b0e-9d0c-1f2e3d4c5b6a", PROXY_ID_HEADER: "X Gateway" };
    expect(problemsOf(named)).toEqual(["PROXY_ID_HEADER"]);
    expect(problemsOf({ ...named, PROXY_ID_HEADER: "X-Gateway-Id" })).toEqual([]);
  });

  it("are reported together, of any kind", () => {
    const wrong = {
      TRUSTED_PROXIES: "0",
      AUTH_ADDRESS_LIMIT: "10",
      SESSION_IDLE_SECONDS: "x",
      RFPR_RETRY_NUMBER_DAYS: "x",
      IDPA_FIDO_API_CLIENT_ID: "",
    };
    expect(problemsOf({ ...goodSettings, ...wrong }).toSorted()).toEqual([
      "IDPA_FIDO_API_CLIENT_ID",
      "RFPR_RETRY_NUMBER_DAYS",
      "SESSION_IDLE_SECONDS",
      "TRUSTED_PROXIES",
    ]);
    // A wrong one is reported once, and the kind is that of the set value, even if that is wrong.
    const kindA = { IDPA_FIDO_API_CLIENT_ID: "", IDPB_AUTH_BASE_URL: "nowhere" };
    expect(problemsOf({ ...goodSettings, ...kindA }).toSorted()).toEqual([
      "IDPB_API_BASE_URL",
      "IDPB_AUTH_BASE_URL",
      "IDPB_CLIENT_ID",
      "IDPB_DEFAULT_RELYING_PARTY",
      "IDPB_ENVIRONMENT",
    ]);
    expect(problemsOf({ ...goodSettings, IDP_DEFAULT: "a_b" })).toEqual(["IDP_DEFAULT"]);
  });

  it("refuse a period of 0, in which no credential would be activated", () => {
    const name = "RFPR_RETRY_NUMBER_DAYS";
    expect(problemsOf({ ...goodSettings, [name]: "0" })).toEqual([name]);
    expect(problemsOf({ ...goodSettings, [name]: "0.001" })).toEqual([]);
  });

  it("name the half of the enrollment services that is missing", () => {
    const [token, api] = ["ENROLLMENT_SERVICE_API_BASE_URL", "RFPR_API_BASE_URL"];
    const url = "https://enrollment.example";
    expect(problemsOf({ ...goodSettings, [token]: url })).toEqual([api]);
    expect(problemsOf({ ...goodSettings, [api]: url })).toEqual([token]);
    expect(problemsOf({ ...goodSettings, [api]: url, [token]: url })).toEqual([]);
  });
});
