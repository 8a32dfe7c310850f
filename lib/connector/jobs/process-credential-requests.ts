import { resumeCancel } from "../cancel/cancel-request.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { reconcileRequest } from "../recovery/reconcile-request.ts";
import { continueAfterPauses, forEachDue } from "../runs/queue.ts";
import { type Run, startRun } from "../runs/run.ts";
import { followReplacement } from "./follow-replacement.ts";
import { newKeyCounts, processSecurityKeys } from "./process-security-keys.ts";

/**
 * Reconciles requests whose create stopped, continues cancels, polls the pre-registration API, activates due
 * credentials, sends due PIN emails and revokes replaced security keys (C15). If a peer throttles, a timer run waits
 * for the end of its Retry-After and continues with the peer's work. Returns the counts of credentials, and the number
 * of requests that were deferred.
 */
export async function processCredentialRequests(mode: Run["mode"], deps: ConnectorDeps) {
  const run = startRun(mode, deps);
  const counts = newKeyCounts();
  let deferred = 0;
  await continueAfterPauses(run, async () => {
    const unreconciled = await forEachDue("reconcile", run, async loaded => {
      if (loaded.request.cancelling === undefined) return reconcileRequest(loaded, run);
      await resumeCancel(loaded, run);
      return false;
    });
    const ofKeys = await processSecurityKeys("key", run, counts);
    const ofShipmentKeys = await processSecurityKeys("shipment_key", run, counts);
    // Last, so that what has become active in this run is followed by it.
    const follow = (loaded: LoadedRequest) => followReplacement(loaded, run);
    deferred =
      unreconciled + ofKeys + ofShipmentKeys + (await forEachDue("replace", run, follow, { until: deps.now() }));
  });
  await deps.sendEventsAfterJob();
  return { ...counts, deferred };
}
