import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createVitest } from "vitest/node";
import { reportOf } from "../../../local/checks/test-report.ts";
import { emptyDirectory, endAll } from "../start/start-process.ts";

afterAll(endAll);

test("counts passed, failed and skipped tests with their reasons, and a file that does not load as a failure", async () => {
  const directory = emptyDirectory();
  const tests = `import { describe, test } from "vitest";
test("passes", () => {});
test("fails", () => { throw new Error("as meant"); });
test("is skipped in itself", context => context.skip("no data"));
describe.skip("beside a tool (skipped: a tool is not installed)", () => { test("compares", () => {}); });
test.skip("is skipped", () => {});
`;
  writeFileSync(join(directory, "some.test.ts"), tests);
  writeFileSync(join(directory, "broken.test.ts"), 'import "./missing.ts";\n');
  const vitest = await createVitest("test", {
    root: directory,
    watch: false,
    reporters: [{}],
    config: false,
    testTimeout: 120_000,
  });
  try {
    const { testModules, unhandledErrors } = await vitest.start();
    expect(reportOf(testModules, unhandledErrors as never)).toEqual({
      passed: 1,
      failed: 2,
      skipped: [
        { name: "is skipped in itself", reason: "no data" },
        {
          name: "beside a tool (skipped: a tool is not installed) > compares",
          reason: "a tool is not installed",
        },
        { name: "is skipped", reason: "no reason is given" },
      ],
    });
  } finally {
    await vitest.close();
  }
});
