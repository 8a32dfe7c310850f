const { providers } = (await import("../../../infra/hooks/preflight.mjs" as string)) as {
  readonly providers: readonly string[];
};

/** What az answers where nothing is wrong, by words of the call. */
export const fine = {
  "cloud show": { name: "AzureCloud" },
  version: { "azure-cli": "2.90.0" },
  "account show": {},
  "provider list": providers.map(name => ({ name, state: "Registered" })),
  "provider register": {},
  "list-flexconsumption-locations": [{ name: "swedencentral" }, { name: "northeurope" }],
  "list-flexconsumption-runtimes": [{ version: "22" }, { version: "24" }],
  "account list-locations": [{ name: "swedencentral", zones: [{ logicalZone: "1" }] }],
  permissions: { value: [{ actions: ["*"], notActions: [] }] },
  "group list": [
    { name: "rg-Sample", id: "/subscriptions/11111111-1111-4111-8111-111111111111/resourceGroups/rg-Sample" },
  ],
  "resource list": [],
  "keyvault list-deleted": [],
  "keyvault check-name": { nameAvailable: true },
  communicationServices: { value: [] },
};
