import { mkdtempSync, readdirSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type LaunchedSystem, launchSystem } from "../../../local/demo/system.ts";
import { writeBruno } from "../../../local/generate/bruno.ts";
import { openapiFiles } from "../../../local/generate/openapi/files.ts";
import { operationsOf } from "./document.ts";

let system: LaunchedSystem;
let facts: Awaited<LaunchedSystem["ready"]>;

beforeAll(async () => {
  system = launchSystem({});
  facts = await system.ready;
}, 120_000);
afterAll(() => system?.close());

/** Returns the requests of a file for REST clients, with these variables. */
const requestsIn = (path: string, variables: Readonly<Record<string, string>>) =>
  readFileSync(path, "utf8")
    .replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => variables[name] ?? "")
    .split(/^### /m)
    .slice(1)
    .map(text => {
      const [head = "", ...bodyLines] = text.split("\n\n");
      const [title = "", call = "", ...headers] = head.trim().split("\n");
      const [method = "", url = ""] = call.split(" ");
      const body = bodyLines.join("\n\n").trim();
      return { id: title.replace(/:.*/, ""), method, url, headers, ...(body !== "" && { body }) };
    });

it("core.http runs from top to bottom on a new system, but for API tokens, which need a token of the tenant", async () => {
  const soon = new Date(Date.now() + 3_600_000).toISOString();
  const requests = requestsIn("docs/openapi/core.http", { base: facts.host, token: facts.tokens.core, soon });
  const expected = new Map(operationsOf("core").map(({ id, example }) => [id, example.status]));
  const met: Record<string, number> = {};
  for (const { id, url, headers, ...init } of requests)
    met[id] = (
      await fetch(url, { ...init, headers: headers.map(line => line.split(": ") as [string, string]) })
    ).status;
  const wanted = requests.map(({ id }): [string, number | undefined] => [id, expected.get(id)]);
  expect(met).toEqual({ ...Object.fromEntries(wanted), coreCreateApiToken: 403, coreRevokeApiToken: 403 });
});

it.each(["core", "client", "connector"])("%s.http has plain values and no variables of one REST client", api => {
  const text = readFileSync(`docs/openapi/${api}.http`, "utf8");
  const variables = [...text.matchAll(/^@(\w+) = (.*)$/gm)];
  expect(variables.length).toBeGreaterThan(0);
  for (const [, name, value] of variables) expect(value, name).not.toContain("{{");
  const named = new Set(variables.map(([, name]) => name));
  for (const [, used] of text.matchAll(/\{\{(.*?)\}\}/g)) expect(named).toContain(used);
});

it("the collection for Bruno has every example, and its tokens in one file that only the owner can read", () => {
  const directory = join(mkdtempSync(join(tmpdir(), "bruno-")), "collection");
  const { "docs/openapi/core.json": core = {}, "docs/openapi/connector.json": connector = {} } = openapiFiles({});
  writeBruno(directory, { core, connector }, { base: "http://127.0.0.1:7071", coreToken: "a token" });
  const environment = join(directory, "environments", "local.bru");
  expect(statSync(environment).mode & 0o077).toBe(0);
  expect(readFileSync(environment, "utf8")).toContain("coreToken: a token");
  const ids = requestsIn("docs/openapi/core.http", {}).map(({ id }) => `${id}.bru`);
  expect(readdirSync(join(directory, "core")).sort()).toEqual(ids.sort());
  const read = readFileSync(join(directory, "connector", "v2GetCredentialRequest.bru"), "utf8");
  expect(read).toContain("url: {{base}}/v2/credential-requests/{{credentialRequest}}\n");
  expect(read).toContain("Authorization: Bearer {{connectorToken}}");
});
