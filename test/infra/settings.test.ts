import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { client, core } from "../../functions/auth/routes.ts";
import { connector } from "../../functions/connector/routes.ts";
import { readAllSettings } from "../../functions/read-all-settings.ts";
import { authSettings } from "../../lib/auth/settings.ts";
import { authTables } from "../../lib/auth/storage/tables.table.ts";
import { responsesContainer } from "../../lib/connector/collect/responses.blob.ts";
import { connectorSettings } from "../../lib/connector/settings.ts";
import { connectorTables } from "../../lib/connector/storage/requests.table.ts";
import { bodyLimitBytes } from "../../lib/platform/http/parse/read-body.ts";
import { backupsContainer } from "../../lib/platform/maintenance/backup-files.ts";
import { deploymentSettings } from "../../lib/platform/settings/deployment-settings.ts";
import { describeSettings } from "../../lib/platform/settings/describe-settings.ts";
import { azdParameters, parametersFile } from "./azd/parameters.ts";
import { evaluate } from "./bicep/evaluate.ts";
import { appSettings, asked, deployed, ofType, planted, required, sample, templates } from "./templates.ts";

const serviceSettings = { core: authSettings, client: authSettings, connector: connectorSettings } as const;

/** Settings that only a local run has: storage and mail by key. */
const localOnly = ["CLOUD_STORAGE_CONNECTION_STRING", "EMAIL_CONNECTION_STRING"];

/** What the Functions host reads. */
const hostSettings = [
  "AzureWebJobsStorage__blobServiceUri",
  "AzureWebJobsStorage__tableServiceUri",
  "AzureWebJobsStorage__credential",
  "AzureWebJobsStorage__clientId",
  "AzureFunctionsWebHost__hostid",
  "AzureFunctionsJobHost__telemetryMode",
  "AzureWebJobsDisableHomepage",
  "FUNCTIONS_REQUEST_BODY_SIZE_LIMIT",
  "OTEL_EXPORTER_OTLP_TIMEOUT",
  "OTEL_TRACES_SAMPLER",
  "OTEL_TRACES_SAMPLER_ARG",
];

const apis = ["core", "client", "connector"] as const;

