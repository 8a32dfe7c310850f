import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PlantedTree, plant } from "./planted-tree.ts";

const clean = "export const answer = (given: number): number => given + 42;\n";

/** What no check may find fault with. */
const good: Readonly<Record<string, string>> = {
  "package.json": `${JSON.stringify({ name: "planted", type: "module", dependencies: { jose: "*", zod: "*" } }, undefined, 2)}\n`,
  "lib/clean.ts": clean,
  "functions/main.ts": 'import { answer } from "../lib/clean.ts";\n\nanswer(Number(process.env.ANSWER));\n',
  "local/start/start.ts": 'import "../../functions/main.ts";\n\nconsole.log(process.env.ANSWER);\n',
};

/** By file: what Biome must say of it, and what is wrong in it. One for each part of biome.json that says where a rule holds. */
const linted: Readonly<Record<string, readonly [rule: string, source: string]>> = {
  "lib/format.ts": ["format", "export const answer   = 42\n"],
  "lib/floating.ts": [
    "noFloatingPromises",
    "const later = async (): Promise<void> => {};\n\nexport const start = (): void => {\n  later();\n};\n",
  ],
  "lib/console.ts": ["noConsole", 'console.log("here");\n'],
  "functions/environment.ts": ["noProcessEnv", "export const path = process.env.PATH;\n"],
  "local/default-export.ts": ["noDefaultExport", "export default 42;\n"],
  "test/any.ts": ["noExplicitAny", "export const answer: any = 42;\n"],
  "lib/cycle.ts": ["noImportCycles", 'import { b } from "./cycle-back.ts";\n\nexport const a = (): number => b();\n'],
  "lib/cycle-back.ts": ["noImportCycles", 'import { a } from "./cycle.ts";\n\nexport const b = (): number => a();\n'],
};

/** By file: the compiler's code. */
const typed: Readonly<Record<string, readonly [code: string, source: string]>> = {
  "lib/maybe-absent.ts": ["TS2322", "export const first = (all: readonly string[]): string => all[0];\n"],
  "lib/undefined-given.ts": ["TS2375", "export const a: { b?: number } = { b: undefined };\n"],
  "lib/not-erasable.ts": ["TS1294", "export enum A {\n  B,\n}\n"],
  "test/wrong-type.ts": ["TS2322", 'export const a: number = "1";\n'],
};

/** By file: where knip must list it. */
const unused: Readonly<Record<string, readonly [heading: string, source: string]>> = {
  "lib/forgotten.ts": ["Unused files", "export const a = 1;\n"],
  "lib/half-used.ts": ["Unused exports", "export const used = 1;\nexport const unusedHere = 2;\n"],
  "local/generate/openapi.ts": [
    "Unlisted dependencies",
    'import "../../lib/half-used.ts";\nimport "cborg";\nimport { used } from "../../lib/half-used.ts";\nimport "jose";\n\nconsole.log(used);\n',
  ],
};

const sourcesOf = (planted: Readonly<Record<string, readonly [string, string]>>) =>
  Object.fromEntries(Object.entries(planted).map(([path, [, source]]) => [path, source]));

/** A tool, its arguments, and a tree in which something is planted. */
function checked(tool: string, args: readonly string[], files: Readonly<Record<string, string>>) {
  let tree: PlantedTree;
  let result: ReturnType<PlantedTree["run"]>;
  beforeAll(() => {
    tree = plant({ ...good, ...files });
    result = tree.run(tool, ...args);
  });
  afterAll(() => tree.remove());
  return () => result;
}

describe("format and lint", () => {
  const result = checked(
    "@biomejs/biome/bin/biome",
    ["check", "--error-on-warnings", "--reporter=github", "--max-diagnostics=none"],
    sourcesOf(linted),
  );
  const saidOf = (path: string) =>
    result()
      .output.split("\n")
      .filter(line => line.includes(`/${path},`));

  it("fail where something is planted, and find no fault elsewhere", () => {
    expect(result().status).toBe(1);
    for (const path of Object.keys(good)) expect(saidOf(path)).toEqual([]);
  });

  it.each(Object.entries(linted).map(([path, [rule]]) => [rule, path] as const))("find %s in %s", (rule, path) => {
    expect(saidOf(path).join("\n")).toContain(rule);
  });
});

describe("types", () => {
  const result = checked("typescript/bin/tsc", ["-p", "tsconfig.json", "--pretty", "false"], sourcesOf(typed));

  it("fail where something is planted, and find no fault elsewhere", () => {
    expect(result().status).not.toBe(0);
    for (const path of Object.keys(good)) expect(result().output).not.toContain(path);
  });

  it.each(Object.entries(typed).map(([path, [code]]) => [code, path] as const))("find %s in %s", (code, path) => {
    expect(result().output).toMatch(new RegExp(`^${path.replaceAll(".", "\\.")}\\(.*error ${code}:`, "m"));
  });
});

describe("unused code", () => {
  const result = checked("knip/bin/knip.js", ["--no-config-hints"], sourcesOf(unused));
  const under = (heading: string) => {
    const [, list = ""] = result().output.split(new RegExp(`^${heading} \\(\\d+\\)$`, "m"));
    return list.split(/^\S[^\n]* \(\d+\)$/m)[0] ?? "";
  };

  it("fails where something is planted, and finds no fault elsewhere", () => {
    expect(result().status).toBe(1);
    for (const path of ["lib/clean.ts", "functions/main.ts", "local/start/start.ts"])
      expect(result().output).not.toContain(path);
    expect(under("Unused exports")).toMatch(/^unusedHere /m);
    expect(under("Unused exports")).not.toMatch(/^used /m);
  });

  it.each(Object.entries(unused).map(([path, [heading]]) => [heading, path] as const))(
    "finds %s: %s",
    (heading, path) => {
      expect(under(heading)).toContain(path);
    },
  );

  it("finds Unused dependencies: a package that no file imports", () => {
    expect(under("Unused dependencies")).toContain("zod");
    expect(under("Unused dependencies")).not.toContain("jose");
  });
});
