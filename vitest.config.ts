import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { fastVariable, slowTests } from "./local/checks/test-options.ts";

// Workers and the hosts that tests start load compiled modules from here: half of a host's start is compiling.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "node_modules", ".cache", "node");

const leftOut = process.env[fastVariable] === undefined ? [] : slowTests;

const include = ["test/**/*.test.ts"];

/** Files that change what a process has once. The other files share a few processes. */
const ownProcess = [
  "test/functions/rotation.test.ts",
  "test/lib/platform/{azure/services,telemetry/*}.test.ts",
  "test/local/host/empty-app.test.ts",
];

export default defineConfig({
  test: {
    globalSetup: ["test/support/run/global-setup.ts"],
    setupFiles: ["test/support/run/each-file.ts"],
    pool: "forks",
    maxWorkers: 2,
    // Only what hangs meets these limits, however busy the machine is.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    projects: [
      {
        extends: true,
        test: {
          name: "shared process",
          include,
          exclude: [...ownProcess, ...leftOut],
          isolate: false,
          restoreMocks: true,
          setupFiles: ["test/support/run/shared-process.ts"],
        },
      },
      { extends: true, test: { name: "own process", include: ownProcess, exclude: [...leftOut] } },
    ],
  },
});
