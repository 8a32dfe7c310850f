import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import * as z from "zod";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const json = (path: string): unknown => JSON.parse(read(path));

const scripts = z.object({ scripts: z.record(z.string(), z.string()) }).parse(json("package.json")).scripts;
const { recommendations } = z
  .strictObject({ recommendations: z.array(z.string()) })
  .parse(json(".vscode/extensions.json"));

/** The npm script that a command line names. */
const scriptIn = (command: string) => /^npm (?:run )?([\w-]+)/.exec(command)?.[1] ?? "";

describe("the dev container", () => {
  const container = z
    .strictObject({
      name: z.string(),
      image: z.string(),
      features: z.record(z.string(), z.record(z.string(), z.unknown())),
      onCreateCommand: z.string(),
      forwardPorts: z.array(z.int()),
      portsAttributes: z.record(z.string(), z.strictObject({ label: z.string() })),
      customizations: z.strictObject({ vscode: z.strictObject({ extensions: z.array(z.string()) }) }),
    })
    .parse(json(".devcontainer/devcontainer.json"));

  test("has the Node version that the project installs", () => {
    const [, major] = /^mcr\.microsoft\.com\/devcontainers\/javascript-node:(\d+)-[a-z]+$/.exec(container.image) ?? [];
    const packages = z.record(z.string(), z.object({ version: z.string() })).parse(json("local/node-packages.json"));
    const installed = new Set(Object.values(packages).map(({ version }) => version.split(".")[0]));
    expect([...installed]).toEqual([major]);
  });

  test("installs the packages by a script that exists", () => {
    expect(scripts).toHaveProperty(scriptIn(container.onCreateCommand));
  });

  test("forwards the host's default port, and names every forwarded port", () => {
    const [, port = ""] = /process\.env\.PORT \|\| "(\d+)"/.exec(read("local/start/start.ts")) ?? [];
    expect(container.forwardPorts).toContain(Number(port));
    expect(Object.keys(container.portsAttributes)).toEqual(container.forwardPorts.map(String));
  });

  test("installs the recommended extensions", () => {
    expect(container.customizations.vscode.extensions).toEqual(recommendations);
  });
});

describe("the configuration of Visual Studio Code", () => {
  const { tasks } = z
    .object({
      tasks: z.array(
        z.object({
          label: z.string(),
          script: z.string().optional(),
          command: z.string().optional(),
          dependsOn: z.array(z.string()).optional(),
          options: z.object({ env: z.record(z.string(), z.string()) }).optional(),
        }),
      ),
    })
    .parse(json(".vscode/tasks.json"));
  const { configurations } = z
    .object({
      configurations: z.array(
        z.object({
          name: z.string(),
          program: z.string().optional(),
          args: z.array(z.string()).optional(),
          port: z.int().optional(),
          preLaunchTask: z.string().optional(),
        }),
      ),
    })
    .parse(json(".vscode/launch.json"));
  const labels = tasks.map(({ label }) => label);

  test("starts only programs, scripts and tasks that exist", () => {
    for (const { program = "" } of configurations)
      expect(existsSync(program.replace(/^$|\$\{workspaceFolder\}/, root)), program).toBe(true);
    for (const { preLaunchTask } of configurations)
      if (preLaunchTask !== undefined) expect(labels).toContain(preLaunchTask);
    for (const { dependsOn = [] } of tasks) expect(labels).toEqual(expect.arrayContaining(dependsOn));
    const called = tasks.flatMap(({ script, command = "" }) => script ?? (scriptIn(command) || []));
    for (const script of called) expect(scripts).toHaveProperty(script);
  });

  test("attaches to the port on which the Functions host's worker listens", () => {
    const { port } = configurations.find(({ name }) => name === "func host start") ?? {};
    const { options } = tasks.find(({ label }) => label === "func host start") ?? {};
    expect(options?.env).toEqual({ languageWorkers__node__arguments: `--inspect=${port}` });
  });
});

test("editors indent and break lines as the formatter does", () => {
  const { indentWidth, lineWidth } = z
    .object({ formatter: z.object({ indentWidth: z.int(), lineWidth: z.int() }) })
    .parse(json("biome.json")).formatter;
  const lines = read(".editorconfig").split("\n");
  expect(lines).toEqual(expect.arrayContaining(["root = true", `indent_size = ${indentWidth}`]));
  expect(lines).toContain(`max_line_length = ${lineWidth}`);
});
