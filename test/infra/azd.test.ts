import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import * as z from "zod";
import { type FakeCommands, fakeCommands } from "./fake-commands.ts";
import { deployed, ofType } from "./templates.ts";

const shell = z.object({ shell: z.enum(["sh", "pwsh"]), run: z.string() });
const hook = z.strictObject({ posix: shell, windows: shell });
const service = z.strictObject({
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
  hooks: z.strictObject({ preprovision: hook, postprovision: hook }),
  workflows: z.strictObject({ up: z.strictObject({ steps: z.array(z.strictObject({ azd: z.string() })) }) }),
});

const told = project.parse(parse(readFileSync("azure.yaml", "utf8")));

describe("azure.yaml", () => {
  const scripts: Readonly<Record<string, string>> = JSON.parse(readFileSync("package.json", "utf8")).scripts;

  it("has a service for each app of the template", () => {
    const apps = ofType(deployed(), "Microsoft.Web/sites").map(
      ({ body }) => (body.tags as { "azd-service-name": string })["azd-service-name"],
    );
    expect(Object.keys(told.services)).toEqual(apps);
    expect(existsSync(join(told.infra.path, `${told.infra.module}.bicep`))).toBe(true);
  });

  it("deploys what `npm run package` builds", () => {
    for (const { project: from, dist, hooks } of Object.values(told.services)) {
      for (const { run } of Object.values(hooks.prepackage)) expect(run).toBe("npm run package");
      expect([from, dist]).toEqual([".", "package"]);
    }
    expect(scripts.package).toBeDefined();
    expect(readFileSync("local/package/package.ts", "utf8")).toContain('writePackage("package", files)');
    // azd refuses to leave the build to Azure's side off where this file leaves the packages out.
    expect(readFileSync(".funcignore", "utf8")).not.toMatch(/node_modules\/?$/m);
  });

  it("runs hooks that are there, the same on every system", () => {
    for (const { posix, windows } of Object.values(told.hooks)) {
      expect(windows.run).toBe(posix.run);
      expect(existsSync(posix.run.replace(/^node /, "")), posix.run).toBe(true);
    }
  });

  it("has hooks that read nothing that neither azd, an administrator nor the template gives", () => {
    const outputs = Object.keys(deployed().outputs);
    const parameters = readFileSync("infra/main.parameters.json", "utf8");
    for (const { posix } of Object.values(told.hooks)) {
      const source = readFileSync(posix.run.replace(/^node /, ""), "utf8");
      const [, read = ""] = /const \{([^}]+)\} = process\.env/.exec(source) ?? [];
      const names = read.split(",").map(each => each.trim().replace(/:.*$/, ""));
      const given = (name: string) =>
        outputs.includes(name) ||
        ["AZURE_RESOURCE_GROUP", "AZURE_SUBSCRIPTION_ID"].includes(name) ||
        (name === "CALLER_AUDIENCES" && parameters.includes(`\${${name}}`));
      expect(
        names.filter(name => name !== "" && !given(name)),
        posix.run,
      ).toEqual([]);
    }
  });

  it("wants the azd that docs/deploy.md tells", () => {
    expect(readFileSync("docs/deploy.md", "utf8")).toContain(
      `${told.requiredVersions.azd.replace(">= ", "")} or newer`,
    );
  });

  it("deploys Client and the connector, and Core by a command of its own", () => {
    expect(told.workflows.up.steps.map(({ azd }) => azd)).toEqual([
      "provision",
      "package --all",
      "deploy client",
      "deploy connector",
    ]);
  });
});

/** Notes the arguments, and of a file of values its text and who may read it. */
const azd = `
const { appendFileSync, readFileSync, statSync } = require("node:fs");
const args = process.argv.slice(2);
const file = args[args.indexOf("--file") + 1];
const noted = { args, text: readFileSync(file, "utf8"), mode: statSync(file).mode & 0o777, file };
appendFileSync(directory + "/azd.log", JSON.stringify(noted) + "\\n");
`;
const az = (state: string) => `
require("node:fs").appendFileSync(directory + "/az.log", process.argv.slice(2).join(" ") + "\\n");
if (process.argv[3] === "show") console.log(${JSON.stringify(state)});
`;

interface Noted {
  readonly args: readonly string[];
  readonly text: string;
  readonly mode: number;
  readonly file: string;
}

