import { execFile, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { startAuthHost } from "../../support/auth/host.ts";
import { openapiTools } from "./tools.ts";

// The first run installs the tools.
vi.setConfig({ testTimeout: 240_000 });

const tools = openapiTools();
const missing = "missing" in tools ? tools.missing : undefined;
const path = "path" in tools ? tools.path : "";
const names = ["core", "client", "connector"];

if (missing !== undefined) console.warn(`Skipped, because ${missing}`);

const run = (args: readonly string[], options: { readonly env?: NodeJS.ProcessEnv; readonly cwd?: string } = {}) =>
  spawnSync(process.execPath, args, { encoding: "utf8", ...options });

describe.skipIf(missing !== undefined)("the OpenAPI documents", () => {
  it("pass the recommended rules of Redocly without a warning, and the AsyncAPI document too", () => {
    const directory = mkdtempSync(join(tmpdir(), "documents-"));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const broken = (file: string, from: string, to: string) => {
      const path = join(directory, file);
      writeFileSync(path, readFileSync(`docs/${file.replace("-", "/")}`, "utf8").replaceAll(from, to));
      return path;
    };
    const wrong = [
      broken("openapi-client.json", '"operationId"', '"operationid"'),
      broken("asyncapi.json", '"action": "send"', '"action": "sends"'),
    ];
    const documents = [...names.map(name => `docs/openapi/${name}.json`), "docs/asyncapi.json"];
    const cli = join(path, "@redocly/cli/bin/cli.js");
    const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
    // The license of AsyncAPI has no identifier, only an address, which this one does not have.
    const rules = ["--extends=recommended", "--skip-rule=info-license-strict"];
    const { stdout } = run([cli, "lint", ...documents, ...wrong, ...rules, "--format=json"], { env });
    // One JSON document after another.
    const results = JSON.parse(`[${stdout.replaceAll(/^\}\{$/gm, "},{")}]`) as {
      problems: unknown[];
      totals: { errors: number; warnings: number };
    }[];
    expect(results.slice(0, documents.length).flatMap(({ problems }) => problems)).toEqual([]);
    expect(results.map(({ totals }) => totals.errors > 0)).toEqual([...documents.map(() => false), true, true]);
  });

  it("give a typed client that compiles, refuses an unknown field, and signs a user in", async () => {
    const directory = mkdtempSync(join(tmpdir(), "client-"));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    symlinkSync(path, join(directory, "node_modules"));
    writeFileSync(join(directory, "package.json"), '{ "type": "module" }');
    cpSync("test/functions/openapi/client-program.txt", join(directory, "program.ts"));
    for (const name of ["core", "client"]) {
      const cli = join(path, "openapi-typescript/bin/cli.js");
      const generated = run([cli, `docs/openapi/${name}.json`, "-o", join(directory, `${name}.d.ts`)]);
      expect(generated.status, generated.stderr).toBe(0);
    }
    const program = readFileSync(join(directory, "program.ts"), "utf8");
    writeFileSync(join(directory, "unknown-field.ts"), program.replace("username: name", "user_name: name"));
    const compiled = run(
      [
        // The project's, which takes an eighth of the CPU time of the generator's.
        resolve("node_modules/typescript/bin/tsc"),
        ..."--noEmit --strict --module nodenext --target es2022".split(" "),
        ...["--singleThreaded", "--allowImportingTsExtensions", "program.ts", "unknown-field.ts"],
      ],
      { cwd: directory },
    );
    const errors = compiled.stdout.split("\n").filter(line => /^\S/.test(line));
    expect(errors).toEqual([expect.stringMatching(/^unknown-field\.ts.*user_name/)]);

    const auth = await startAuthHost();
    const base = auth.coreUrl.replace(/\/core$/, "");
    const env = { ...process.env, BASE_URL: base, CORE_TOKEN: auth.token };
    // Not synchronous: the host asks the key vault, which is in this process.
    const ran = await promisify(execFile)(process.execPath, [join(directory, "program.ts")], { env, cwd: directory });
    expect(ran.stdout).toBe("created carol\nsigned in as carol\nrefused: 401\n");
  });
});
