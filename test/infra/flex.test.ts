import { expect, it } from "vitest";
import { flexFaults } from "./flex.ts";
import { deployed, planted, sample } from "./templates.ts";

it("the templates contain nothing that Flex Consumption refuses or ignores, and all that it needs", () => {
  const { resources } = deployed();
  expect(resources.filter(({ type }) => type === "Microsoft.Web/sites")).toHaveLength(3);
  expect(flexFaults(resources)).toEqual([]);
});

it.each([
  [
    "a setting that moved",
    "    SERVICE_APIS: api",
    "    SERVICE_APIS: api\n    FUNCTIONS_WORKER_RUNTIME: 'node'",
    "FUNCTIONS_WORKER_RUNTIME is nothing",
  ],
  [
    "a time zone",
    "    SERVICE_APIS: api",
    "    SERVICE_APIS: api\n    WEBSITE_TIME_ZONE: 'UTC'",
    "WEBSITE_TIME_ZONE is nothing",
  ],
  [
    "a connection string of the host",
    "    AzureWebJobsStorage__credential",
    "    AzureWebJobsStorage: 'x'\n    AzureWebJobsStorage__credential",
    "AzureWebJobsStorage is nothing",
  ],
  [
    "a version where it does not belong",
    "      http20Enabled: true",
    "      http20Enabled: true\n      linuxFxVersion: 'Node|24'",
    "linuxFxVersion is refused",
  ],
  [
    "FTP settings",
    "      http20Enabled: true",
    "      http20Enabled: true\n      ftpsState: 'Disabled'",
    "ftpsState is refused",
  ],
  ["another plan", "name: 'FC1'", "name: 'EP1'", "no plan of Flex Consumption"],
  ["Windows", "'functionapp,linux'", "'functionapp'", "no function app on Linux"],
  ["another runtime", "name: 'node'", "name: 'nodejs'", "no version of Node"],
  ["memory that is not sold", "instanceMemoryMB: instanceMemoryMB", "instanceMemoryMB: 1024", "512, 2048 or 4096 MB"],
  [
    "too many instances",
    "maximumInstanceCount: maximumInstanceCount",
    "maximumInstanceCount: 5000",
    "from 40 to 1000 instances",
  ],
  [
    "settings that are replaced",
    "      http20Enabled: true",
    "      http20Enabled: true\n      appSettings: []",
    "settings stand beside",
  ],
])("finds %s", (_, from, to, expected) => {
  const { resources } = deployed(sample, { files: planted("modules/app.bicep", from, to) });
  expect(flexFaults(resources).filter(fault => fault.includes(expected))).toHaveLength(3);
});
