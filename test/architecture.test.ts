import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { importTable as table, taking } from "./checks/import-table.ts";
import { importViolations, zoneOf } from "./checks/import-violations.ts";

const rules = { table, taking };
const files = new Map(
  globSync("{lib,functions,commands,local,test,bench}/**/*.ts").map(path => [
    path.replaceAll("\\", "/"),
    readFileSync(path, "utf8"),
  ]),
);

/** A tree without fault, small enough to plant faults in. */
const clean: Readonly<Record<string, string>> = {
  "lib/fault.ts": "export const fault = 1;",
  "lib/http/serve.ts":
    'import * as z from "zod"; import { fault } from "../fault.ts"; export const serve = [z, fault];',
  "lib/auth/model/user.ts": "export interface User {}",
  "lib/connector/model/request.ts": "export interface Request {}",
  "lib/azure/tables/tables.ts":
    'import "@azure/data-tables"; import type { Request } from "../../connector/model/request.ts"; export type Row = Request;',
  "functions/connector/routes.ts": 'import { serve } from "../../lib/http/serve.ts"; export const routes = serve;',
  "functions/auth/routes.ts": 'import type { User } from "../../lib/auth/model/user.ts"; export type Route = User;',
  "functions/main.ts":
    'import "./connector/routes.ts"; import "./auth/routes.ts"; import "../lib/azure/tables/tables.ts"; process.env;',
  "functions/deployment.ts":
    'import { randomBytes } from "node:crypto"; export const world = [Date.now(), randomBytes(1)];',
  "local/start.ts": 'import "../functions/main.ts"; import "@azure/functions"; Date.now();',
  "test/start.test.ts": 'import "../local/start.ts"; import "vitest";',
};
const planted = (path: string, source: string) =>
  importViolations(new Map(Object.entries({ ...clean, [path]: `${clean[path] ?? ""}\n${source}` })), rules);

