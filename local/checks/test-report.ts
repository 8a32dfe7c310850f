// Counts what the test runner did, for the last lines of `npm test`.
import type { SerializedError, TestModule } from "vitest/node";

export interface TestReport {
  readonly passed: number;
  /** Tests, and files that fail without a test that does: they do not load, or what surrounds their tests fails. */
  readonly failed: number;
  readonly skipped: readonly SkippedTest[];
}

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
  for (const module of modules) {
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
  return { passed, failed, skipped };
}

const reasonIn = (name: string): string => /\(skipped: (.+?)\)/.exec(name)?.[1] ?? "no reason is given";

/** Skipped tests by their reason, a line each. */
export function skippedLines(skipped: readonly SkippedTest[]): readonly string[] {
  const byReason = Map.groupBy(skipped, ({ reason }) => reason);
  return [...byReason].map(([reason, tests]) => {
    const names = tests.slice(0, 3).map(({ name }) => name);
    const more = tests.length > names.length ? ", …" : "";
    return `skipped: ${tests.length} ${tests.length === 1 ? "test" : "tests"}: ${reason} (${names.join(", ")}${more})`;
  });
}
