import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { appEnvironments } from "../../local/deploy/app-environments.ts";
import { readAllSettings } from "../../local/deploy/read-all-settings.ts";
import { deployed, ofType, outline } from "../infra/templates.ts";

const page = readFileSync("docs/deploy.md", "utf8");

/** The blocks of code of a section, in order. */
function blocksOf(heading: string): readonly string[] {
  const [, section = ""] = page.split(`\n## ${heading}\n`);
  const [text = ""] = section.split(/\n## /);
  return [...text.matchAll(/^ *```\w*\n([\s\S]*?)^ *```/gm)].map(([, block = ""]) => block);
}

/** The variables that the lines of a block set. */
const valuesIn = (block: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...block.matchAll(/^ *azd env set (\w+) (\S+)$/gm)].map(([, name = "", value = ""]) => [
      name,
      value.replaceAll(/^["']|["']$/g, ""),
    ]),
  );

/** The app settings of an API after these blocks. */
const settingsAfter = (api: "core" | "client" | "connector", ...blocks: readonly string[]) =>
  appEnvironments(Object.assign({}, ...blocks.map(valuesIn)))[api];

const [first = "", ...others] = blocksOf("First deployment").filter(block => block.includes("azd env set"));
const kinds = others.filter(block => block.includes("IDP_"));
const optional = others.filter(block => !block.includes("IDP_"));

describe("the first deployment of docs/deploy.md", () => {
  it("has the lines that every deployment needs, and lines for each kind of identity provider", () => {
    expect(Object.keys(valuesIn(first))).toContain("MAIL_DOMAIN");
    expect(kinds.map(block => valuesIn(block).IDP_DEFAULT)).toEqual(["pingone", "entra", "entra", "entra"]);
    expect(Object.keys(valuesIn(optional.join("\n")))).toContain("PIN_MAIL_DOMAINS");
  });

  it.each(kinds.map(block => [Object.keys(valuesIn(block)).join(", "), block]))(
    "gives settings with which every app starts: %s",
    (_, block) => {
      for (const api of ["core", "client", "connector"] as const)
        for (const more of [[], optional])
          expect(readAllSettings(settingsAfter(api, first, block, ...more)).deployment.SERVICE_APIS).toEqual([api]);
    },
  );

  it("does not start the connector without the lines of an identity provider, as the page says", () => {
    expect(() => readAllSettings(settingsAfter("connector", first))).toThrow("IDPA_FIDO_API_CLIENT_ID: must be set");
  });
});

describe("every block of docs/deploy.md", () => {
  it("sets variables that the template, a hook or a script reads", () => {
    const read = readFileSync("infra/main.parameters.json", "utf8");
    const hooks = ["preup", "preprovision", "predown"]
      .map(name => readFileSync(`infra/hooks/${name}.mjs`, "utf8"))
      .join();
    const names = [...page.matchAll(/azd env set ([A-Z_]+)/g)].map(([, name = ""]) => name);
    expect(names.length).toBeGreaterThan(20);
    expect(names.filter(name => !read.includes(`\${${name}`) && !hooks.includes(name))).toEqual([]);
  });

  it("names outputs of the template in angle brackets", () => {
    const outputs = Object.keys(outline["main.bicep"].outputs);
    const variables = readFileSync("infra/main.parameters.json", "utf8");
    const names = [...page.matchAll(/<([A-Z][A-Z_]+)>/g)].map(([, name = ""]) => name);
    expect(names.length).toBeGreaterThan(5);
    expect(names.filter(name => !outputs.includes(name) && !variables.includes(`\${${name}`))).toEqual([]);
  });

  it("names every address that is called outside of the network among the hosts that a firewall must allow", () => {
    const [, list = ""] = page.split("A firewall on the way out must allow");
    const [hosts = ""] = list.split("\nEvery subnet");
    // Own resources, addresses that only callers or users see, and identity providers, which have a line of their own.
    const others = /^(CLOUD_|PUBLIC_BASE_URL|PIN_MAIL_SIGN_IN_URL|IDP)/;
    const called = [...readFileSync("docs/settings.md", "utf8").matchAll(/^\| `(\w+_(?:URLS?|ENDPOINT))`/gm)]
      .map(([, name = ""]) => name)
      .filter(name => !others.test(name));
    expect(called).toEqual(expect.arrayContaining(["DELIVERY_API_BASE_URL", "EVENT_SINK_URLS"]));
    expect(called.filter(name => !hosts.includes(`\`${name}\``))).toEqual([]);
  });

  it("runs scripts that are there", () => {
    const paths = [...page.matchAll(/node (infra\/\S+\.mjs)/g)].map(([, path = ""]) => path);
    expect(paths).toEqual(expect.arrayContaining(["infra/scripts/register-api.mjs", "infra/scripts/deploy-core.mjs"]));
    for (const path of paths) expect(readFileSync(path, "utf8"), path).toContain("help: {");
  });

  it("writes a secret of several lines as a file of parameters that the template accepts", () => {
    const block = blocksOf("Secrets of peers").find(each => each.includes("secret.json")) ?? "";
    const [, source = ""] = /node -e '([\s\S]*?)' > secret\.json/.exec(block) ?? [];
    const lines: string[] = [];
    const text = "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\n";
    const run = new Function("require", "console", source);
    run(() => ({ readFileSync: () => text }), { log: (line: string) => lines.push(line) });
    expect(JSON.parse(lines.join())).toEqual({ parameters: { value: { value: text } } });
  });
});

it("names the zones by which a machine of an operator finds vaults and blobs, because their public addresses refuse it", () => {
  const zones = ofType(deployed(), "Microsoft.Network/privateDnsZones").map(({ name }) =>
    name.replace(/^\[format\('(.*)\{0\}', environment\(\)\.suffixes\.storage\)\]$/, "$1core.windows.net"),
  );
  const [, section = ""] = page.split("\n### From inside the network\n");
  const named = [...section.matchAll(/`(privatelink\.[a-z.]+)`/g)].map(([, name = ""]) => name);
  expect(named).toEqual(expect.arrayContaining(zones.filter(name => /vault|blob/.test(name))));
  expect(named.filter(name => !zones.includes(name))).toEqual([]);
});

describe("the costs of a stage", () => {
  it("contain the log alerts, of which Azure charges each by its frequency", () => {
    const rules = ofType(deployed(), "Microsoft.Insights/scheduledQueryRules")
      .map(({ body }) => body.properties as { readonly enabled: boolean; readonly evaluationFrequency: string })
      .filter(({ enabled }) => enabled);
    const prices = rules.map(({ evaluationFrequency }) => (evaluationFrequency === "PT5M" ? 1.5 : 0.5));
    const [, alerts] = /\balerts (\d+),/.exec(page) ?? [];
    expect(Math.ceil(prices.reduce((sum, price) => sum + price, 0))).toBe(Number(alerts));
  });
});