describe("the import table", () => {
  it("holds for every file", () => {
    expect(importViolations(files, rules)).toEqual([]);
  });

  it("was held against the files of every zone that is built", () => {
    const counts = Object.groupBy(files.keys(), path => zoneOf(path, table)?.name ?? "none");
    const count = (zone: string) => counts[zone]?.length ?? 0;
    expect(count("ground")).toBeGreaterThan(5);
    expect(count("http")).toBeGreaterThan(10);
    expect(count("connector domain")).toBeGreaterThan(30);
    expect(count("azure")).toBeGreaterThan(10);
    expect(count("connector edge")).toBeGreaterThan(5);
    expect(count("composition")).toBeGreaterThan(4);
    expect(count("connector start")).toBeGreaterThan(4);
    expect(count("auth start")).toBeGreaterThan(4);
    expect(count("azure of the connector")).toBeGreaterThan(4);
    expect(count("azure of the authentication server")).toBeGreaterThan(10);
    expect(count("commands")).toBeGreaterThan(5);
    expect(count("local")).toBeGreaterThan(20);
    expect(count("test")).toBeGreaterThan(20);
    expect(count("none")).toBe(0);
  });

  it("finds no fault in a tree that has none", () => {
    expect(planted("lib/fault.ts", "")).toEqual([]);
  });

  it.each([
    [
      "a wing in the other",
      "lib/auth/model/user.ts",
      'import "../../connector/model/request.ts";',
      "imports lib/connector/model/request.ts",
    ],
    [
      "a wing in the other, by type alone",
      "lib/auth/model/user.ts",
      'import type { Request } from "../../connector/model/request.ts";',
      "imports lib/connector/model/request.ts",
    ],
    [
      "a wing in the other, by an import type",
      "lib/connector/model/request.ts",
      'type U = import("../../auth/model/user.ts").User;',
      "imports lib/auth/model/user.ts",
    ],
    [
      "a wing in the other, by a re-export",
      "lib/auth/model/user.ts",
      'export type { Request } from "../../connector/model/request.ts";',
      "imports lib/connector/model/request.ts",
    ],
    [
      "a wing in the other, by all its exports",
      "lib/auth/model/user.ts",
      'export * from "../../connector/model/request.ts";',
      "imports lib/connector/model/request.ts",
    ],
    [
      "a wing's edge in the other's domain",
      "functions/auth/routes.ts",
      'import "../../lib/connector/model/request.ts";',
      "imports lib/connector/model/request.ts",
    ],
    [
      "a wing's edge in the other's edge",
      "functions/connector/routes.ts",
      'import "../auth/routes.ts";',
      "imports functions/auth/routes.ts",
    ],
    [
      "a wing in how it is called",
      "lib/connector/model/request.ts",
      'import "../../http/serve.ts";',
      "imports lib/http/serve.ts",
    ],
    [
      "a wing in storage",
      "lib/connector/model/request.ts",
      'await import("../../azure/tables/tables.ts");',
      "imports lib/azure/tables/tables.ts",
    ],
    [
      "an edge in storage",
      "functions/connector/routes.ts",
      'import "../../lib/azure/tables/tables.ts";',
      "imports lib/azure/tables/tables.ts",
    ],
    [
      "a command in storage, which it has no way to (decision G13)",
      "commands/import.ts",
      'import "../lib/azure/tables/tables.ts";',
      "imports lib/azure/tables/tables.ts",
    ],
    [
      "the ground in what stands on it",
      "lib/fault.ts",
      'import "./auth/model/user.ts";',
      "imports lib/auth/model/user.ts",
    ],
    ["deployed code in the local system", "functions/main.ts", 'import "../local/start.ts";', "imports local/start.ts"],
    [
      "deployed code in a test",
      "lib/azure/tables/tables.ts",
      'import "../../../test/start.test.ts";',
      "imports test/start.test.ts",
    ],
    ["the local system in a test", "local/start.ts", 'import "../test/start.test.ts";', "imports test/start.test.ts"],
    [
      "an Azure package outside the adapters",
      "lib/connector/model/request.ts",
      'import type { TableClient } from "@azure/data-tables";',
      "imports package @azure/data-tables",
    ],
    [
      "an Azure package in the composition",
      "functions/main.ts",
      'await import("@azure/identity");',
      "imports package @azure/identity",
    ],
    ["a package that the zone has no use for", "lib/http/serve.ts", 'import "cborg/json";', "imports package cborg"],
    [
      "a required package",
      "lib/connector/model/request.ts",
      'require("@azure/identity");',
      "imports package @azure/identity",
    ],
    [
      "a built-in module that the zone has no use for",
      "lib/connector/model/request.ts",
      'import "fs/promises";',
      "imports package node:fs/promises",
    ],
    ["a file that is not there", "lib/fault.ts", 'import "./gone.ts";', "imports lib/gone.ts"],
    ["a name that only a run can tell", "lib/fault.ts", "await import(globalThis.name);", "only a run can tell"],
    ["a file of no zone", "lib/utils/strings.ts", "export {};", "belongs to no zone"],
    [
      "an import of a higher layer",
      "lib/connector/model/request.ts",
      'import "../jobs/process-key.ts";',
      "imports lib/connector/jobs/process-key.ts, which is not in a lower layer",
    ],
    ["a folder of no layer", "lib/auth/helpers/text.ts", "export {};", "is in no layer of lib/auth"],
    ["a cycle", "lib/fault.ts", 'import "./fault.ts";', "cycle: lib/fault.ts -> lib/fault.ts"],
  ])("finds %s", (_, path, source, told) => {
    expect(planted(path, source).filter(sentence => sentence.includes(told))).toHaveLength(1);
  });

  it("finds a cycle of types over several files", () => {
    const cycle = {
      "lib/a.ts": 'import type { B } from "./b.ts";',
      "lib/b.ts": 'import type { C } from "./c.ts";',
      "lib/c.ts": 'import type { A } from "./a.ts";',
    };
    expect(importViolations(new Map(Object.entries(cycle)), rules)).toEqual([
      "cycle: lib/a.ts -> lib/b.ts -> lib/c.ts -> lib/a.ts",
    ]);
  });
});

describe("the outside world comes in at one place (decision G9)", () => {
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
  ])("finds one that takes the %s by %s", (taken, source) => {
    for (const path of ["lib/fault.ts", "functions/register.ts"]) {
      expect(planted(path, source)).toContain(`${path} takes the ${taken}, which is passed in`);
    }
    expect(planted("local/start.ts", source)).toEqual([]);
  });

  it("lets a time that is given be a Date", () => {
    expect(planted("lib/fault.ts", "new Date(0).toISOString(); Date.parse('');")).toEqual([]);
  });
});
