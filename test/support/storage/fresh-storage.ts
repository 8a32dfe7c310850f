import { join } from "node:path";
import { inject } from "vitest";
import { storageConnectionString } from "../../../local/peers/storage/storage.ts";
import type { Limits } from "../host/limits.ts";
import { tryClaim } from "../run/claim.ts";

export interface FreshStorage {
  readonly connectionString: string;
  /** `http://127.0.0.1:<port>` without the account, as a pausing proxy wants it. */
  readonly blobUrl: string;
  readonly tableUrl: string;
}

/** Only a call that never ends meets this limit, however busy the machine is. */
export const storageTimeoutMs = 60_000;

/** Limits of a host on a slow machine: it hashes few passwords in the default time, and would refuse the calls that a test sends at once. */
export const patientLimits: Limits = { storageCallMs: storageTimeoutMs, hashWaitMs: 3_600_000 };

let next = 0;

/** An empty storage account that no other caller gets, in whatever process it runs. Throws when all are given away. */
export function freshStorage(): FreshStorage {
  const { blobUrl, tableUrl, key, accounts, claims } = inject("storage");
  for (; next < accounts; next++) {
    if (!tryClaim(join(claims, String(next)))) continue;
    const connectionString = storageConnectionString({ name: `test${next}`, key }, { blobUrl, tableUrl });
    return { connectionString, blobUrl, tableUrl };
  }
  throw new Error(`all ${accounts} storage accounts are given away; global-setup.ts makes them`);
}
