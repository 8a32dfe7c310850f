import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import * as z from "zod";
import { appEnvironments } from "../../../local/deploy/app-environments.ts";
import { atEndOfFile } from "../../support/run/end-of-file.ts";
import { graphToken, simulatedGraph } from "../registration/simulated-graph.ts";
import { deployed } from "../templates.ts";
import { fine } from "./az-answers.ts";
import { simulatedSite } from "./simulated-site.ts";

/** The person who is signed in. */
export const person = "77777777-7777-4777-8777-777777777777";
/** The person whose user name is caller@example.com. */
export const otherPerson = "88888888-8888-4888-8888-888888888888";
const recordKinds = ["Domain", "SPF", "DKIM", "DKIM2"] as const;
const narrow = "UserAuthMethod-Passkey.ReadWrite.All";

interface Answer {
  readonly status: number;
  readonly out?: unknown;
}
const failed: Answer = { status: 1 };
const done = (out: unknown = ""): Answer => ({ status: 0, out });

const calls = z.object({ args: z.array(z.string()) });
const environments = z.record(z.string(), z.string());

/**
 * Simulates a subscription of Azure and its tenant, for commands `az` and `azd` that ask it over HTTP. A provision has the
 * outputs of the snapshots.
 */
export async function simulatedAzure() {
  const site = await simulatedSite();
  const graph = await simulatedGraph({ permissions: [narrow] });
  const records = { Domain: "NotStarted", SPF: "NotStarted", DKIM: "NotStarted", DKIM2: "NotStarted" };
  const tried = new Set<string>();
  const azure = {
    site,
    graph,
    origin: "",
    azCalls: [] as string[],
    provisions: [] as Readonly<Record<string, string>>[],
    /** Whether Core was closed since the last provision. */
    isCoreClosed: false,
    deploys: [] as string[],
    secrets: new Map<string, string>(),
    outputs: {} as Readonly<Record<string, unknown>>,
    /** Whether the file of identity providers is in the storage; undefined if this machine may not read it. */
    isBlobThere: undefined as boolean | undefined,
    /** Whether the person has published the DNS records. */
    isPublished: false,
    isLinked: false,
    records,
  };
  const current = () => azure.provisions.at(-1) ?? {};
  const isVerified = () => Object.values(records).every(state => state === "Verified");

  /** What a provision with this environment gives as outputs: those of the snapshot, with what only Azure knows. */
  const provision = (environment: Readonly<Record<string, string>>) => {
    azure.provisions.push(environment);
    azure.isCoreClosed = false;
    azure.outputs = outputsOf(environment);
    return azure.outputs;
  };
  const outputsOf = (environment: Readonly<Record<string, string>>) => {
    azure.isLinked = environment.MAIL_DOMAIN_LINKED === "true" || isVerified();
    const ofAzure = (name: string) => (name.endsWith("_URL") ? `http://${site.host}/${name.toLowerCase()}` : name);
    const outputs = Object.entries(deployed().outputs).map(([name, value]) => [
      name,
      String(value).startsWith("[") ? ofAzure(name) : value,
    ]);
    return { ...Object.fromEntries(outputs), MAIL_DOMAIN_VERIFIED: String(isVerified()), MAIL_DNS_RECORDS: "[]" };
  };

  const isCoreOpen = () => !azure.isCoreClosed && Boolean(current().CORE_SETUP_RANGE || current().CORE_DEPLOY_RANGE);
  site.refuses = () => !isCoreOpen();

  /** The status of a call: Core's API answers the range of the first deployment alone, and takes no token without callers. */
  const called = (address: string): number => {
    if (!address.includes("/core_url/")) return address.endsWith("/client/login") ? 200 : 201;
    if (azure.isCoreClosed || !current().CORE_SETUP_RANGE) return 403;
    return current().CALLER_AUDIENCES ? 201 : 401;
  };

  const siteNamed = (name: string) => {
    const isOpen = !name.startsWith("func-core-") || isCoreOpen();
    const hostNameSslStates = [{ hostType: "Repository", name: site.host }];
    const publicNetworkAccess = isOpen ? "Enabled" : "Disabled";
    return done({
      id: `/sites/${name}`,
      properties: { publicNetworkAccess, defaultHostName: site.host, hostNameSslStates },
    });
  };

  /** Azure goes on between two reads, and does not find a new record at first. */
  const advance = () => {
    for (const kind of recordKinds) {
      if (records[kind] === "VerificationRequested") records[kind] = "VerificationInProgress";
      else if (records[kind] === "VerificationInProgress") {
        records[kind] = azure.isPublished && tried.has(kind) ? "Verified" : "VerificationFailed";
        tried.add(kind);
      }
    }
  };

  const rest = (method: string, url: string, body: string): Answer => {
    if (url.includes("/permissions?")) return done(fine.permissions);
    if (url.includes("/communicationServices?")) {
      const id = `/domains/${current().MAIL_DOMAIN}`;
      const properties = { linkedDomains: azure.isLinked ? [id] : [] };
      return done({ value: [{ tags: { "azd-env-name": current().AZURE_ENV_NAME }, properties }] });
    }
    if (url.includes("/initiateVerification?")) {
      const { verificationType } = z.object({ verificationType: z.enum(recordKinds) }).parse(JSON.parse(body));
      if (verificationType !== "Domain" && records.Domain !== "Verified") return failed;
      records[verificationType] = "VerificationRequested";
      return done();
    }
    if (method === "get" && url.includes("/emailServices/")) {
      const kinds = Object.entries(records);
      advance();
      const verificationStates = Object.fromEntries(kinds.map(([kind, status]) => [kind, { status }]));
      // As in Azure, the names of TXT records are whole, those of CNAME records lack the domain.
      const record = (kind: string) => ({
        type: kind.startsWith("DKIM") ? "CNAME" : "TXT",
        name: kind.startsWith("DKIM") ? `${kind.toLowerCase()}._domainkey` : current().MAIL_DOMAIN,
        ttl: 3600,
        value: `value-of-${kind}`,
      });
      const verificationRecords = Object.fromEntries(kinds.map(([kind]) => [kind, record(kind)]));
      return done({ properties: { verificationStates, verificationRecords } });
    }
    const [, vault = ""] = /\/vaults\/([^/]+)\/secrets\?/.exec(url) ?? [];
    if (vault !== "")
      return done({
        value: [...azure.secrets.keys()]
          .filter(key => key.startsWith(`${vault}/`))
          .map(key => ({ name: key.split("/")[1] })),
      });
    return url.includes("/host/default/sync?") ? done() : failed;
  };

  const az = (args: readonly string[]): Answer => {
    const call = args.join(" ");
    azure.azCalls.push(call);
    const option = (name: string) => args[args.indexOf(name) + 1] ?? "";
    const commands: readonly (readonly [string, () => Answer])[] = [
      ["login", () => done([{ state: "Enabled" }])],
      ["account get-access-token --resource https://graph.microsoft.com", () => done(graphToken)],
      ["account get-access-token --scope api://", () => done("token-of-the-api")],
      ["account get-access-token", () => done({ accessToken: "token-of-az" })],
      ["ad signed-in-user show", () => done(person)],
      ["ad user show --id caller@example.com", () => done(otherPerson)],
      [
        "resource update",
        () => {
          azure.isCoreClosed = call.includes("--set properties.publicNetworkAccess=Disabled");
          return siteNamed(option("--name"));
        },
      ],
      ["storage blob exists", () => (azure.isBlobThere === undefined ? failed : done({ exists: azure.isBlobThere }))],
      [
        "storage blob upload",
        () => {
          azure.isBlobThere = true;
          return done({});
        },
      ],
      ["resource show", () => siteNamed(option("--name"))],
      ["functionapp function list", () => done(site.packages.length > 0 ? ["func/health", "func/backUp"] : [])],
      [
        "functionapp config appsettings list",
        () => {
          const api = option("--name").startsWith("func-core-") ? "core" : "connector";
          return done(Object.entries(appEnvironments(current())[api]).map(([name, value]) => ({ name, value })));
        },
      ],
      ["functionapp keys list", () => done({ masterKey: "the-master-key" })],
      [
        "deployment group create",
        () => {
          const file = JSON.parse(readFileSync(option("--parameters").slice(1), "utf8"));
          const { vaultName, name, value } = file.parameters;
          azure.secrets.set(`${vaultName.value}/${name.value}`, value.value);
          return done({});
        },
      ],
      ["rest", () => rest(option("--method"), option("--url"), option("--body"))],
    ];
    const usual = Object.entries(fine).find(([words]) => call.includes(words));
    return commands.find(([words]) => call.startsWith(words))?.[1]() ?? (usual === undefined ? failed : done(usual[1]));
  };

  const server = createServer(async (request, response) => {
    const body: unknown = await json(request);
    const answer = (): unknown => {
      if (request.url === "/az") return az(calls.parse(body).args);
      if (request.url === "/refresh") return azure.outputs;
      if (request.url === "/curl") return called(calls.parse(body).args.find(each => each.startsWith("http:")) ?? "");
      if (request.url === "/provision") return provision(environments.parse(body));
      azure.deploys.push(...calls.parse(body).args);
      return {};
    };
    response.end(JSON.stringify(answer()));
  });
  await new Promise<void>(listening => server.listen(0, "127.0.0.1", listening));
  azure.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  atEndOfFile(async () => {
    server.close();
    await graph.close();
  });
  return azure;
}

