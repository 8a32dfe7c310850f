import { spawnSync } from "node:child_process";
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it, test } from "vitest";
import { readOptions, slowTests } from "../../../local/checks/test-options.ts";
import type { TestReport } from "../../../local/checks/test-report.ts";
import { emptyDirectory, endAll } from "../start/start-process.ts";

afterAll(endAll);

const root = join(import.meta.dirname, "../../..");
const commands = {
  format: "node_modules/@biomejs/biome/bin/biome",
  types: "node_modules/typescript/bin/tsc",
  unused: "node_modules/knip/bin/knip.js",
  audit: "local/checks/audit.ts",
  tests: "node_modules/vitest/vitest.mjs",
} as const;
type Command = keyof typeof commands;

/** A project in which every command writes down its arguments and ends with the given code, 0 where none is given. */
function project(codes: Partial<Record<Command, number>> = {}, report: Partial<TestReport> = {}) {
  const directory = emptyDirectory();
  cpSync(join(root, "local/checks"), join(directory, "local/checks"), { recursive: true });
  const written = JSON.stringify({ passed: 7, failed: 0, skipped: [], ...report });
  for (const [name, path] of Object.entries(commands)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    const content = `import { appendFileSync, writeFileSync } from "node:fs";
const fast = process.env.FAST_TESTS === undefined ? [] : ["fast"];
appendFileSync("ran", JSON.stringify(["${name}", ...process.argv.slice(2), ...fast]) + "\\n");
if (process.env.TEST_REPORT) writeFileSync(process.env.TEST_REPORT, ${JSON.stringify(written)});
process.exitCode = ${codes[name as Command] ?? 0};
`;
    writeFileSync(join(directory, path), content);
    writeFileSync(join(dirname(join(directory, path)), "package.json"), '{ "type": "module" }');
  }
  return (...args: string[]) => {
    writeFileSync(join(directory, "ran"), "");
    const { status, stdout, stderr } = spawnSync(process.execPath, ["local/checks/verify.ts", ...args], {
      cwd: directory,
      encoding: "utf8",
      // This test may itself be part of a fast run.
      env: { ...process.env, FAST_TESTS: undefined },
    });
    const ran = readFileSync(join(directory, "ran"), "utf8").split("\n").filter(Boolean);
    return {
      code: status,
      lines: stdout.trim().split("\n"),
      stderr,
      ran: ran.map(line => JSON.parse(line) as string[]),
    };
  };
}

describe("npm test", () => {
  it("runs every check and every test, and counts them", () => {
    const { code, lines, ran } = project()();
    expect(ran.map(([name]) => name)).toEqual(["format", "types", "unused", "audit", "tests"]);
    expect(ran.at(-1)).toEqual(["tests", "run", "--reporter=default", "--reporter=./local/checks/test-reporter.ts"]);
    expect(lines.at(-1)).toBe("tests: 11 passed, 0 failed");
    expect(code).toBe(0);
  });

  it("announces how long it takes, after the first time by what it took here", () => {
    const run = project();
    const announced = () => run().lines[0];
    expect(announced()).toMatch(/^Expected duration: \d+ to \d+ minutes on two free cores/);
    expect(announced()).toMatch(/^Expected duration: 1 minute, as the last time/);
    expect(run("test/a.test.ts").lines[0]).not.toContain("Expected duration");
  });

  it("counts skipped tests and lists them by their reasons", () => {
    const skipped = ["one", "two", "three"].map(name => ({ name, reason: name === "two" ? "no tool" : "no network" }));
    const { code, lines } = project({}, { skipped })();
    expect(lines.slice(-3)).toEqual([
      "skipped: 2 tests: no network (one, three)",
      "skipped: 1 test: no tool (two)",
      "tests: 11 passed, 0 failed, 3 skipped",
    ]);
    expect(code).toBe(0);
  });

  it("counts an audit without a report as skipped, not as passed", () => {
    const { code, lines } = project({ audit: 2 })();
    expect(lines.at(-1)).toBe("tests: 10 passed, 0 failed, 1 skipped");
    expect(lines).toContainEqual(expect.stringMatching(/^skipped: dependency audit/));
    expect(code).toBe(0);
  });

  it.each<[Command, number]>([
    ["audit", 1],
    ["types", 2],
  ])("fails where %s finds something", (command, code) => {
    const end = project({ [command]: code })();
    expect(end.lines.at(-1)).toBe("tests: 10 passed, 1 failed");
    expect(end.code).toBe(1);
  });

  it("fails where the test runner fails and no test did", () => {
    const { code, lines } = project({ tests: 1 })();
    expect(lines.at(-1)).toBe("tests: 11 passed, 1 failed");
    expect(code).toBe(1);
  });

  it("runs named files without a check, and does not list what a name pattern leaves out", () => {
    const skipped = [{ name: "one", reason: "no reason is given" }];
    const { lines, ran } = project({}, { skipped })("test/a.test.ts", "-t", "rejects");
    expect(ran).toHaveLength(1);
    expect(ran[0]).toEqual(expect.arrayContaining(["tests", "run", "test/a.test.ts", "--testNamePattern", "rejects"]));
    expect(lines).toEqual(["tests: 7 passed, 0 failed"]);
  });

  it("runs every check and leaves out the slow tests with --fast", () => {
    const { ran } = project()("--fast");
    expect(ran.map(([name]) => name)).toEqual(["format", "types", "unused", "audit", "tests"]);
    expect(ran.at(-1)).toEqual(expect.arrayContaining(["tests", "run", "fast"]));
  });

  it.each([
    [["--changed"], "HEAD"],
    [["--changed=main"], "main"],
  ])("runs only tests of changed files, without a check, with %j", (args, commit) => {
    const { ran } = project()(...args);
    expect(ran).toHaveLength(1);
    expect(ran[0]).toEqual(expect.arrayContaining(["--changed", commit]));
  });

  it("prints help and runs nothing with --help", () => {
    const { code, lines, ran } = project()("--help");
    expect([code, ran]).toEqual([0, []]);
    expect(lines.join("\n")).toMatch(/--fast[\s\S]*--changed/);
  });

  it.each([[["--fats"]], [["--fast", "test/a.test.ts"]]])(
    "rejects %j in one sentence that points to the help",
    args => {
      const { code, stderr, ran } = project()(...args);
      expect([code, ran]).toEqual([2, []]);
      expect(stderr).toMatch(/^[^\n]+\n`npm test -- --help` lists the options\.\n$/);
    },
  );
});

test("every path of the slow tests names test files", () => {
  for (const path of slowTests) expect(globSync(path, { cwd: root }), path).not.toEqual([]);
});

test("npm run check runs every check and the import rules", () => {
  expect(readOptions(["--checks"])).toMatchObject({ checks: true, tests: ["test/architecture.test.ts"] });
});
