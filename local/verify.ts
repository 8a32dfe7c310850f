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

const { values, positionals } = parseArgs({ options: { checks: { type: "boolean" } }, allowPositionals: true });

const checks: Readonly<Record<string, readonly string[]>> = {
  "format and lint": ["@biomejs/biome/bin/biome", "check", "--error-on-warnings"],
  types: ["typescript/bin/tsc", "-p", "tsconfig.json"],
  "unused code": ["knip/bin/knip.js"],
};

const checked = Object.entries(checks).map(([name, [script = "", ...args]]) => passes(name, script, args));
const tested = runTests(values.checks === true ? ["test/architecture.test.ts"] : positionals);
const passed = checked.filter(Boolean).length + tested.passed;
const failed = checked.filter(good => !good).length + tested.failed;
console.log(`tests: ${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && tested.passed > 0 ? 0 : 1;

function passes(name: string, script: string, args: readonly string[]): boolean {
  const started = performance.now();
  const { status } = run(script, args);
  console.log(`${status === 0 ? "ok" : "FAILED"}: ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  return status === 0;
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
    const { status } = run("vitest/vitest.mjs", [
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

function run(script: string, args: readonly string[]) {
  return spawnSync(process.execPath, [join("node_modules", script), ...args], {
    stdio: ["ignore", "inherit", "inherit"],
  });
}
