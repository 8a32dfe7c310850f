import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { findAzureHost } from "../../../local/azure-host/find-azure-host.ts";

const directory = mkdtempSync(join(tmpdir(), "find-host-"));
afterAll(() => rmSync(directory, { recursive: true }));

const root = join(directory, "project");
const script = join(directory, "shared", "functions-host", "start.py");
const func = join(directory, "bin", "func");

test("finds what FUNCTIONS_HOST names, then the shared folder, then func on the PATH", () => {
  expect(findAzureHost({ PATH: join(directory, "bin") }, root)).toBeUndefined();
  for (const path of [func, script]) {
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, "");
  }
  const own = join(directory, "own", "start.py");
  mkdirSync(join(own, ".."));
  writeFileSync(own, "");
  const PATH = join(directory, "bin");
  expect(findAzureHost({ PATH, FUNCTIONS_HOST: join(directory, "own") }, root)).toEqual({ kind: "script", path: own });
  expect(findAzureHost({ PATH, FUNCTIONS_HOST: func }, root)).toEqual({ kind: "func", path: func });
  expect(findAzureHost({ PATH }, root)).toEqual({ kind: "script", path: script });
  rmSync(script);
  expect(findAzureHost({ PATH }, root)).toEqual({ kind: "func", path: func });
});

test("names the file that FUNCTIONS_HOST says and that does not exist", () => {
  const missing = join(directory, "none");
  expect(() => findAzureHost({ FUNCTIONS_HOST: missing }, root)).toThrow(`FUNCTIONS_HOST: there is no ${missing}.`);
});
