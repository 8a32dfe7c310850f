import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

/** Public reports of traps, by the file that names them beside the line that avoids them; tests beside this one prove each line. */
it.each([
  ["Azure/Azure-Functions#2635", "modules/network.bicep"],
  ["MicrosoftDocs/azure-docs#114653", "modules/network.bicep"],
  ["Azure/azure-functions-host#11787, #11782, #11636", "modules/app.bicep"],
  ["Azure/azure-functions-host#7204", "modules/app.bicep"],
  ["Azure/azure-functions-host#10169; Azure/azure-cli#30870, #31394", "modules/app.bicep"],
  ["Azure/azure-functions-host#11828", "modules/alerts.bicep"],
  ["Azure/azure-rest-api-specs#40898", "main.bicep"],
  ["Azure/bicep#18621, #2529; MicrosoftDocs/azure-docs#13113", "main.bicep"],
])("the report %s stands beside the line of %s that avoids its trap", (report, file) => {
  expect(readFileSync(`infra/${file}`, "utf8").replaceAll(/\s*\n\s*\/\/ /g, " ")).toContain(report);
});

it("every report that infra/ names has its row in docs/deploy.md, to be checked on a real subscription", () => {
  const [, rows = ""] = readFileSync("docs/deploy.md", "utf8").split("\n## Checks on a real subscription\n");
  const named = globSync("infra/**/*.{bicep,mjs}").flatMap(path => readFileSync(path, "utf8").match(/#\d{4,}/g) ?? []);
  expect(new Set(named).size).toBeGreaterThan(10);
  expect([...new Set(named)].filter(report => !rows.includes(`${report}]`))).toEqual([]);
});
