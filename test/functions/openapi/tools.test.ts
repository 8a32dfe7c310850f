import { execFile, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { eventTypes } from "../../../lib/connector/events/event.ts";
import { startAuthHost } from "../../support/auth/host.ts";
import { openapiTools } from "./tools.ts";

// The first run installs the tools.
vi.setConfig({ testTimeout: 240_000 });

const tools = openapiTools();
const missing = "missing" in tools ? tools.missing : undefined;
const path = "path" in tools ? tools.path : "";
const names = ["core", "client", "connector", "maintenance"];

if (missing !== undefined) console.warn(`Skipped, because ${missing}`);

const run = (args: readonly string[], options: { readonly env?: NodeJS.ProcessEnv; readonly cwd?: string } = {}) =>
  spawnSync(process.execPath, args, { encoding: "utf8", ...options });

describe.skipIf(missing !== undefined)("the OpenAPI documents", () => {
  it("pass the recommended rules of Redocly without a warning", () => {
    const cli = join(path, "@redocly/cli/bin/cli.js");
    const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
    const files = names.map(name => `docs/openapi/${name}.json`);
    const { stdout } = run([cli, "lint", ...files, "--extends=recommended", "--format=json"], { env });
    // One JSON document after another.
    const results = JSON.parse(`[${stdout.replaceAll(/^\}\{$/gm, "},{")}]`) as {
      problems: unknown[];
      totals: object;
    }[];
    expect(results.flatMap(({ problems }) => problems)).toEqual([]);
    expect(results.map(({ totals }) => totals)).toMatchObject(names.map(() => ({ errors: 0, warnings: 0 })));
  });

  it.each(names)("pass Spectral's rules for OpenAPI without a warning: %s", async name => {
    const load = createRequire(`${path}/`);
    const { Spectral, Document } = load("@stoplight/spectral-core");
    const { Json } = load("@stoplight/spectral-parsers");
    const { oas } = load("@stoplight/spectral-rulesets");
    const spectral = new Spectral();
    spectral.setRuleset({ extends: [oas] });
    const file = `docs/openapi/${name}.json`;
    expect(await spectral.run(new Document(readFileSync(file, "utf8"), Json, file))).toEqual([]);
    if (name !== "client") return;
    const broken = readFileSync(file, "utf8").replaceAll('"operationId"', '"operationid"');
    expect((await spectral.run(new Document(broken, Json, file))).length).toBeGreaterThan(0);
  });

  it("have one of AsyncAPI beside them, which its parser reads without a warning", async () => {
    const { Parser } = createRequire(`${path}/`)("@asyncapi/parser");
    const text = readFileSync("docs/asyncapi.json", "utf8");
    const { document, diagnostics } = await new Parser().parse(text);
    expect(diagnostics).toEqual([]);
    expect(document.operations().all()).toHaveLength(1);
    expect(document.messages().all()).toHaveLength(eventTypes.length);
    const broken = text.replace('"action": "send"', '"action": "sends"');
    expect((await new Parser().parse(broken)).diagnostics.length).toBeGreaterThan(0);
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