describe("app settings", () => {
  /** The superfluous and the missing app settings of an API. */
  const drift = (api: (typeof apis)[number], settings: Readonly<Record<string, string>>) => {
    const names = [...describeSettings(deploymentSettings), ...describeSettings(serviceSettings[api])].map(
      ({ name }) => name,
    );
    const wanted = [...names.filter(name => !localOnly.includes(name)), ...hostSettings];
    return [
      ...Object.keys(settings).filter(name => !wanted.includes(name)),
      ...wanted.filter(name => settings[name] === undefined),
    ];
  };

  it.each(apis)("of %s are the settings of the code, all of them, and the host's", api => {
    expect(drift(api, appSettings(deployed(), api))).toEqual([]);
  });

  it.each([
    [
      "a setting that the template does not set",
      "main.bicep",
      "CLOUD_TENANT_ID: empty(tenantId)",
      "CLOUD_TENANT: empty(tenantId)",
    ],
    ["the settings of a service", "main.bicep", "  code.settings.auth,\n", "  {},\n"],
    [
      "a setting that the code does not have",
      "modules/app.bicep",
      "    SERVICE_APIS: api",
      "    SERVICE_APIS: api\n    SERVICE_API: api",
    ],
  ])("are found to drift: %s", (_, path, from, to) => {
    expect(drift("core", appSettings(deployed(sample, { files: planted(path, from, to) }), "core"))).not.toEqual([]);
  });

  it.each(apis)(
    "of %s limit a body in the host to the largest that the code accepts, and the margin for its own 413",
    api => {
      const limit = Number(appSettings(deployed(), api).FUNCTIONS_REQUEST_BODY_SIZE_LIMIT);
      const accepted = [bodyLimitBytes, core.bodyLimitBytes, client.bodyLimitBytes, connector.bodyLimitBytes];
      expect(limit).toBe(Math.max(...accepted) + 65_536);
    },
  );

  it.each(apis)("of %s are texts, and the code starts with them", api => {
    const settings = appSettings(deployed(), api);
    for (const [name, value] of Object.entries(settings)) expect(typeof value, name).toBe("string");
    expect(readAllSettings(settings).deployment.SERVICE_APIS).toEqual([api]);
  });

  it.each(apis)("of %s are the code's own values unless another is given", api => {
    const settings = appSettings(deployed(required), api);
    const worked = ["SERVICE_APIS", "CLOUD_TENANT_ID", "IDPA_ONLINE_ENDPOINT"];
    for (const { name, defaultText } of [
      ...describeSettings(deploymentSettings),
      ...describeSettings(serviceSettings[api]),
    ]) {
      if (defaultText !== undefined && !worked.includes(name)) expect(settings[name], name).toBe(defaultText);
    }
  });

  it("take what is given, and what is empty leaves the code's own value", () => {
    const given = {
      ...sample,
      everyAppSettings: { LOGGING_LEVEL_COM_SERVICE: "DEBUG", TRUSTED_PROXIES: "" },
      authSettings: { AUTH_OTP_POLICY: "always" },
    };
    for (const api of ["core", "client"]) {
      expect(appSettings(deployed(given), api)).toMatchObject({
        LOGGING_LEVEL_COM_SERVICE: "DEBUG",
        TRUSTED_PROXIES: "1",
        AUTH_OTP_POLICY: "always",
      });
    }
    expect(appSettings(deployed(given), "connector")).toMatchObject(sample.connectorSettings);
  });

  it("let the host record every call, which the alert of server errors counts, unless another share is given", () => {
    const sampling = (given: typeof sample) => {
      const { OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG } = appSettings(deployed(given), "client");
      return [OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG];
    };
    expect(sampling(sample)).toEqual(["microsoft.fixed_percentage", "1.0"]);
    const given = { ...sample, everyAppSettings: { OTEL_TRACES_SAMPLER_ARG: "0.1" } };
    expect(sampling(given)).toEqual(["microsoft.fixed_percentage", "0.1"]);
  });

  it("never name another API, identity or store, with any given settings", () => {
    const taken = {
      SERVICE_APIS: "core,client,connector",
      AZURE_CLIENT_ID: "another",
      CLOUD_TABLES_ENDPOINT: "https://another.table.core.windows.net/",
      CLOUD_KEY_VAULT_ENDPOINT: "https://another.vault.azure.net/",
    };
    const given = {
      ...sample,
      everyAppSettings: taken,
      authSettings: taken,
      connectorSettings: { ...sample.connectorSettings, ...taken },
    };
    for (const api of apis) expect(appSettings(deployed(given), api)).toEqual(appSettings(deployed(), api));
  });

  it("send each service to its own store and vault", () => {
    const namesByApi = apis.map(api => {
      const { CLOUD_TABLES_ENDPOINT, CLOUD_STORAGE_BLOB_ENDPOINT, CLOUD_KEY_VAULT_ENDPOINT } = appSettings(
        deployed(),
        api,
      );
      return [CLOUD_TABLES_ENDPOINT, CLOUD_STORAGE_BLOB_ENDPOINT, CLOUD_KEY_VAULT_ENDPOINT].join();
    });
    expect(namesByApi[0]).toBe(namesByApi[1]);
    expect(namesByApi[0]).toContain("stauth");
    expect(namesByApi[2]).toContain("stconn");
    expect(namesByApi[2]).toContain("kv-conn");
  });
});

describe("tables and containers", () => {
  const made = (type: string, account: string, given: Readonly<Record<string, unknown>> = sample) =>
    ofType(deployed(given), type)
      .filter(({ name }) => name.startsWith(account))
      .map(({ body }) => String(body.name))
      .sort();
  const tables = "Microsoft.Storage/storageAccounts/tableServices/tables";
  const containers = "Microsoft.Storage/storageAccounts/blobServices/containers";

  it("are those that the code names", () => {
    expect(made(tables, "stauth")).toEqual([...authTables].sort());
    expect(made(tables, "stconn")).toEqual([...connectorTables("fprshipments")].sort());
    expect(made(containers, "stauth")).toEqual([backupsContainer, "package-client", "package-core"].sort());
    expect(made(containers, "stconn")).toEqual(
      [backupsContainer, "configuration", "package-connector", responsesContainer].sort(),
    );
  });

  it("follow the setting that names the table of shipments", () => {
    const given = { ...sample, connectorSettings: { CLOUD_TABLES_SHIPMENTS_TABLE_NAME: "myshipments" } };
    expect(made(tables, "stconn", given)).toEqual([...connectorTables("myshipments")].sort());
  });

  it("hold each app's package where the app looks for it", () => {
    const names = ofType(deployed(), containers).map(({ id }) => id.split("/").at(-1));
    for (const { body } of ofType(deployed(), "Microsoft.Web/sites")) {
      const { functionAppConfig } = body.properties as {
        functionAppConfig: { deployment: { storage: { value: string } } };
      };
      expect(names).toContain(functionAppConfig.deployment.storage.value.split("/").at(-1));
    }
  });
});

