import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fastVariable, type Plan } from "./test-options.ts";
import { reportVariable, skippedLines, type TestReport } from "./test-report.ts";

/** Runs a script with Node. Returns its exit code. @param more environment variables in addition to those of this process */
export type RunScript = (script: readonly string[], more?: Readonly<Record<string, string>>) => number | null;

type Outcome = "ok" | "FAILED" | "skipped";

interface Check {
  readonly name: string;
  readonly script: readonly [path: string, ...args: string[]];
  /** Exit code of a check that could not be made and has printed why. */
  readonly skippedCode?: number;
}

const bin = (path: string) => join("node_modules", path);
const allChecks: readonly Check[] = [
  { name: "format and lint", script: [bin("@biomejs/biome/bin/biome"), "check", "--error-on-warnings"] },
  // Several threads check the types of the packages once each, which doubles the CPU time.
  { name: "types", script: [bin("typescript/bin/tsc"), "-p", "tsconfig.json", "--singleThreaded"] },
  { name: "unused code", script: [bin("knip/bin/knip.js")] },
  { name: "templates", script: ["local/checks/templates.ts"], skippedCode: 2 },
  { name: "dependency audit", script: ["local/checks/audit.ts"], skippedCode: 2 },
];

/** Runs the checks and tests of a plan, and prints what they came to. Returns whether all that ran has passed. */
export function runPlan({ checks, tests, isFast, isFiltered }: Plan, run: RunScript): boolean {
  const checked = checks ? allChecks.map(check => outcomeOf(check, run)) : [];
  const tested = runTests(tests, isFast ? { [fastVariable]: "1" } : {}, run);
  // The test runner also reports the tests outside a name pattern as skipped.
  const skippedTests = isFiltered ? [] : tested.skipped;
  for (const line of skippedLines(skippedTests)) console.log(line);
  const count = (outcome: Outcome) => checked.filter(each => each === outcome).length;
  const [passed, failed] = [count("ok") + tested.passed, count("FAILED") + tested.failed];
  const skipped = count("skipped") + skippedTests.length;
  console.log(`tests: ${passed} passed, ${failed} failed${skipped === 0 ? "" : `, ${skipped} skipped`}`);
  return failed === 0;
}

function outcomeOf({ name, script, skippedCode }: Check, run: RunScript): Outcome {
  const started = performance.now();
  const code = run(script);
  const outcome = code === 0 ? "ok" : code === skippedCode ? "skipped" : "FAILED";
  console.log(`${outcome}: ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  return outcome;
}

/** Runs the test runner. A run that dies without a report, or fails without a failed test, counts as one failure. */
function runTests(args: readonly string[], more: Readonly<Record<string, string>>, run: RunScript): TestReport {
  const directory = mkdtempSync(join(tmpdir(), "tests-"));
  const path = join(directory, "report.json");
  const reporters = ["--reporter=default", "--reporter=./local/checks/test-reporter.ts"];
  try {
    const code = run([bin("vitest/vitest.mjs"), "run", ...args, ...reporters], { ...more, [reportVariable]: path });
    const report = JSON.parse(readFileSync(path, "utf8")) as TestReport;
    return { ...report, failed: report.failed === 0 && code !== 0 ? 1 : report.failed };
  } catch (error) {
    console.error(`The test runner left no report: ${String(error)}`);
    return { passed: 0, failed: 1, skipped: [] };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
