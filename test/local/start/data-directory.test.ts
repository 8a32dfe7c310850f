import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { diskProblem, prepareDirectory } from "../../../local/start/data-directory.ts";
import { emptyDirectory, endAll } from "./start-process.ts";

afterAll(endAll);

test("creates a directory with its parents and leaves it empty", () => {
  const path = join(emptyDirectory(), "a", "b");
  prepareDirectory(path);
  expect(readdirSync(path)).toEqual([]);
});

test("names a path that is a file", () => {
  const path = join(emptyDirectory(), "file");
  writeFileSync(path, "");
  expect(() => prepareDirectory(path)).toThrow(
    `The local system cannot write to ${path}: it is not a directory. Set LOCAL_DIR to another directory.`,
  );
});

test.each([
  ["EROFS", "the file system is read-only"],
  ["ENOSPC", "the disk is full"],
  ["EACCES", "access is denied"],
])("explains %s, also as the cause of another error", (code, problem) => {
  const cause = Object.assign(new Error("write failed"), { code });
  expect(diskProblem(new Error("not started", { cause }))).toBe(problem);
});

test("explains no other error", () => {
  expect(diskProblem(new Error("not started"))).toBeUndefined();
});
