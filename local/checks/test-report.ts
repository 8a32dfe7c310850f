// Counts what the test runner did, for the last lines of `npm test`.
import type { SerializedError, TestModule } from "vitest/node";

export interface TestReport {
  readonly passed: number;
  /** Tests, and files that fail without a test that does: they do not load, or what surrounds their tests fails. */
  readonly failed: number;
  readonly skipped: readonly SkippedTest[];
  /** Files that took more CPU time than `--fast` promises of each. */
  readonly slow: readonly SlowFile[];
}

export interface SlowFile {
  readonly path: string;
  readonly cpuSeconds: number;
}

/** Maximum CPU time of a file that `--fast` runs. */
const fastSeconds = 3;

export interface SkippedTest {
  readonly name: string;
  readonly reason: string;
}

/** Name of the environment variable with the path of the report. */
export const reportVariable = "TEST_REPORT";

/** A test names its reason by `context.skip("why")`, or by "(skipped: why)" in its name or its group's. */
export function reportOf(modules: readonly TestModule[], errors: readonly SerializedError[]): TestReport {
  let [passed, failed] = [0, errors.length];
  const skipped: SkippedTest[] = [];
  const slow: SlowFile[] = [];
  for (const module of modules) {
    // Set by the setup file test/support/run/each-file.ts.
    const { cpuMs = 0 } = module.meta() as { readonly cpuMs?: number };
    if (cpuMs > fastSeconds * 1000) slow.push({ path: module.relativeModuleId, cpuSeconds: cpuMs / 1000 });
    const tests = [...module.children.allTests()];
    for (const test of tests) {
      const result = test.result();
      if (result.state === "passed") passed++;
      else if (result.state === "failed") failed++;
      else if (result.state === "skipped")
        skipped.push({ name: test.fullName, reason: result.note ?? reasonIn(test.fullName) });
    }
    if (module.state() === "failed" && tests.every(test => test.result().state !== "failed")) failed++;
  }
  return { passed, failed, skipped, slow };
}

const reasonIn = (name: string): string => /\(skipped: (.+?)\)/.exec(name)?.[1] ?? "no reason is given";

/** The files that `--fast` ought to leave out, the slowest first, a line each. */
export const slowLines = (slow: readonly SlowFile[]): readonly string[] =>
  slow
    .toSorted((a, b) => b.cpuSeconds - a.cpuSeconds)
    .map(
      ({ path, cpuSeconds }) =>
        `slow: ${path} took ${cpuSeconds.toFixed(1)} s of CPU, more than the ${fastSeconds} s of --fast: ` +
        "add it to `slowTests` in local/checks/test-options.ts",
    );

/** Skipped tests by their reason, a line each. */
export function skippedLines(skipped: readonly SkippedTest[]): readonly string[] {
  const byReason = Map.groupBy(skipped, ({ reason }) => reason);
  return [...byReason].map(([reason, tests]) => {
    const names = tests.slice(0, 3).map(({ name }) => name);
    const more = tests.length > names.length ? ", …" : "";
    return `skipped: ${tests.length} ${tests.length === 1 ? "test" : "tests"}: ${reason} (${names.join(", ")}${more})`;
  });
}