describe("main.parameters.json", () => {
  const params = (templates.get("main.bicep")?.declarations ?? []).filter(({ kind }) => kind === "param");
  const paramOf = (name: string) => params.find(each => each.name === name);
  const constant = { path: "main.bicep", functions: {}, lookup: () => undefined };

  it("fills every parameter, so that nobody edits it: the pipelines deploy only a file that the code generates", () => {
    expect(Object.keys(parametersFile).sort()).toEqual(params.map(({ name }) => name).sort());
  });

  it("leaves nothing without a default but what azd knows and what an administrator is asked for, before any hook has run", () => {
    const without = params.filter(each => each.kind === "param" && each.default === undefined);
    expect(without.map(({ name }) => name).sort()).toEqual(Object.keys(asked).sort());
    // The last hook leaves the variables of keys empty.
    const cleared = { NEW_AUTH_DATA_KEY: "", NEW_AUTH_PEPPER: "", NEW_CONNECTOR_DATA_KEY: "" };
    const given = azdParameters({ ...cleared, AZURE_ENV_NAME: asked.environmentName, MAIL_DOMAIN: asked.mailDomain });
    expect(deployed(given).resources.length).toBeGreaterThan(80);
  });

  it("has the template's own default where the template has a text that is not empty", () => {
    for (const [name, { value }] of Object.entries(parametersFile)) {
      const param = paramOf(name);
      if (param?.kind !== "param" || param.default?.kind !== "text") continue;
      const [, otherwise = ""] = /^\$\{\w+=(.*)\}$/.exec(String(value)) ?? [];
      expect(otherwise, name).toBe(evaluate(param.default, constant));
    }
  });

  it("works out with what azd, the preprovision hook and an administrator fill in", () => {
    const environment = {
      AZURE_ENV_NAME: required.environmentName,
      AZURE_LOCATION: "swedencentral",
      MAIL_DOMAIN: required.mailDomain,
      NEW_AUTH_DATA_KEY: required.authDataKey,
      NEW_AUTH_PEPPER: required.authPepper,
      NEW_CONNECTOR_DATA_KEY: required.connectorDataKey,
      NEW_KEYS_EXPIRE_ON: String(required.keysExpireOn),
    };
    expect(deployed(azdParameters(environment)).resources).toEqual(deployed(required).resources);
    const more = {
      ...environment,
      MAXIMUM_INSTANCE_COUNT: "60",
      CRON_DATA_CLEANUP_COMPLETED_DAYS: "30",
      CORE_DEPLOY_RANGE: "203.0.113.7/32",
    };
    expect(appSettings(deployed(azdParameters(more)), "connector").CRON_DATA_CLEANUP_COMPLETED_DAYS).toBe("30");
  });

  it("takes variables that docs/deploy.md or docs/settings.md describes", () => {
    const documented = readFileSync("docs/deploy.md", "utf8") + readFileSync("docs/settings.md", "utf8");
    const variables = [...JSON.stringify(parametersFile).matchAll(/\$\{(\w+)/g)].map(([, name = ""]) => name);
    for (const name of variables.filter(each => !/^(AZURE|NEW)_/.test(each)))
      expect(documented, name).toContain(`\`${name}\``);
  });

  it("takes no variable that images of Node and shells set: azd looks there too", () => {
    const variables = [...JSON.stringify(parametersFile).matchAll(/\$\{(\w+)/g)].map(([, name = ""]) => name);
    const others = ["NODE_VERSION", "NODE_ENV", "PORT", "HOSTNAME", "LOCATION", "NAME", "TZ"];
    expect(variables.filter(name => others.includes(name))).toEqual([]);
  });

  it("takes no variable that an output of the template would overwrite", () => {
    const outputs = (templates.get("main.bicep")?.declarations ?? [])
      .filter(({ kind }) => kind === "output")
      .map(({ name }) => name);
    const variables = [...JSON.stringify(parametersFile).matchAll(/\$\{(\w+)/g)].map(([, name]) => name);
    expect(outputs.filter(name => variables.includes(name))).toEqual([]);
    expect(variables.length).toBeGreaterThan(100);
  });
});
