// `npm test` and `npm run check`: checks, then tests, then one line that counts them.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expectedDuration, recordDuration } from "./run-duration.ts";
import { fastVariable, type Plan, readOptions } from "./test-options.ts";
import { reportVariable, skippedLines, type TestReport } from "./test-report.ts";

type Outcome = "ok" | "FAILED" | "skipped";

interface Check {
  readonly name: string;
  readonly command: readonly [script: string, ...args: string[]];
  /** Exit code of a check that could not be made and has printed why. */
  readonly skippedCode?: number;
}

const bin = (path: string) => join("node_modules", path);
const allChecks: readonly Check[] = [
  { name: "format and lint", command: [bin("@biomejs/biome/bin/biome"), "check", "--error-on-warnings"] },
  // Several threads check the types of the packages once each, which doubles the CPU time.
  { name: "types", command: [bin("typescript/bin/tsc"), "-p", "tsconfig.json", "--singleThreaded"] },
  { name: "unused code", command: [bin("knip/bin/knip.js")] },
  { name: "dependency audit", command: ["local/checks/audit.ts"], skippedCode: 2 },
];

const plan = planOf(process.argv.slice(2));
if (typeof plan === "string") console.log(plan);
else if (plan === undefined) process.exitCode = 2;
else process.exitCode = verify(plan) ? 0 : 1;

function planOf(args: readonly string[]): Plan | string | undefined {
  try {
    return readOptions(args);
  } catch (error) {
    const [sentence = ""] = (error as Error).message.split(". To specify");
    console.error(`${sentence.replace(/\.?$/, ".")}\n\`npm test -- --help\` lists the options.`);
    return undefined;
  }
}

/** Returns whether all that ran has passed. */
function verify({ checks, tests, isFast, isWhole, isFiltered }: Plan): boolean {
  const started = performance.now();
  if (isWhole) console.log(expectedDuration());
  const checked = checks ? allChecks.map(outcomeOf) : [];
  const tested = runTests(tests, isFast ? { [fastVariable]: "1" } : {});
  // A name pattern skips what it does not fit.
  const skippedTests = isFiltered ? [] : tested.skipped;
  for (const line of skippedLines(skippedTests)) console.log(line);
  const count = (outcome: Outcome) => checked.filter(each => each === outcome).length;
  const [passed, failed] = [count("ok") + tested.passed, count("FAILED") + tested.failed];
  const skipped = count("skipped") + skippedTests.length;
  if (isWhole && failed === 0) recordDuration((performance.now() - started) / 1000);
  console.log(`tests: ${passed} passed, ${failed} failed${skipped === 0 ? "" : `, ${skipped} skipped`}`);
  return failed === 0;
}

function outcomeOf({ name, command, skippedCode }: Check): Outcome {
  const started = performance.now();
  const { status } = run(command);
  const outcome = status === 0 ? "ok" : status === skippedCode ? "skipped" : "FAILED";
  console.log(`${outcome}: ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  return outcome;
}

/** Runs the test runner. One that dies without a report, or fails without a failed test, counts as one failure. */
function runTests(args: readonly string[], more: NodeJS.ProcessEnv): TestReport {
  const directory = mkdtempSync(join(tmpdir(), "tests-"));
  const path = join(directory, "report.json");
  const reporters = ["--reporter=default", "--reporter=./local/checks/test-reporter.ts"];
  try {
    const { status } = run([bin("vitest/vitest.mjs"), "run", ...args, ...reporters], {
      ...more,
      [reportVariable]: path,
    });
    const report = JSON.parse(readFileSync(path, "utf8")) as TestReport;
    return { ...report, failed: report.failed === 0 && status !== 0 ? 1 : report.failed };
  } catch (error) {
    console.error(`The test runner left no report: ${String(error)}`);
    return { passed: 0, failed: 1, skipped: [] };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function run(command: readonly string[], more: NodeJS.ProcessEnv = {}) {
  return spawnSync(process.execPath, command, {
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, ...more },
  });
}
