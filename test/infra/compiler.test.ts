import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { type Compiler, findCompiler, openCompiler } from "../../local/checks/bicep-compiler.ts";
import { type FakeCommands, fakeCommands } from "./azd/fake-commands.ts";
import { byHand } from "./cases.ts";
import { outlineText, snapshotNames, snapshotTexts } from "./compiled.ts";

const templates = ["main.bicep", ...Object.keys(byHand)];

/** With `-u` writes the files of `snapshots/` again: npx vitest run test/infra/compiler.test.ts -u */
describe("Bicep's compiler, where one is at hand", () => {
  const command = findCompiler();
  const compiler: Compiler | undefined = command === undefined ? undefined : openCompiler(command);
  afterAll(() => compiler?.stop());
  const reason = "BICEP names no compiler, and none is on the PATH or installed by `az bicep install`.";

  it("is asked by a check, which finds a warning and a template that is not formatted", context => {
    if (command === undefined) return context.skip(reason);
    const directory = mkdtempSync(join(tmpdir(), "templates-"));
    writeFileSync(join(directory, "a.bicep"), "param  a string\n");
    const { status, stderr } = spawnSync(process.execPath, ["local/checks/templates.ts", `${directory}/*.bicep`], {
      encoding: "utf8",
    });
    rmSync(directory, { recursive: true });
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/a\.bicep:1: .*no-unused-params.*\n.*run bicep format/),
    ]);
  });

  it("describes every parameter, output and type", async context => {
    if (compiler === undefined) return context.skip(reason);
    for (const path of templates) {
      const { template } = await compiler.compile(`infra/${path}`);
      expect(undescribed(JSON.parse(template), path)).toEqual([]);
    }
  });

  it("compiles the templates to snapshots/outline.json", async context => {
    if (compiler === undefined) return context.skip(reason);
    const compiled = new Map<string, string>();
    for (const path of templates) compiled.set(path, (await compiler.compile(`infra/${path}`)).template);
    await expect(outlineText(compiled)).toMatchFileSnapshot("snapshots/outline.json");
  });

  it("works out what is in the snapshots", { timeout: 300_000 }, async context => {
    if (compiler === undefined) return context.skip(reason);
    const texts = await snapshotTexts(compiler);
    for (const [name, text] of texts) await expect(text).toMatchFileSnapshot(`snapshots/${name}.json`);
  });
});

it("snapshots/ has a file for each set of parameters and no other", () => {
  const files = globSync("test/infra/snapshots/*").map(path => path.replace(/^.*[/\\]/, ""));
  expect(files.sort()).toEqual(["outline", ...snapshotNames].map(name => `${name}.json`).sort());
});

/** The declarations without a description, in a compiled template and its modules. */
function undescribed(template: unknown, way: string): readonly string[] {
  const { parameters = {}, outputs = {}, definitions = {}, resources = {} } = Object(template);
  const declared: readonly (readonly [string, unknown])[] = Object.entries({
    ...parameters,
    ...outputs,
    ...definitions,
  });
  return [
    ...declared.flatMap(([name, value]) => (Object(value).metadata?.description ? [] : [`${way}: ${name}`])),
    ...Object.entries(resources).flatMap(([name, resource]) => {
      const inner = Object(resource).properties?.template;
      return inner === undefined ? [] : undescribed(inner, `${way}/${name}`);
    }),
  ];
}

describe("the compiler", () => {
  let commands: FakeCommands | undefined;
  afterEach(() => commands?.remove());

  it("is BICEP, else bicep on the PATH, else that of the Azure CLI, and each must work", () => {
    commands = fakeCommands({ bicep: "#!/bin/sh\nexit 0\n", broken: "#!/bin/sh\nexit 1\n" });
    const { directory } = commands;
    const PATH = `${directory}${delimiter}/usr/bin`;
    expect(findCompiler({ PATH, HOME: directory })).toBe("bicep");
    expect(findCompiler({ PATH, BICEP: `${directory}/broken` })).toBeUndefined();
    expect(findCompiler({ PATH: "/usr/bin", HOME: directory })).toBeUndefined();
  });

  it("fails every call where it ends before it has answered", async () => {
    commands = fakeCommands({ bicep: "#!/bin/sh\nexit 3\n" });
    const broken = openCompiler(`${commands.directory}/bicep`);
    await expect(broken.format("infra/main.bicep")).rejects.toThrow("The compiler ended with 3.");
  });
});
