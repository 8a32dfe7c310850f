import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { client, core } from "../../functions/auth/routes.ts";
import { connector } from "../../functions/connector/routes.ts";
import { authSettings } from "../../lib/auth/settings.ts";
import { authTables } from "../../lib/auth/tables.table.ts";
import { responsesContainer } from "../../lib/connector/collect/responses.blob.ts";
import { connectorSettings } from "../../lib/connector/settings.ts";
import { connectorTables } from "../../lib/connector/storage/requests.table.ts";
import { bodyLimitBytes } from "../../lib/platform/http/read-body.ts";
import { backupsContainer } from "../../lib/platform/maintenance/read-backup.ts";
import { deploymentSettings } from "../../lib/platform/settings/deployment-settings.ts";
import { readAllSettings } from "../../local/deploy/read-all-settings.ts";
import { describeSettings } from "../../local/generate/describe-settings.ts";
import { azdParameters, parametersFile } from "./azd/parameters.ts";
import { asked, cases } from "./cases.ts";
import { isObject, valueAt } from "./json.ts";
import { appSettings, deployed, ofType, outline, settingsOnceDeployed, token } from "./templates.ts";

const serviceSettings = { core: authSettings, client: authSettings, connector: connectorSettings } as const;

/** Settings that only a local run has: storage and mail by key. */
const localOnly = ["CLOUD_STORAGE_CONNECTION_STRING", "EMAIL_CONNECTION_STRING"];

/** What the Functions host reads. */
const hostSettings = [
  "AzureWebJobsStorage__accountName",
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
  // Flex Consumption ignores or refuses others, such as FUNCTIONS_WORKER_RUNTIME, WEBSITE_TIME_ZONE or TZ.
  it.each(apis)("of %s are the settings of the code, all of them, and the host's", api => {
    const names = [deploymentSettings, serviceSettings[api]].flatMap(describeSettings).map(({ name }) => name);
    expect(Object.keys(appSettings(deployed(), api)).sort()).toEqual(
      [...names.filter(name => !localOnly.includes(name)), ...hostSettings].sort(),
    );
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
    const settings = settingsOnceDeployed(deployed(), api);
    for (const [name, value] of Object.entries(settings)) expect(typeof value, name).toBe("string");
    expect(readAllSettings(settings).deployment.SERVICE_APIS).toEqual([api]);
  });

  it.each(apis)("of %s are the code's own values unless another is given", api => {
    const settings = appSettings(deployed(), api);
    const worked = ["SERVICE_APIS", "CLOUD_TENANT_ID", "IDPA_ONLINE_ENDPOINT"];
    for (const { name, defaultText } of [
      ...describeSettings(deploymentSettings),
      ...describeSettings(serviceSettings[api]),
    ]) {
      if (defaultText !== undefined && !worked.includes(name)) expect(settings[name], name).toBe(defaultText);
    }
  });

  it("take what is given, and what is empty leaves the code's own value", () => {
    for (const api of ["core", "client"])
      expect(appSettings(deployed("options"), api)).toMatchObject({
        LOGGING_LEVEL_COM_SERVICE: "DEBUG",
        TRUSTED_PROXIES: "1",
        AUTH_OTP_POLICY: "always",
      });
    const { EVENT_SINK_URLS } = cases.options;
    expect(appSettings(deployed("options"), "connector")).toMatchObject({ EVENT_SINK_URLS });
  });

  it.each([
    ["core", "stauth"],
    ["client", "stauth"],
    ["connector", "stconn"],
  ])(
    "of %s name the storage account of the host beside its addresses, without which the host may not find it",
    (api, name) => {
      const settings = appSettings(deployed(), api);
      expect(settings.AzureWebJobsStorage__accountName).toBe(`${name}${token}`);
      for (const part of ["blob", "table"])
        expect(settings[`AzureWebJobsStorage__${part}ServiceUri`]).toContain(`/storageAccounts/${name}${token}'`);
    },
  );

  it("let the host record every call, which the alert of server errors counts", () => {
    expect(appSettings(deployed(), "client")).toMatchObject({
      OTEL_TRACES_SAMPLER: "microsoft.fixed_percentage",
      OTEL_TRACES_SAMPLER_ARG: "1.0",
    });
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
    // The settings of the template come last, so that no given one can send an app elsewhere.
    const [, ...given] = readFileSync("infra/modules/app.bicep", "utf8").split(/properties: union\(/);
    expect(given.at(-1)).toMatch(/^[\w, ]*settings, \{\s+SERVICE_APIS: api/);
  });
});

describe("tables and containers", () => {
  const made = (type: string, account: string, name: "base" | "options" = "base") =>
    ofType(deployed(name), type)
      .filter(each => each.name.startsWith(account))
      .map(({ last }) => last)
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
    expect(made(tables, "stconn", "options")).toEqual([...connectorTables("myshipments")].sort());
  });

  it("hold each app's package where the app looks for it", () => {
    const names = ofType(deployed(), containers).map(({ id }) => id.split("/").at(-1));
    for (const { body } of ofType(deployed(), "Microsoft.Web/sites")) {
      const address = String(valueAt(body.properties, "functionAppConfig.deployment.storage.value"));
      const [, api] =
        /^\[format\('\{0\}package-\{1\}', reference\(.*\.primaryEndpoints\.blob, '([^']+)'\)\]$/.exec(address) ?? [];
      expect(names).toContain(`package-${api}`);
    }
  });
});

