import { expect, it } from "vitest";
import { flexFaults } from "./flex.ts";
import { changed, deployed } from "./templates.ts";

it("the templates contain nothing that Flex Consumption refuses or ignores, and all that it needs", () => {
  const { resources } = deployed();
  expect(resources.filter(({ type }) => type === "Microsoft.Web/sites")).toHaveLength(3);
  expect(flexFaults(resources)).toEqual([]);
});

const site = "Microsoft.Web/sites";
const app = "properties.functionAppConfig";
const scale = `${app}.scaleAndConcurrency`;
const config = "properties.siteConfig";
it.each([
  ["a version where it does not belong", site, `${config}.linuxFxVersion`, "Node|24", "linuxFxVersion is refused"],
  ["FTP settings", site, `${config}.ftpsState`, "Disabled", "ftpsState is refused"],
  ["another plan", "Microsoft.Web/serverfarms", "sku.name", "EP1", "no plan of Flex Consumption"],
  ["Windows", site, "kind", "functionapp", "no function app on Linux"],
  ["another runtime", site, `${app}.runtime.name`, "nodejs", "no version of Node"],
  ["memory that the service has refused", site, `${scale}.instanceMemoryMB`, 512, "2048 or 4096 MB"],
  ["too many instances", site, `${scale}.maximumInstanceCount`, 5000, "from 40 to 1000 instances"],
  ["settings that are replaced", site, `${config}.appSettings`, [], "settings stand beside"],
  ...["FUNCTIONS_WORKER_RUNTIME", "WEBSITE_TIME_ZONE", "AzureWebJobsStorage"].map(
    name => [name, "Microsoft.Web/sites/config", `properties.${name}`, "x", `${name} is nothing`] as const,
  ),
] as const)("finds %s", (_, type, path, value, expected) => {
  const { resources } = changed(deployed(), type, path, value);
  expect(flexFaults(resources).filter(fault => fault.includes(expected))).toHaveLength(3);
});
