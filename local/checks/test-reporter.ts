// The test runner's reporter of `npm test`: writes the counts for verify.ts.
import { writeFileSync } from "node:fs";
import type { Reporter, SerializedError, TestModule } from "vitest/node";
import { reportOf, reportVariable } from "./test-report.ts";

export default class TestReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const path = process.env[reportVariable];
    if (path !== undefined) writeFileSync(path, JSON.stringify(reportOf(modules, errors)));
  }
}
