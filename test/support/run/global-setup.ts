import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { startStorage } from "../../../local/peers/storage/storage.ts";

/** What storage.ts needs to give every caller an account of its own. */
export interface TestStorage {
  readonly blobUrl: string;
  readonly tableUrl: string;
  /** Of every account, base64. */
  readonly key: string;
  /** There are `accounts` accounts, `test0` first. */
  readonly accounts: number;
  /** A directory in which the process that creates the directory `n` owns the account `test<n>`. */
  readonly claims: string;
}

declare module "vitest" {
  export interface ProvidedContext {
    storage: TestStorage;
    /** An empty directory for what the processes of one run share. */
    runDirectory: string;
  }
}

/** More than all tests take. They are one environment variable of the storage, which Linux limits to 128 KiB. */
const accounts = 3000;
/** Short for the same reason. */
const keyBytes = 18;

/** One storage for all test files, because starting one costs a second; accounts keep the tests apart. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const key = randomBytes(keyBytes).toString("base64");
  const storage = await startStorage({
    accounts: Array.from({ length: accounts }, (_, n) => ({ name: `test${n}`, key })),
  });
  const claims = mkdtempSync(join(tmpdir(), "test-accounts-"));
  const runDirectory = mkdtempSync(join(tmpdir(), "test-run-"));
  project.provide("storage", { blobUrl: storage.blobUrl, tableUrl: storage.tableUrl, key, accounts, claims });
  project.provide("runDirectory", runDirectory);
  return async () => {
    await storage.close();
    for (const directory of [claims, runDirectory]) rmSync(directory, { recursive: true });
  };
}
