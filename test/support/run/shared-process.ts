// Runs before each test file that shares its process with others: what one changes, the next one would meet.
import { afterAll, expect, vi } from "vitest";
import { installFunctionsCore } from "../../../local/host/functions-core.ts";

// `@azure/functions` looks for its core once in a process, so the core is there before any file registers a function.
installFunctionsCore();

const environment = { ...process.env };
const directory = process.cwd();

afterAll(() => {
  const advice = "restore it, or add the file to `ownProcess` in vitest.config.ts";
  expect(vi.isFakeTimers(), `the file leaves a simulated clock: ${advice}`).toBe(false);
  expect(process.cwd(), `the file leaves another working directory: ${advice}`).toBe(directory);
  expect(process.env, `the file leaves another environment: ${advice}`).toEqual(environment);
});
