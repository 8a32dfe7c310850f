import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "vitest";
import { azureHostMissing, findAzureHost } from "../../../local/azure-host/find-azure-host.ts";
import {
  type AzureHostOptions,
  type RunningAzureHost,
  startAzureHost,
} from "../../../local/azure-host/start-azure-host.ts";
import { atEndOfFile } from "../run/end-of-file.ts";

/** Azure's Functions host on this machine; undefined if there is none. */
const atHand = findAzureHost(process.env, process.cwd());

/** A group of tests that is skipped, with the reason, on a machine without Azure's Functions host. */
export const describeOnAzureHost = (name: string, tests: () => void): void => {
  if (atHand === undefined) describe.skip(`${name} (skipped: ${azureHostMissing})`, tests);
  else describe(name, tests);
};

/** Starts Azure's Functions host, which ends with the test file. Throws if there is none. */
export async function azureHostOfFile(options: Omit<AzureHostOptions, "folder">): Promise<RunningAzureHost> {
  if (atHand === undefined) throw new Error(azureHostMissing);
  const folder = mkdtempSync(join(tmpdir(), "azure-host-"));
  try {
    const host = await startAzureHost(atHand, { ...options, folder });
    atEndOfFile(async () => {
      await host.kill();
      rmSync(folder, { recursive: true, force: true });
    });
    return host;
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}
