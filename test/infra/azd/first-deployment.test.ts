import { spawn, spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { client, core } from "../../../functions/auth/routes.ts";
import { connector } from "../../../functions/connector/routes.ts";
import { httpFunctions } from "../../../lib/platform/http/api.ts";
import { azCommand, azdCommand, graphRedirect, person, simulatedAzure } from "./simulated-azure.ts";

const page = readFileSync("docs/deploy.md", "utf8");
/** The commands of a section, one for each: a line that ends with a backslash continues. */
const commandsOf = (heading: string): readonly string[] => {
  const [, section = ""] = page.split(`\n${heading}\n`);
  const [, block = ""] = /^```\n([\s\S]*?)^```/m.exec(section) ?? [];
  return block.replaceAll("\\\n", " ").trim().replace(/\n +/g, " ").split("\n");
};
const first = commandsOf("## First deployment");
const firstOrder = commandsOf("### The first user and the first order");

const hasTerminals = spawnSync("script", ["--version"]).status === 0;

let directories: string[] = [];
afterEach(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
  directories = [];
});

/** A clone of the project with an Azure of its own, and commands in front of all others. */
async function clone() {
  const azure = await simulatedAzure();
  const root = mkdtempSync(join(tmpdir(), "clone-"));
  const bin = mkdtempSync(join(tmpdir(), "bin-"));
  directories.push(root, bin);
  for (const part of [
    "infra",
    "local",
    "lib",
    "functions",
    "commands",
    "docs",
    "package.json",
    "package-lock.json",
    "azure.yaml",
  ])
    cpSync(part, join(root, part), { recursive: true });
  for (const part of ["node_modules", ".node"].filter(existsSync)) symlinkSync(resolve(part), join(root, part));
  const { hooks, services, workflows } = parse(readFileSync("azure.yaml", "utf8"));
  const steps = workflows.up.steps.map(({ azd }: { azd: string }) => azd);
  const preload = join(bin, "graph.mjs");
  writeFileSync(preload, graphRedirect(azure.graph.origin));
  const commands: Readonly<Record<string, string>> = {
    az: azCommand(azure.origin),
    azd: azdCommand(azure.origin, { ...hooks, ...services.client.hooks }, steps),
    // The package is built by tests of its own, and no peer is there to be checked.
    npm: `
const { spawnSync } = require("node:child_process");
const { appendFileSync, readFileSync, writeFileSync } = require("node:fs");
const [name, ...args] = process.argv.slice(2).filter(each => !["run", "--silent", "--"].includes(each));
appendFileSync(${JSON.stringify(join(bin, "npm.log"))}, JSON.stringify({ name, args, key: process.env.FUNCTIONS_KEY }) + "\\n");
if (name === "package") writeFileSync("package.zip", "the package");
else if (name !== "check-peers") {
  const script = JSON.parse(readFileSync("package.json", "utf8")).scripts[name];
  process.exitCode = spawnSync("sh", ["-c", [script, ...args].join(" ")], { stdio: "inherit" }).status;
}`,
    curl: `
const args = process.argv.slice(2);
require("node:fs").appendFileSync(${JSON.stringify(join(bin, "curl.log"))}, JSON.stringify(args) + "\\n");
fetch("${azure.origin}/curl", { method: "POST", body: JSON.stringify({ args }) }).then(response => response.text()).then(status => {
  const format = args[args.indexOf("-w") + 1] ?? "";
  process.stdout.write(format.replaceAll("\\\\n", "\\n").replace("%{http_code}", status));
});`,
  };
  for (const [name, source] of Object.entries(commands)) {
    writeFileSync(join(bin, name), `#!${process.execPath}\n${source}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}`, NODE_OPTIONS: `--import=${preload}` };
  const linesOf = (log: string): readonly Readonly<Record<string, unknown>>[] =>
    existsSync(join(bin, log))
      ? readFileSync(join(bin, log), "utf8")
          .trim()
          .split("\n")
          .map(line => JSON.parse(line))
      : [];
  const environment = (): Readonly<Record<string, string>> =>
    JSON.parse(readFileSync(join(root, ".azure/env.json"), "utf8"));

  /** Runs a command at a terminal, and answers each question by the name at its end. */
  const atTerminal = (command: string, answers: Readonly<Record<string, string>> = {}) =>
    new Promise<{ readonly status: number | null; readonly output: string; readonly asked: readonly string[] }>(
      done => {
        const child = spawn("script", ["-qefc", command, "/dev/null"], { cwd: root, env: { ...env, TERM: "dumb" } });
        let output = "";
        let read = 0;
        const asked: string[] = [];
        child.stdout.on("data", (chunk: Buffer) => {
          output += stripVTControlCharacters(chunk.toString());
          const question = output.slice(read);
          if (!question.endsWith(": ")) return;
          read = output.length;
          const key =
            Object.keys(answers).find(name => question.endsWith(`${name}: `) || question.includes(`${name}, `)) ?? "";
          asked.push(key);
          child.stdin.write(`${answers[key] ?? ""}\r`);
        });
        child.on("close", status => done({ status, output: output.replaceAll("\r", ""), asked }));
      },
    );
  const inShell = (script: string) =>
    new Promise<{ readonly status: number | null; readonly output: string }>(done => {
      const child = spawn("bash", ["-ec", script], { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
      let output = "";
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (chunk: Buffer) => {
          output += chunk.toString();
        });
      child.on("close", status => done({ status, output }));
    });
  return {
    azure,
    root,
    atTerminal,
    inShell,
    environment,
    npm: () => linesOf("npm.log"),
    curl: () => linesOf("curl.log"),
  };
}

const answers = {
  MAIL_DOMAIN: "keys.example.com",
  DELIVERY_API_BASE_URL: "https://delivery.example.com",
  DELIVERY_JWKS_SIGN_ENDPOINT: "https://delivery.example.com/sign/jwks.json",
  DELIVERY_JWKS_TRANSPORT_ENDPOINT: "https://delivery.example.com/transport/jwks.json",
  Number: "1",
  CORE_SETUP_RANGE: "203.0.113.7/32",
};

describe("the page that an administrator follows", () => {
  it("leads from a clone to a first order with 9 commands", () => {
    expect([...first, ...firstOrder]).toHaveLength(9);
    expect(first).toEqual(["azd auth login", "az login", "azd up", "npm run deploy:finish"]);
  });

  it.skipIf(!hasTerminals)(
    "works as it is written, at a terminal, with two provisions",
    async () => {
      const { azure, atTerminal, inShell, environment, npm, curl } = await clone();
      expect((await inShell(first.slice(0, 2).join("\n"))).status).toBe(0);

      const up = await atTerminal(first[2] ?? "", answers);
      expect(up.output).toContain("This is left:");
      expect(up.status).toBe(0);
      expect(up.asked).toEqual([
        "MAIL_DOMAIN",
        "Number",
        "DELIVERY_API_BASE_URL",
        "DELIVERY_JWKS_SIGN_ENDPOINT",
        "DELIVERY_JWKS_TRANSPORT_ENDPOINT",
        "CORE_SETUP_RANGE",
      ]);
      expect(azure.deploys).toEqual(["client", "connector"]);
      const left = up.output.slice(up.output.indexOf("This is left:"));
      for (const value of [
        "value-of-Domain",
        "value-of-DKIM2",
        "register the APIs",
        "passkeys",
        "delivery-api-token",
        "Core's package",
      ])
        expect(left).toContain(value);
      expect(environment()).toMatchObject({ NEW_AUTH_DATA_KEY: "", NEW_AUTH_PEPPER: "", NEW_CONNECTOR_DATA_KEY: "" });

      azure.isPublished = true;
      const finish = await atTerminal(first[3] ?? "", { "delivery-api-token": "a secret of the peer" });
      expect(finish.output).toContain("Nothing is left.");
      expect(finish.status).toBe(0);
      expect(finish.output).not.toContain("a secret of the peer");
      expect([...azure.secrets].map(([name, value]) => [name.replace(/^kv-conn-\w+\//, ""), value])).toEqual([
        ["delivery-api-token", "a secret of the peer"],
      ]);
      expect(azure.site.packages.map(({ bytes }) => bytes.toString())).toEqual(["the package"]);
      const [application] = azure.graph.applications;
      expect(azure.graph.assignments.filter(({ principalId }) => principalId === person)).toHaveLength(2);
      expect(azure.provisions).toHaveLength(2);
      expect(azure.provisions[1]).toMatchObject({ CALLER_AUDIENCES: application?.appId });
      expect(azure.isLinked).toBe(true);
      expect(npm().at(-1)).toMatchObject({
        name: "check-peers",
        args: ["--url", environment().CONNECTOR_URL],
        key: "the-master-key",
      });
      expect(azure.azCalls.join("\n")).not.toContain("a secret of the peer");

      // Nothing is done twice.
      const [uploads, provisions] = [azure.site.packages.length, azure.provisions.length];
      const again = await atTerminal(first[3] ?? "");
      expect(again.output.match(/nothing to do/g)).toHaveLength(7);
      expect([azure.site.packages.length, azure.provisions.length]).toEqual([uploads, provisions]);

      // Core can be reached from the range until the first user is there, and from nowhere afterwards.
      expect(again.output).toContain("Core can be reached from 203.0.113.7/32.");
      const order = await inShell(firstOrder.join("\n"));
      expect(order).toMatchObject({ status: 0 });
      expect(order.output.match(/^\d{3}$/gm)).toEqual(["201", "200", "201"]);
      expect(order.output).toContain("Core's API is closed to the internet.");
      expect((await inShell(firstOrder.slice(0, 2).join("\n"))).output).toMatch(/^403$/m);
      expect(environment().CORE_SETUP_RANGE).toBe("");
      expect(azure.provisions).toHaveLength(2);
      expect((await inShell("npm run deploy:finish -- --list")).output).not.toContain("Core can be reached");
      const called = curl().map(args => Object.values(args).map(String));
      const routes = [
        ...httpFunctions(core, "core"),
        ...httpFunctions(client, "client"),
        ...httpFunctions(connector, ""),
      ].flatMap(({ template, methods }) => methods.map(method => `${method} /${template}`));
      const { CORE_URL = "", CLIENT_URL = "", CONNECTOR_URL = "" } = environment();
      for (const [position, base] of [CORE_URL, CLIENT_URL, CONNECTOR_URL].entries()) {
        const [, method, address = ""] = called[position] ?? [];
        expect(routes).toContain(`${method} ${address.replace(base, "")}`);
      }
      expect(called[2]).toContain("authorization: Bearer token-of-the-api");
    },
    600_000,
  );

  it("names what is missing at once where nobody can be asked, and does each step as soon as it can be done", async () => {
    const { azure, root, inShell, environment, npm } = await clone();
    const up = await inShell("azd up </dev/null");
    expect(up.status).toBe(1);
    expect(up.output).toContain("- DELIVERY_API_BASE_URL: must be set");
    expect(azure.provisions).toEqual([]);
    const lines = commandsOf("### What azd up asks for");
    const [, section = ""] = page.split("\n### What azd up asks for\n");
    const idp = section.slice(section.indexOf("by the connector's own identity"));
    const [, ofIdp = ""] = /^```\n([\s\S]*?)^```/m.exec(idp) ?? [];
    const range = "azd env set CORE_SETUP_RANGE 203.0.113.7/32";
    expect(page).toContain(range);
    const onPurpose = "azd env set CORE_DEPLOY_RANGE 198.51.100.0/24";
    expect(await inShell(`${[...lines, range, onPurpose].join("\n")}\n${ofIdp}azd up </dev/null`)).toMatchObject({
      status: 0,
    });
    expect(environment().IDPA_MANAGED_IDENTITY).toBe("true");
    expect(azure.provisions).toHaveLength(1);

    // Nobody can be asked for a secret, no record is published, and Core's site refuses this machine: the rest is done.
    azure.site.uploads = [403];
    const refused = await inShell("npm run deploy:finish -- --wait 0 </dev/null");
    expect(refused.status).toBe(1);
    const left = refused.output.slice(refused.output.indexOf("This is left:"));
    expect(left).toMatch(
      /- Secrets of peers: delivery-api-token in kv-conn-\w+: the API token of the delivery service/,
    );
    expect(left).toMatch(/- Core's package: .* refuses this machine, .*CORE_DEPLOY_RANGE or CORE_SETUP_RANGE/);
    expect(left).toMatch(
      /- DNS records: publish these DNS records of keys\.example\.com \(type, name, seconds, value\):\n {4}TXT {2}keys\.example\.com {2}3600 {2}value-of-Domain\n/,
    );
    expect(left).toContain("    CNAME  dkim2._domainkey.keys.example.com  3600  value-of-DKIM2");
    expect(left).toMatch(/- Last provision: `azd provision` is needed for the callers\. It waits for the DNS records/);
    expect(left).not.toMatch(/- (Callers|Permission for passkeys)/);
    expect([azure.provisions.length, azure.site.packages.length]).toEqual([1, 0]);
    expect(npm().at(-1)).toMatchObject({ name: "check-peers" });

    // Without the emails, the callers are provisioned, once.
    const withoutMail = await inShell("npm run deploy:finish -- --without-mail </dev/null");
    expect(withoutMail.output).toMatch(/Callers: nothing to do\.\nPermission for passkeys: nothing to do\./);
    expect(azure.provisions.map(({ CALLER_AUDIENCES }) => CALLER_AUDIENCES)).toEqual([
      undefined,
      azure.graph.applications[0]?.appId,
    ]);
    expect([azure.isLinked, azure.site.packages.length]).toEqual([false, 1]);
    expect((await inShell("npm run deploy:finish -- --without-mail </dev/null")).status).toBe(1);
    expect(azure.provisions).toHaveLength(2);

    // With the records, the domain is linked.
    azure.isPublished = true;
    const linked = await inShell("npm run deploy:finish </dev/null");
    expect(linked.output).toContain("Running azd provision");
    expect([azure.provisions.length, azure.isLinked]).toEqual([3, true]);
    expect(linked.output.slice(linked.output.indexOf("This is left:")).match(/^- .*$/gm)).toEqual([
      expect.stringContaining("- Secrets of peers: delivery-api-token"),
    ]);

    // Closing keeps the range that the administrator has opened on purpose.
    expect((await inShell("npm run deploy:finish -- --close")).status).toBe(0);
    expect(azure.provisions[3]).toMatchObject({ CORE_SETUP_RANGE: "", CORE_DEPLOY_RANGE: "198.51.100.0/24" });

    // An environment of names alone, as for a stage of a pipeline: the settings are those of the deployed apps.
    rmSync(join(root, ".azure"), { recursive: true });
    const { AZURE_SUBSCRIPTION_ID = "", AZURE_RESOURCE_GROUP = "" } = azure.provisions[3] ?? {};
    const fresh = `azd env new production --subscription ${AZURE_SUBSCRIPTION_ID} --location swedencentral
      azd env set AZURE_RESOURCE_GROUP ${AZURE_RESOURCE_GROUP}; azd env refresh`;
    const list = await inShell(`${fresh}; npm run deploy:finish -- --list </dev/null`);
    expect(list.output.slice(list.output.indexOf("This is left:")).match(/^- .*$/gm)).toEqual([
      expect.stringContaining("- Secrets of peers: delivery-api-token"),
    ]);
  }, 600_000);
});
