import type { ConnectorDeps } from "../deps.ts";
import { forEachDue, logAndContinue } from "../runs/queue.ts";
import { isPastDeadline, type Run } from "../runs/run.ts";
import { type KeyCounts, processSecurityKey } from "./process-security-key.ts";

export interface KeysReport extends KeyCounts {
  /** Requests that were left or not finished, because the time of the run ended or a peer was not to be called. */
  readonly left: number;
}

/** Processes the due security keys of a queue: polls authenticators, activates credentials and sends PIN emails. */
export async function processSecurityKeys(
  queue: "key" | "shipment_key",
  run: Run,
  deps: ConnectorDeps,
): Promise<KeysReport> {
  const total = { processed: 0, activated: 0, failed: 0, pending: 0 };
  const left = await forEachDue(queue, run, deps, async (start, entries) => {
    let loaded = start;
    let hasLeft = false;
    for (const { keyId } of entries) {
      if (keyId === undefined) continue;
      if (isPastDeadline(run, deps)) return true;
      try {
        const result = await processSecurityKey(loaded, keyId, run, deps);
        for (const name of ["processed", "activated", "failed", "pending"] as const) total[name] += result.counts[name];
        loaded = result.loaded;
        hasLeft ||= result.isLeft;
      } catch (error) {
        logAndContinue(error, { queue, run: run.owner, keyId }, deps);
        loaded = (await deps.requests.load(loaded.request.value.id)) ?? loaded;
      }
    }
    return hasLeft;
  });
  return { ...total, left };
}

/** The report of a run that has done nothing yet. */
export const emptyReport: KeysReport = { processed: 0, activated: 0, failed: 0, pending: 0, left: 0 };

/** Returns the sum of two reports. The requests that are left are those of the second: it includes those of the first. */
export const plusReport = (first: KeysReport, second: KeysReport): KeysReport => ({
  processed: first.processed + second.processed,
  activated: first.activated + second.activated,
  failed: first.failed + second.failed,
  pending: first.pending + second.pending,
  left: second.left,
});
