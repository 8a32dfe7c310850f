// `npm test` and `npm run check`: every check, then every test, then one line that counts them.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

interface Counts {
  readonly passed: number;
  readonly failed: number;
}

type Outcome = "ok" | "FAILED" | "skipped";

const { values, positionals } = parseArgs({ options: { checks: { type: "boolean" } }, allowPositionals: true });

interface Check {
  readonly name: string;
  readonly command: readonly [script: string, ...args: string[]];
  /** Exit code of a check that could not be made and has printed why. */
  readonly skippedCode?: number;
}

const bin = (path: string) => join("node_modules", path);
const checks: readonly Check[] = [
  { name: "format and lint", command: [bin("@biomejs/biome/bin/biome"), "check", "--error-on-warnings"] },
  { name: "types", command: [bin("typescript/bin/tsc"), "-p", "tsconfig.json"] },
  { name: "unused code", command: [bin("knip/bin/knip.js")] },
  { name: "dependency audit", command: ["local/checks/audit.ts"], skippedCode: 2 },
];

const checked = checks.map(outcomeOf);
const tested = runTests(values.checks === true ? ["test/architecture.test.ts"] : positionals);
const count = (outcome: Outcome) => checked.filter(each => each === outcome).length;
const passed = count("ok") + tested.passed;
const failed = count("FAILED") + tested.failed;
const skipped = count("skipped") === 0 ? "" : `, ${count("skipped")} skipped`;
console.log(`tests: ${passed} passed, ${failed} failed${skipped}`);
process.exitCode = failed === 0 && tested.passed > 0 ? 0 : 1;

function outcomeOf({ name, command, skippedCode }: Check): Outcome {
  const started = performance.now();
  const { status } = run(command);
  const outcome = status === 0 ? "ok" : status === skippedCode ? "skipped" : "FAILED";
  console.log(`${outcome}: ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  return outcome;
}

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly TestFile[];
}

interface TestFile {
  readonly status: string;
  readonly assertionResults: readonly { readonly status: string }[];
}

/** A file that fails without a test that does: it does not load, or what surrounds its tests fails. */
function brokenFile({ status, assertionResults }: TestFile): boolean {
  return status === "failed" && assertionResults.every(test => test.status !== "failed");
}

/** Runs test files, all of them where none is named. A runner that dies without a report counts as one failure. */
function runTests(files: readonly string[]): Counts {
  const directory = mkdtempSync(join(tmpdir(), "tests-"));
  const report = join(directory, "report.json");
  try {
    const { status } = run([
      bin("vitest/vitest.mjs"),
      "run",
      ...files,
      "--reporter=default",
      "--reporter=json",
      `--outputFile.json=${report}`,
    ]);
    const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(report, "utf8")) as Report;
    const failures = numFailedTests + testResults.filter(brokenFile).length;
    return { passed: numPassedTests, failed: failures === 0 && status !== 0 ? 1 : failures };
  } catch (error) {
    console.error(`The test runner left no report: ${String(error)}`);
    return { passed: 0, failed: 1 };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function run(command: readonly string[]) {
  return spawnSync(process.execPath, command, {
    stdio: ["ignore", "inherit", "inherit"],
  });
}
