import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { type LaunchedSystem, launchSystem } from "../../../local/demo/system.ts";
import { openapiFiles } from "../../../local/generate/openapi/files.ts";
import { httpCollection } from "../../../local/generate/openapi/http-collection.ts";
import { operationsOf } from "./document.ts";

let system: LaunchedSystem;
let facts: Awaited<LaunchedSystem["ready"]>;

beforeAll(async () => {
  system = launchSystem({});
  facts = await system.ready;
}, 120_000);
afterAll(() => system?.close());

/** Returns the collection of an API, and its variables. */
function collectionOf(api: "core" | "client" | "connector", access = { base: "http://127.0.0.1:7071", token: "" }) {
  const text = httpCollection(openapiFiles({})[`docs/openapi/${api}.json`], access, Date.now());
  const variables = Object.fromEntries(
    [...text.matchAll(/^@(\w+) = (.*)$/gm)].map(([, name = "", value]) => [name, value]),
  );
  return { text, variables };
}

/** Returns the requests of a collection with the values of its variables. */
function requestsIn({ text, variables }: ReturnType<typeof collectionOf>) {
  return text
    .replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => variables[name] ?? "")
    .split(/^### /m)
    .slice(1)
    .map(part => {
      const [head = "", ...bodyLines] = part.split("\n\n");
      const [title = "", call = "", ...headers] = head.trim().split("\n");
      const [method = "", url = ""] = call.split(" ");
      const body = bodyLines.join("\n\n").trim();
      return { id: title.replace(/:.*/, ""), method, url, headers, ...(body !== "" && { body }) };
    });
}

it("the calls of Core run from top to bottom on a new system, but for API tokens, which need a token of the tenant", async () => {
  const requests = requestsIn(collectionOf("core", { base: facts.host, token: facts.tokens.core }));
  const expected = new Map(operationsOf("core").map(({ id, example }) => [id, example.status]));
  const met: Record<string, number> = {};
  for (const { id, url, headers, ...init } of requests)
    met[id] = (
      await fetch(url, { ...init, headers: headers.map(line => line.split(": ") as [string, string]) })
    ).status;
  const wanted = requests.map(({ id }): [string, number | undefined] => [id, expected.get(id)]);
  expect(met).toEqual({ ...Object.fromEntries(wanted), coreCreateApiToken: 403, coreRevokeApiToken: 403 });
});

it.each(["core", "client", "connector"] as const)(
  "the calls of %s have plain values and no variables of one REST client",
  api => {
    const { text, variables } = collectionOf(api);
    expect(Object.keys(variables)).toContain("base");
    for (const [name, value] of Object.entries(variables)) expect(value, name).not.toContain("{{");
    for (const [, used] of text.matchAll(/\{\{(.*?)\}\}/g)) expect(Object.keys(variables)).toContain(used);
    const { paths } = openapiFiles({})[`docs/openapi/${api}.json`];
    const operations = Object.values(paths).flatMap(methods => Object.values(methods));
    const ids = operations.filter(({ deprecated }) => deprecated !== true).map(({ operationId }) => operationId);
    expect(
      requestsIn({ text, variables })
        .map(({ id }) => id)
        .sort(),
    ).toEqual(ids.sort());
  },
);

it("`npm run openapi -- --http` writes the calls for the system that runs, with its tokens, readable for the owner only", () => {
  const directory = mkdtempSync(join(tmpdir(), "calls-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const write = () =>
    spawnSync(process.execPath, ["local/generate/openapi.ts", "--http"], {
      env: { ...process.env, LOCAL_DIR: directory },
      encoding: "utf8",
    });
  expect(write()).toMatchObject({ status: 1, stderr: expect.stringContaining("Start the local system first") });
  writeFileSync(join(directory, "run.json"), JSON.stringify(facts));
  const paths = write().stdout.trim().split("\n");
  expect(paths).toEqual(["core", "client", "connector"].map(api => join(directory, "http", `${api}.http`)));
  for (const path of paths) expect(statSync(path).mode & 0o077, path).toBe(0);
  const [core = "", , connector = ""] = paths.map(path => readFileSync(path, "utf8"));
  expect(core).toContain(`@token = ${facts.tokens.core}\n`);
  expect(connector).toContain(`@token = ${facts.tokens.connector}\n`);
});
