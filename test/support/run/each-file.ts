// Runs before each test file.
import { afterAll } from "vitest";
import { measureCpu } from "../cpu-time.ts";
import { endFile } from "./end-of-file.ts";

const cpuMs = measureCpu();

afterAll(endFile);
// The reporter of `npm test` reads it: what takes long is left out by `--fast`.
// biome-ignore lint/correctness/noEmptyPattern: vitest takes the first parameter for fixtures and accepts only a pattern
afterAll(({}, { file }) => {
  Object.assign(file.meta, { cpuMs: cpuMs() });
});
