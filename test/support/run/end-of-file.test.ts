import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { atEndOfFile, endFile } from "./end-of-file.ts";

test("work for the end of a file is done once, the latest first", async () => {
  const done: number[] = [];
  for (const n of [1, 2]) atEndOfFile(async () => void done.push(n));
  await endFile();
  await endFile();
  expect(done).toEqual([2, 1]);
});

test("no module that tests share registers a hook as it loads: it would run for the first file of a process alone", () => {
  const runBeforeEachFile = ["test/support/run/each-file.ts", "test/support/run/shared-process.ts"];
  const modules = globSync("test/**/*.ts").filter(path => !path.endsWith(".test.ts"));
  const registering = modules.filter(path => /^(?:before|after)(?:All|Each)\(/m.test(readFileSync(path, "utf8")));
  expect(registering.sort()).toEqual(runBeforeEachFile);
});
