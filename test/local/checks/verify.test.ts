import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { emptyDirectory, endAll } from "../start/start-process.ts";
import { scripts } from "./scripts.ts";

afterAll(endAll);

const root = join(import.meta.dirname, "../../..");

/** Runs the command in a project of which every script writes down its arguments and passes. */
function project() {
  const directory = emptyDirectory();
  cpSync(join(root, "local/checks"), join(directory, "local/checks"), { recursive: true });
  mkdirSync(join(directory, "test"));
  writeFileSync(join(directory, "test/a.test.ts"), "");
  for (const [name, path] of Object.entries(scripts)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    const content = `import { appendFileSync, writeFileSync } from "node:fs";
appendFileSync("ran", JSON.stringify(["${name}", ...process.argv.slice(2)]) + "\\n");
if (process.env.TEST_REPORT) writeFileSync(process.env.TEST_REPORT, '{"passed":7,"failed":0,"skipped":[]}');
`;
    writeFileSync(join(directory, path), content);
    writeFileSync(join(dirname(join(directory, path)), "package.json"), '{ "type": "module" }');
  }
  return (...args: string[]) => {
    writeFileSync(join(directory, "ran"), "");
    const { status, stdout, stderr } = spawnSync(process.execPath, ["local/checks/verify.ts", ...args], {
      cwd: directory,
      encoding: "utf8",
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
  it("runs every check and every test", () => {
    const first = project()();
    expect(first.ran.map(([name]) => name)).toEqual(["format", "types", "unused", "templates", "audit", "tests"]);
    expect(first.ran.at(-1)).toEqual([
      "tests",
      "run",
      "--reporter=default",
      "--reporter=./local/checks/test-reporter.ts",
    ]);
    expect([first.lines.at(-1), first.code]).toEqual(["tests: 12 passed, 0 failed", 0]);
  });

  it("prints help and runs nothing with --help", () => {
    const { code, lines, ran } = project()("--help");
    expect([code, ran]).toEqual([0, []]);
    expect(lines.join("\n")).toMatch(/--fast[\s\S]*--changed/);
  });

  it.each([[["--fats"]], [["--fast", "test/a.test.ts"]], [["nosuch.test.ts"]]])(
    "rejects %j in one sentence that points to the help",
    args => {
      const { code, stderr, ran } = project()(...args);
      expect([code, ran]).toEqual([2, []]);
      expect(stderr).toMatch(/^[^\n]+\n`npm test -- --help` lists the options\.\n$/);
    },
  );
});