describe("main.parameters.json", () => {
  const { parameters, outputs } = outline["main.bicep"];
  const variables = [...JSON.stringify(parametersFile).matchAll(/\$\{(\w+)/g)].map(([, name = ""]) => name);

  it("fills every parameter by variables alone, so that no value is edited in the file", () => {
    expect(Object.keys(parametersFile).sort()).toEqual(Object.keys(parameters).sort());
    const texts: string[] = [];
    JSON.stringify(parametersFile, (_, value: unknown) => {
      if (typeof value !== "object") texts.push(String(value));
      return value;
    });
    expect(texts.length).toBeGreaterThan(100);
    expect(texts.filter(text => !/^\$\{[A-Z_\d]+(=.*)?\}$/.test(text))).toEqual([]);
  });

  it("leaves nothing without a default but what azd knows and what an administrator is asked for, before any hook has run", () => {
    const without = Object.entries(parameters).filter(([, { defaultValue }]) => defaultValue === undefined);
    const variables = without.map(([name]) => /^\$\{(\w+)\}$/.exec(String(parametersFile[name]?.value))?.[1]);
    expect([...variables, "AZURE_LOCATION"].sort()).toEqual(Object.keys(asked).sort());
  });

  it("has the template's own default where the template has a text that is not empty", () => {
    for (const [name, { value }] of Object.entries(parametersFile)) {
      const { defaultValue = "" } = parameters[name] ?? {};
      if (typeof defaultValue !== "string" || defaultValue.startsWith("[")) continue;
      const [, otherwise = ""] = /^\$\{\w+=(.*)\}$/.exec(String(value)) ?? [];
      expect(otherwise, name).toBe(defaultValue);
    }
  });

  it("has the template's own defaults in objects of texts, where they are not settings", () => {
    const filled = azdParameters({});
    const objects = Object.entries(parameters).filter(
      ([name, { defaultValue }]) => isObject(defaultValue) && name !== "settings",
    );
    expect(objects.map(([name]) => name)).toEqual([
      "coreRanges",
      "existingIds",
      "publicBaseUrls",
      "proxyIds",
      "mailSender",
      "newKeys",
    ]);
    for (const [name, { type, defaultValue }] of objects)
      if (type !== "secureObject") expect(filled[name], name).toEqual(defaultValue);
  });

  it("has a default that is among the allowed values of a parameter", () => {
    const limited = Object.entries(parameters).filter(([, { allowedValues }]) => allowedValues !== undefined);
    expect(limited.length).toBeGreaterThan(2);
    for (const [name, { allowedValues, defaultValue }] of limited) expect(allowedValues, name).toContain(defaultValue);
  });

  it("takes variables that docs/deploy.md or docs/settings.md describes", () => {
    const documented = readFileSync("docs/deploy.md", "utf8") + readFileSync("docs/settings.md", "utf8");
    for (const name of variables.filter(each => !/^(AZURE|NEW)_/.test(each)))
      expect(documented, name).toContain(`\`${name}\``);
  });

  it("takes no variable that images of Node and shells set: azd looks there too", () => {
    const others = ["NODE_VERSION", "NODE_ENV", "PORT", "HOSTNAME", "LOCATION", "NAME", "TZ"];
    expect(variables.filter(name => others.includes(name))).toEqual([]);
  });

  it("takes no variable that an output of the template would overwrite", () => {
    expect(Object.keys(outputs).filter(name => variables.includes(name))).toEqual([]);
    expect(variables.length).toBeGreaterThan(100);
  });
});
