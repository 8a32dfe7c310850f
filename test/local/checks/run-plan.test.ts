import { globSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test, vi } from "vitest";
import { runPlan } from "../../../local/checks/run-plan.ts";
import { fastVariable, type Plan, readOptions, slowTests } from "../../../local/checks/test-options.ts";
import { reportVariable, type TestReport } from "../../../local/checks/test-report.ts";
import { type Script, scripts } from "./scripts.ts";

/** Runs a plan whose scripts end with the given code, 0 where none is given. */
function play(
  args: readonly string[],
  codes: Partial<Record<Script, number>> = {},
  report: Partial<TestReport> | "none" = {},
) {
  const ran: (readonly string[])[] = [];
  const printed = vi.spyOn(console, "log").mockReturnValue();
  vi.spyOn(console, "error").mockReturnValue();
  const passed = runPlan(readOptions(args) as Plan, ([path = "", ...rest], more = {}) => {
    const [name] = Object.entries(scripts).find(([, script]) => script === path) ?? [];
    ran.push([name ?? path, ...rest, ...(more[fastVariable] === undefined ? [] : ["fast"])]);
    const written = JSON.stringify({
      passed: 7,
      failed: 0,
      skipped: [],
      ...(report === "none" ? {} : report),
    });
    if (report !== "none" && more[reportVariable] !== undefined) writeFileSync(more[reportVariable], written);
    return codes[name as Script] ?? 0;
  });
  return { passed, lines: printed.mock.calls.map(([line]) => String(line)), ran };
}

describe("npm test", () => {
  it("counts skipped tests and lists them by their reasons", () => {
    const skipped = ["one", "two", "three"].map(name => ({ name, reason: name === "two" ? "no tool" : "no network" }));
    const { passed, lines } = play(["--fast"], {}, { skipped });
    expect(lines.slice(-3)).toEqual([
      "skipped: 2 tests: no network (one, three)",
      "skipped: 1 test: no tool (two)",
      "tests: 12 passed, 0 failed, 3 skipped",
    ]);
    expect(passed).toBe(true);
  });

  it("counts an audit without a report as skipped, not as passed", () => {
    const { passed, lines } = play(["--fast"], { audit: 2 });
    expect(lines.at(-1)).toBe("tests: 11 passed, 0 failed, 1 skipped");
    expect(lines).toContainEqual(expect.stringMatching(/^skipped: dependency audit/));
    expect(passed).toBe(true);
  });

  it("fails where the test runner fails and no test did", () => {
    const { passed, lines } = play(["--fast"], { tests: 1 });
    expect(lines.at(-1)).toBe("tests: 12 passed, 1 failed");
    expect(passed).toBe(false);
  });

  it("fails where the test runner leaves no report", () => {
    const { passed, lines } = play(["--fast"], {}, "none");
    expect(lines.at(-1)).toBe("tests: 5 passed, 1 failed");
    expect(passed).toBe(false);
  });

  it("runs named files without a check, and does not list what a name pattern leaves out", () => {
    const skipped = [{ name: "one", reason: "no reason is given" }];
    const { lines, ran } = play(["test/patterns.test.ts", "-t", "rejects"], {}, { skipped });
    expect(ran).toHaveLength(1);
    expect(ran[0]).toEqual(
      expect.arrayContaining(["tests", "run", "test/patterns.test.ts", "--testNamePattern", "rejects"]),
    );
    expect(lines).toEqual(["tests: 7 passed, 0 failed"]);
  });

  it.each([
    [["--changed"], "HEAD"],
    [["--changed=main"], "main"],
  ])("runs only tests of changed files, without a check, with %j", (args, commit) => {
    const { ran } = play(args);
    expect(ran).toHaveLength(1);
    expect(ran[0]).toEqual(expect.arrayContaining(["--changed", commit]));
  });
});

test("every path of the slow tests names test files", () => {
  const root = join(import.meta.dirname, "../../..");
  for (const path of slowTests) expect(globSync(path, { cwd: root }), path).not.toEqual([]);
});

test("npm run check runs every check and the import rules", () => {
  expect(readOptions(["--checks"])).toMatchObject({ checks: true, tests: ["test/architecture.test.ts"] });
});