/** `az`, which asks the simulated Azure. Prints texts as they are, as with `--output tsv`, and everything else as JSON. */
export const azCommand = (origin: string) => `
const args = process.argv.slice(2);
fetch("${origin}/az", { method: "POST", body: JSON.stringify({ args }) }).then(response => response.json()).then(({ status, out }) => {
  if (status !== 0) console.error("ERROR: not found: az " + args.join(" "));
  else if (out !== "") console.log(args.includes("tsv") ? String(out) : JSON.stringify(out));
  process.exitCode = status;
});`;

/**
 * `azd`, with its environment in a file of the working directory and the hooks of azure.yaml, which it runs as azd does: with the
 * environment as variables, which it reads again after each.
 */
export const azdCommand = (origin: string, hooks: object, workflow: readonly string[]) => `
const { spawnSync } = require("node:child_process");
const { existsSync, mkdirSync, readFileSync, writeFileSync } = require("node:fs");
const hooks = ${JSON.stringify(hooks)};
const file = ".azure/env.json";
const read = () => existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
const change = values => { mkdirSync(".azure", { recursive: true }); writeFileSync(file, JSON.stringify({ ...read(), ...values })); };
const fail = message => { console.error("ERROR: " + message); process.exit(1); };
const runHook = name => {
  const hook = hooks[name]?.posix;
  if (hook === undefined) return;
  const stdio = hook.interactive ? "inherit" : ["ignore", "inherit", "inherit"];
  const { status } = spawnSync(hook.shell, ["-c", hook.run], { stdio, env: { ...process.env, ...read() } });
  if (status !== 0) fail("'" + name + "' hook failed with exit code " + status);
};
const post = (path, body) => fetch("${origin}" + path, { method: "POST", body: JSON.stringify(body) }).then(response => response.json());
const provision = async () => {
  runHook("preprovision");
  if (!read().MAIL_DOMAIN) fail("prompting for mailDomain");
  change(await post("/provision", read()));
  runHook("postprovision");
};
const steps = {
  provision,
  "package --all": async () => runHook("prepackage"),
  deploy: async name => { await post("/deploy", { args: [name] }); console.log("Deployed " + name); },
};
const main = async ([command, ...args]) => {
  if (command === "auth") return console.log("Logged in to Azure.");
  if (command === "env" && args[0] === "new") {
    const [, name, ...options] = args;
    const [subscription, location] = ["--subscription", "--location"].map(each => options[options.indexOf(each) + 1]);
    return change({ AZURE_ENV_NAME: name, ...(subscription && { AZURE_SUBSCRIPTION_ID: subscription, AZURE_LOCATION: location }) });
  }
  if (read() === undefined && command !== "up") fail("no environment exists");
  if (command === "env" && args[0] === "set" && args[1] === "--file") {
    const lines = readFileSync(args[2], "utf8").matchAll(/^(\\w+)="(.*)"$/gm);
    return change(Object.fromEntries([...lines].map(([, name, value]) => [name, value])));
  }
  if (command === "env" && args[0] === "set") return change({ [args[1]]: args[2] });
  if (command === "env" && args[0] === "get-value") return args[1] in read() ? console.log(read()[args[1]]) : fail("no such key");
  if (command === "env" && args[0] === "get-values") return console.log(JSON.stringify(read()));
  if (command === "env" && args[0] === "refresh") return change(await post("/refresh", {}));
  if (command === "provision") return provision();
  if (command !== "up") fail("unknown command " + command);
  if (read() === undefined) change({ AZURE_ENV_NAME: "production" });
  runHook("preup");
  change({ AZURE_SUBSCRIPTION_ID: "11111111-1111-4111-8111-111111111111", AZURE_LOCATION: "swedencentral", AZURE_RESOURCE_GROUP: "rg-production" });
  for (const step of ${JSON.stringify(workflow)}) {
    const [, name] = /^deploy (\\w+)$/.exec(step) ?? [];
    await (name === undefined ? steps[step]() : steps.deploy(name));
  }
  runHook("postup");
};
main(process.argv.slice(2)).catch(error => fail(error.stack));
`;

/** Sends calls of Microsoft Graph to the simulated one, and makes pauses short: \`node --import\` loads it first. */
export const graphRedirect = (origin: string) => `
import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";
const { setTimeout: pause } = timers;
timers.setTimeout = (ms, ...more) => pause(Math.min(ms, 20), ...more);
syncBuiltinESMExports();
const real = globalThis.fetch;
const graph = "https://graph.microsoft.com";
globalThis.fetch = async (url, options) => {
  if (!String(url).startsWith(graph)) return real(url, options);
  const response = await real(String(url).replace(graph, "${origin}"), options);
  const text = (await response.text()).replaceAll("${origin}", graph);
  return new Response(text || null, { status: response.status, headers: { "retry-after": response.headers.get("retry-after") ?? "" } });
};
`;
