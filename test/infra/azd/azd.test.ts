import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import * as z from "zod";
import { valueAt } from "../json.ts";
import { deployed, ofType, token } from "../templates.ts";

const shell = z.strictObject({
  shell: z.enum(["sh", "pwsh"]),
  run: z.string(),
  interactive: z.literal(true).optional(),
});
const hook = z.strictObject({ posix: shell, windows: shell });
const service = z.strictObject({
  resourceName: z.string(),
  project: z.string(),
  dist: z.string(),
  language: z.literal("js"),
  host: z.literal("function"),
  remoteBuild: z.literal(false),
  hooks: z.strictObject({ prepackage: hook }),
});
const project = z.strictObject({
  name: z.string().regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/),
  requiredVersions: z.strictObject({ azd: z.string().regex(/^>= \d+\.\d+\.\d+$/) }),
  infra: z.strictObject({ provider: z.literal("bicep"), path: z.string(), module: z.string() }),
  services: z.record(z.string(), service),
  hooks: z.strictObject({ preup: hook, postup: hook, preprovision: hook, postprovision: hook, predown: hook }),
  workflows: z.strictObject({ up: z.strictObject({ steps: z.array(z.strictObject({ azd: z.string() })) }) }),
});

const azureYaml = project.parse(parse(readFileSync("azure.yaml", "utf8")));

describe("azure.yaml", () => {
  const scripts: Readonly<Record<string, string>> = JSON.parse(readFileSync("package.json", "utf8")).scripts;

  it("has a service for each app that can be deployed over the internet, so that a bare `azd deploy` works", () => {
    const apps = ofType(deployed(), "Microsoft.Web/sites").map(({ body }) => valueAt(body.tags, "azd-service-name"));
    expect(Object.keys(azureYaml.services)).toEqual(apps.filter(api => api !== "core"));
    expect(existsSync(join(azureYaml.infra.path, `${azureYaml.infra.module}.bicep`))).toBe(true);
  });

  it("finds each app by its name, because two environments in one resource group have the same tags", () => {
    const { outputs } = deployed();
    for (const [name, { resourceName }] of Object.entries(azureYaml.services)) {
      const output = resourceName.replace(/^\$\{(\w+)\}$/, "$1");
      expect(outputs[output]).toBe(`func-${name}-${token}`);
    }
  });

  it("shares nothing but DNS zones with another environment in the resource group, as docs/deploy.md says", () => {
    // The token contains the name of the environment. The name of the workbook is a hash of the component's name.
    const shared = deployed().resources.filter(
      ({ id, type }) => !id.includes(token) && type !== "Microsoft.Insights/workbooks",
    );
    expect(shared.map(({ type }) => type)).toEqual(Array(4).fill("Microsoft.Network/privateDnsZones"));
    const page = readFileSync("docs/deploy.md", "utf8").replaceAll(/\s+/g, " ");
    expect(page).toContain("**The DNS zones belong to all environments of the group**");
  });

  it("deploys what `npm run package` builds", () => {
    for (const { project: from, dist, hooks } of Object.values(azureYaml.services)) {
      for (const { run } of Object.values(hooks.prepackage)) expect(run).toBe("npm run package");
      expect([from, dist]).toEqual([".", "package"]);
    }
    expect(scripts.package).toBeDefined();
    expect(readFileSync("local/package/package.ts", "utf8")).toContain('writePackage("package", files)');
    // azd refuses to leave the build to Azure's side off where this file leaves the packages out.
    expect(readFileSync(".funcignore", "utf8")).not.toMatch(/node_modules\/?$/m);
  });

  it("runs hooks that are there, the same on every system", () => {
    for (const { posix, windows } of Object.values(azureYaml.hooks)) {
      expect(windows.run).toBe(posix.run);
      expect(existsSync(posix.run.replace(/^node (\S+)( --list)?$/, "$1")), posix.run).toBe(true);
    }
  });

  it("has hooks that read only variables that azd, an administrator or the template sets", () => {
    const outputs = Object.keys(deployed().outputs);
    const parameters = readFileSync("infra/main.parameters.json", "utf8");
    const described = readFileSync("docs/deploy.md", "utf8");
    const ofAzd = ["AZURE_RESOURCE_GROUP", "AZURE_SUBSCRIPTION_ID", "AZURE_ENV_NAME", "AZURE_LOCATION"];
    const isSet = (name: string) =>
      outputs.includes(name) ||
      ofAzd.includes(name) ||
      parameters.includes(`\${${name}`) ||
      described.includes(`\`${name}\``);
    const sources = globSync("infra/hooks/*.mjs").map(path => readFileSync(path, "utf8"));
    const names = sources.flatMap(source =>
      [...source.matchAll(/\{([^{}]+)\} = (?:process\.env|environment)\b/g)].flatMap(([, read = ""]) =>
        read.split(",").map(each => each.trim().replace(/[: =].*$/, "")),
      ),
    );
    expect(names.length).toBeGreaterThan(8);
    expect(names.filter(name => name !== "" && !isSet(name))).toEqual([]);
  });

  it("requires the azd that docs/deploy.md names", () => {
    expect(readFileSync("docs/deploy.md", "utf8")).toContain(
      `${azureYaml.requiredVersions.azd.replace(">= ", "")} or newer`,
    );
  });
});
