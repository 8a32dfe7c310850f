import { describe, expect, it } from "vitest";
import { appEnvironments, placeholders } from "../../../local/deploy/app-environments.ts";
import { readAllSettings } from "../../../local/deploy/read-all-settings.ts";
import { cases, sample } from "../../infra/cases.ts";
import { deployed, settingsOnceDeployed } from "../../infra/templates.ts";

const apis = ["core", "client", "connector"] as const;
const mail = { AZURE_ENV_NAME: "production", AZURE_LOCATION: "swedencentral", MAIL_DOMAIN: "keys.example.com" };
const delivery = {
  DELIVERY_API_BASE_URL: "https://delivery.example.com",
  DELIVERY_JWKS_SIGN_ENDPOINT: "https://delivery.example.com/sign",
  DELIVERY_JWKS_TRANSPORT_ENDPOINT: "https://delivery.example.com/transport",
  IDPA_MANAGED_IDENTITY: "true",
};
describe("the settings that are checked before a provision", () => {
  it.each([
    ["nothing more", "base"],
    ["values of each group, and a quote as azd writes it", "options"],
    ["a proxy before Client, and its public address", "client-proxy"],
    ["a proxy before the connector", "connector-proxy"],
    ["proxies before both, without a number", "proxies"],
    ["too many proxies", "trusted-proxies"],
    ["several identity providers", "existing-network"],
  ] as const)("are those that the template gives each app: %s", (_, name) => {
    const deployment = deployed(name);
    const environments = appEnvironments({ ...sample, ...cases[name] });
    for (const api of apis) {
      const given = settingsOnceDeployed(deployment, api);
      const isCompared = ([name, value = ""]: readonly [string, string | undefined]) =>
        value !== "" &&
        !Object.hasOwn(placeholders, name) &&
        !/^(AzureWeb|AzureFunctions|FUNCTIONS_|OTEL_TRACES|OTEL_EXPORTER_OTLP_TIMEOUT|APPLICATIONINSIGHTS|languageWorkers)/.test(
          name,
        );
      const compared = (values: Readonly<Record<string, string | undefined>>) =>
        Object.fromEntries(Object.entries(values).filter(isCompared).toSorted());
      expect(compared(environments[api])).toEqual(compared(given));
      for (const name of Object.keys(given).filter(each => Object.hasOwn(placeholders, each)))
        expect(environments[api][name], name).not.toBe("");
    }
  });

  it("let every app start with the lines that a first deployment needs", () => {
    for (const api of apis) expect(readAllSettings(appEnvironments({ ...mail, ...delivery })[api])).toBeDefined();
  });

  it("take the address of the identity providers' file from the storage account that it names", () => {
    const own = { IDP_ENABLE_MULTI_IDP: "true", IDP_DEFAULT: "a" };
    const address = (path: string) => ({ ...mail, ...delivery, ...own, IDP_CONFIGURATION_PATH: path });
    const start = (path: string) => readAllSettings(appEnvironments(address(path)).connector);
    for (const path of ["", "https://stconnabc.blob.core.windows.net/configuration/idps.yaml"])
      expect(start(path).connector?.idps.file).toEqual({ container: "configuration", blob: "idps.yaml" });
    expect(() => start("https://elsewhere.example.com/configuration/idps.yaml")).toThrow("CLOUD_STORAGE_BLOB_ENDPOINT");
  });

  it("are refused with a scheme or an @ in the domains of PIN emails, to which no address would belong", () => {
    for (const domains of ["https://example.com", "example.org, @example.com"])
      expect(() =>
        readAllSettings(appEnvironments({ ...mail, ...delivery, PIN_MAIL_DOMAINS: domains }).connector),
      ).toThrow("PIN_MAIL_DOMAINS: must be domains such as example.com");
  });
});
