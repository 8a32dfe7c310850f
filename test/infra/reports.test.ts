import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { valueAt } from "./json.ts";
import { appSettings, deployed, ofType, outline, siteOf } from "./templates.ts";

/** Rules of a security group of the first snapshot. */
const rulesOf = (group: string) =>
  ofType(deployed(), "Microsoft.Network/networkSecurityGroups")
    .filter(({ name }) => name.endsWith(`-${group}`))
    .flatMap(({ body }) => valueAt(body.properties, "securityRules") as readonly unknown[]);
const apis = ["core", "client", "connector"] as const;
const prefixOf = (name: string) => {
  const subnets = ofType(deployed(), "Microsoft.Network/virtualNetworks/subnets");
  return valueAt(subnets.find(({ last }) => last === name)?.body, "properties.addressPrefix");
};

/** What keeps the templates from the trap of a report, by the file that names the report beside the line. */
const avoided: readonly (readonly [string, string, () => void])[] = [
  [
    "Azure/Azure-Functions#2635",
    "modules/network.bicep",
    () => {
      const refused = rulesOf("core-endpoint").flatMap(rule => valueAt(rule, "properties.sourceAddressPrefixes"));
      expect(refused).toEqual([prefixOf("client"), prefixOf("connector")]);
    },
  ],
  ["MicrosoftDocs/azure-docs#114653", "modules/network.bicep", () => expect(rulesOf("apps")).toEqual([])],
  [
    "Azure/azure-functions-host#11787, #11782, #11636",
    "modules/app.bicep",
    () => {
      for (const api of apis)
        expect(appSettings(deployed(), api).AzureWebJobsStorage__accountName).toMatch(/^st(auth|conn)\w{13}$/);
    },
  ],
  [
    "Azure/azure-functions-host#7204",
    "modules/app.bicep",
    () => expect(Number(appSettings(deployed(), "client").FUNCTIONS_REQUEST_BODY_SIZE_LIMIT)).toBeGreaterThan(0),
  ],
  [
    "Azure/azure-functions-host#10169; Azure/azure-cli#30870, #31394",
    "modules/app.bicep",
    () => {
      expect(valueAt(siteOf(deployed(), "core").body.properties, "publicNetworkAccess")).toBe("Disabled");
      expect(readFileSync("infra/scripts/deploy-app.mjs", "utf8")).toContain("/host/default/sync");
      expect(readFileSync("infra/scripts/deploy-app.mjs", "utf8")).not.toContain("config-zip");
    },
  ],
  [
    "Azure/azure-functions-host#11828",
    "modules/alerts.bicep",
    () => {
      const rules = ofType(deployed(), "Microsoft.Insights/scheduledQueryRules").map(({ name }) => name);
      for (const job of ["processshipments", "processcredentialrequests", "datacleanup", "sessioncleanup"])
        expect(rules.some(name => name.endsWith(`job-not-run-${job}`))).toBe(true);
    },
  ],
  [
    "Azure/azure-rest-api-specs#40898",
    "main.bicep",
    () => expect(outline["main.bicep"].parameters.instanceMemoryMB?.allowedValues).toEqual([2048, 4096]),
  ],
  [
    "Azure/bicep#18621, #2529; MicrosoftDocs/azure-docs#13113",
    "main.bicep",
    () => {
      const modules = readFileSync("infra/main.bicep", "utf8").match(/^module .*\n {2}name: '.*'$/gm) ?? [];
      expect(modules.length).toBeGreaterThan(10);
      for (const module of modules) expect(module).toMatch(/-\$\{token\}'$/);
    },
  ],
];

describe("a trap that a public report describes", () => {
  it.each(avoided)("is avoided, beside the line that avoids it: %s", (report, file, check) => {
    expect(readFileSync(`infra/${file}`, "utf8").replaceAll(/\s*\n\s*\/\/ /g, " ")).toContain(report);
    check();
  });

  it("is checked on a real subscription: every report that infra/ names has its row in docs/deploy.md", () => {
    const [, rows = ""] = readFileSync("docs/deploy.md", "utf8").split("\n## Checks on a real subscription\n");
    const named = globSync("infra/**/*.{bicep,mjs}").flatMap(
      path => readFileSync(path, "utf8").match(/#\d{4,}/g) ?? [],
    );
    expect(new Set(named).size).toBeGreaterThan(10);
    expect([...new Set(named)].filter(report => !rows.includes(`${report}]`))).toEqual([]);
  });
});
