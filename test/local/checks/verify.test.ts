import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { emptyDirectory, endAll } from "../start/start-process.ts";

afterAll(endAll);

const runner = `
const file = process.argv.find(each => each.startsWith("--outputFile.json=")).split("=")[1];
require("node:fs").writeFileSync(file, JSON.stringify({ numPassedTests: 7, numFailedTests: 0, testResults: [] }));
`;

/** Runs `npm test` where every check ends with the given code, 0 where none is given, and 7 tests pass. */
function verify(codes: Readonly<Record<string, number>>): { readonly code: number | null; readonly lines: string[] } {
  const directory = emptyDirectory();
  const scripts = {
    "node_modules/@biomejs/biome/bin/biome": "",
    "node_modules/typescript/bin/tsc": "",
    "node_modules/knip/bin/knip.js": "",
    "local/checks/audit.ts": "",
    "node_modules/vitest/vitest.mjs": `import { createRequire } from "node:module"; const require = createRequire(import.meta.url); ${runner}`,
  };
  for (const [path, content] of Object.entries(scripts)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), `${content}\nprocess.exitCode = ${codes[path] ?? 0};\n`);
  }
  copyFileSync(join(import.meta.dirname, "../../../local/checks/verify.ts"), join(directory, "local/checks/verify.ts"));
  const { status, stdout } = spawnSync(process.execPath, ["local/checks/verify.ts"], {
    cwd: directory,
    encoding: "utf8",
  });
  return { code: status, lines: stdout.trim().split("\n") };
}

describe("npm test", () => {
  it("counts checks and tests", () => {
    const { code, lines } = verify({});
    expect(lines.at(-1)).toBe("tests: 11 passed, 0 failed");
    expect(code).toBe(0);
  });

  it("counts an audit without a report as skipped, not as passed", () => {
    const { code, lines } = verify({ "local/checks/audit.ts": 2 });
    expect(lines.at(-1)).toBe("tests: 10 passed, 0 failed, 1 skipped");
    expect(lines).toContainEqual(expect.stringMatching(/^skipped: dependency audit/));
    expect(code).toBe(0);
  });

  it.each(["local/checks/audit.ts", "node_modules/typescript/bin/tsc"])("fails where %s finds something", path => {
    const { code, lines } = verify({ [path]: path === "local/checks/audit.ts" ? 1 : 2 });
    expect(lines.at(-1)).toBe("tests: 10 passed, 1 failed");
    expect(code).toBe(1);
  });
});
