import { afterAll } from "vitest";
import { type FunctionsCore, installFunctionsCore } from "../../../local/host/functions-core.ts";

/** Returns the core of this process. What the test file registers is removed after its tests, so that the next file can register its own. */
export function functionsCoreOfFile(): FunctionsCore {
  const core = installFunctionsCore();
  afterAll(() => core.unregisterAll());
  return core;
}