describe("hooks", () => {
  let commands: FakeCommands | undefined;
  afterEach(() => commands?.remove());
  const notesOf = ({ directory }: FakeCommands): readonly Noted[] =>
    readFileSync(join(directory, "azd.log"), "utf8")
      .trim()
      .split("\n")
      .map(line => JSON.parse(line));
  const valuesOf = (text: string) =>
    Object.fromEntries([...text.matchAll(/^(\w+)="(.*)"$/gm)].map(([, name, value]) => [name, value]));

  it("give the template new keys in each run, by a file that nobody else can read and that is gone afterwards", async () => {
    commands = fakeCommands({ azd, az: az("Registered") });
    const output = await commands.run("infra/hooks/preprovision.mjs");
    await commands.run("infra/hooks/preprovision.mjs");
    const notes = notesOf(commands);
    const keys = notes.flatMap(({ text }) => {
      const { NEW_AUTH_DATA_KEY, NEW_AUTH_PEPPER, NEW_CONNECTOR_DATA_KEY, NEW_KEYS_EXPIRE_ON } = valuesOf(text);
      expect(Number(NEW_KEYS_EXPIRE_ON) * 1000 - Date.now()).toBeGreaterThan(364 * 86_400_000);
      return [NEW_AUTH_DATA_KEY, NEW_AUTH_PEPPER, NEW_CONNECTOR_DATA_KEY];
    });
    expect(new Set(keys).size).toBe(6);
    for (const key of keys) {
      expect(key).toMatch(/^[A-Za-z0-9_-]{43}$/);
      expect(output + JSON.stringify(notes.map(({ args }) => args))).not.toContain(key);
    }
    for (const { mode, file } of notes) {
      expect(mode).toBe(0o600);
      expect(existsSync(file)).toBe(false);
    }
  });

  it("register the provider that subnets are delegated to, once", async () => {
    commands = fakeCommands({ azd, az: az("NotRegistered") });
    await commands.run("infra/hooks/preprovision.mjs");
    expect(readFileSync(join(commands.directory, "az.log"), "utf8")).toContain(
      "provider register --namespace Microsoft.App --wait",
    );
    commands.remove();
    commands = fakeCommands({ azd, az: az("Registered") });
    await commands.run("infra/hooks/preprovision.mjs");
    expect(readFileSync(join(commands.directory, "az.log"), "utf8")).not.toContain("register --namespace");
  });

  it("go on where the provider cannot be registered, and say who can", async () => {
    commands = fakeCommands({ azd, az: "process.exitCode = 1;" });
    expect(await commands.run("infra/hooks/preprovision.mjs")).toContain(
      "az provider register --namespace Microsoft.App --wait",
    );
  });

  it("stop the run where azd does not take the keys", async () => {
    commands = fakeCommands({ azd: "process.exitCode = 3;", az: az("Registered") });
    await expect(commands.run("infra/hooks/preprovision.mjs")).rejects.toThrow("azd env set failed: status 3");
  });

  it("forget the keys afterwards, and tell what is left to do", async () => {
    commands = fakeCommands({ azd, az: az("Registered") });
    const records = [{ type: "TXT", name: "keys", value: "ms-domain-verification=1", ttl: 3600 }];
    const output = await commands.run("infra/hooks/postprovision.mjs", [], {
      MAIL_DOMAIN_VERIFIED: "false",
      MAIL_DOMAIN_NAME: "keys.example.com",
      MAIL_SERVICE_NAME: "mail-sample",
      AZURE_RESOURCE_GROUP: "rg-sample",
      MAIL_DNS_RECORDS: JSON.stringify(records),
      CALLER_AUDIENCES: "",
    });
    expect(valuesOf(notesOf(commands)[0]?.text ?? "")).toEqual({
      NEW_AUTH_DATA_KEY: "",
      NEW_AUTH_PEPPER: "",
      NEW_CONNECTOR_DATA_KEY: "",
    });
    expect(output).toContain("TXT  keys  3600  ms-domain-verification=1");
    expect(output).toContain("--domain-name keys.example.com --verification-type DKIM2");
    expect(output).toContain("register-api.mjs");
  });

  it("tell nothing where nothing is left to do", async () => {
    commands = fakeCommands({ azd, az: az("Registered") });
    const output = await commands.run("infra/hooks/postprovision.mjs", [], {
      MAIL_DOMAIN_VERIFIED: "true",
      CALLER_AUDIENCES: "a",
    });
    expect(output).toBe("");
  });
});
