import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { importTable as table, taking } from "./checks/import-table.ts";
import { importViolations, zoneOf } from "./checks/import-violations.ts";

const rules = { table, taking };
const files = new Map(
  globSync(["{lib,functions,commands,local,test,bench}/**/*.ts", "docs/openapi/*.ts"]).map(path => [
    path.replaceAll("\\", "/"),
    readFileSync(path, "utf8"),
  ]),
);

/** A small tree without violations, to which each test adds one. */
const clean: Readonly<Record<string, string>> = {
  "lib/platform/fault.ts": "export const fault = 1;",
  "lib/platform/http/serve.ts":
    'import * as z from "zod"; import { fault } from "../fault.ts"; export const serve = [z, fault];',
  "lib/auth/users/user.ts": "export interface User {}",
  "lib/connector/model/request.ts": "export interface Request {}",
  "lib/platform/azure/tables.ts":
    'import "@azure/data-tables"; import { fault } from "../fault.ts"; export const tables = fault;',
  "functions/connector/routes.ts":
    'import { serve } from "../../lib/platform/http/serve.ts"; export const routes = serve;',
  "functions/auth/routes.ts": 'import type { User } from "../../lib/auth/users/user.ts"; export type Route = User;',
  "functions/main.ts":
    'import "./connector/routes.ts"; import "./auth/routes.ts"; import "../lib/platform/azure/tables.ts"; process.env;',
  "functions/deployment.ts":
    'import { randomBytes } from "node:crypto"; export const world = [Date.now(), randomBytes(1)];',
  "local/start.ts": 'import "../functions/main.ts"; import "@azure/functions"; Date.now();',
  "test/start.test.ts": 'import "../local/start.ts"; import "vitest";',
};
const planted = (path: string, source: string) =>
  importViolations(new Map(Object.entries({ ...clean, [path]: `${clean[path] ?? ""}\n${source}` })), rules);

describe("the import table", () => {
  it("allows every import of every file", () => {
    expect(importViolations(files, rules)).toEqual([]);
  });

  it("covers files of every zone", () => {
    const counts = Object.groupBy(files.keys(), path => zoneOf(path, table)?.name ?? "none");
    for (const { name } of table) expect(counts[name]?.length ?? 0, name).toBeGreaterThan(0);
    expect(counts.none).toBeUndefined();
  });

  it("reports nothing for a tree without violations", () => {
    expect(planted("lib/platform/fault.ts", "")).toEqual([]);
  });

  it.each([
    ["lib/auth/users/user.ts", 'import "../../connector/model/request.ts";', "imports lib/connector/model/request.ts"],
    [
      "lib/auth/users/user.ts",
      'import type { Request } from "../../connector/model/request.ts";',
      "imports lib/connector/",
    ],
    [
      "lib/connector/model/request.ts",
      'type U = import("../../auth/users/user.ts").User;',
      "imports lib/auth/users/user.ts",
    ],
    [
      "lib/auth/users/user.ts",
      'export type { Request } from "../../connector/model/request.ts";',
      "imports lib/connector/",
    ],
    [
      "lib/auth/users/user.ts",
      'export * from "../../connector/model/request.ts";',
      "imports lib/connector/model/request.ts",
    ],
    ["functions/connector/routes.ts", 'import "../auth/routes.ts";', "imports functions/auth/routes.ts"],
    [
      "lib/connector/model/request.ts",
      'await import("../../platform/azure/tables.ts");',
      "imports lib/platform/azure/tables.ts",
    ],
    [
      "lib/auth/users/users.table.ts",
      'import type { TableClient } from "@azure/data-tables";',
      "imports package @azure/data-tables",
    ],
    [
      "lib/auth/users/users.table.ts",
      'import "./manage-users.ts";',
      "imports lib/auth/users/manage-users.ts, which is not in a lower",
    ],
    ["commands/import.ts", 'import "../lib/platform/azure/tables.ts";', "imports lib/platform/azure/tables.ts"],
    ["functions/main.ts", 'import "../local/start.ts";', "imports local/start.ts"],
    ["local/start.ts", 'import "../test/start.test.ts";', "imports test/start.test.ts"],
    ["lib/platform/http/serve.ts", 'import "cborg/json";', "imports package cborg"],
    ["lib/connector/model/request.ts", 'require("@azure/identity");', "imports package @azure/identity"],
    ["lib/connector/model/request.ts", 'import "fs/promises";', "imports package node:fs/promises"],
    ["lib/platform/fault.ts", 'import "./gone.ts";', "imports lib/platform/gone.ts"],
    ["lib/platform/fault.ts", "await import(globalThis.name);", "computed at run time"],
    ["lib/utils/strings.ts", "export {};", "belongs to no zone"],
    [
      "lib/connector/model/request.ts",
      'import "../jobs/x.ts";',
      "imports lib/connector/jobs/x.ts, which is not in a lower layer",
    ],
    ["lib/auth/helpers/text.ts", "export {};", "is in no layer of lib/auth"],
    ["lib/platform/fault.ts", 'import "./fault.ts";', "cycle: lib/platform/fault.ts -> lib/platform/fault.ts"],
  ])("reports in %s: %s", (path, source, expected) => {
    expect(planted(path, source).filter(sentence => sentence.includes(expected))).toHaveLength(1);
  });

  it("reports a cycle of types over several files", () => {
    const cycle = {
      "lib/platform/a.ts": 'import type { B } from "./b.ts";',
      "lib/platform/b.ts": 'import type { C } from "./c.ts";',
      "lib/platform/c.ts": 'import type { A } from "./a.ts";',
    };
    expect(importViolations(new Map(Object.entries(cycle)), rules)).toEqual([
      "cycle: lib/platform/a.ts -> lib/platform/b.ts -> lib/platform/c.ts -> lib/platform/a.ts",
    ]);
  });
});

describe("environment, clock and randomness", () => {
  it.each([
    ["environment", "process.env.NAME;"],
    ["environment", 'process["env"];'],
    ["environment", "globalThis.process.env;"],
    ["environment", "const { env } = process;"],
    ["environment", 'import process from "node:process";'],
    ["clock", "Date.now();"],
    ["clock", "new Date();"],
    ["clock", "Date();"],
    ["clock", "performance.now();"],
    ["randomness", "Math.random();"],
    ["randomness", "crypto.randomUUID();"],
    ["randomness", "crypto.getRandomValues(bytes);"],
    ["randomness", 'import { randomBytes } from "node:crypto";'],
    ["randomness", 'import * as crypto from "node:crypto";'],
  ])("reports deployed code that takes the %s by %s", (taken, source) => {
    for (const path of ["lib/platform/fault.ts", "functions/register.ts"]) {
      expect(planted(path, source)).toContain(`${path} takes the ${taken}, which is passed in`);
    }
    expect(planted("local/start.ts", source)).toEqual([]);
  });

  it("allows a Date of a given time", () => {
    expect(planted("lib/platform/fault.ts", "new Date(0).toISOString(); Date.parse('');")).toEqual([]);
  });
});
