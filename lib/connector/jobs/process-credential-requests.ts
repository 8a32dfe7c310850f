import { resumeCancel } from "../cancel/cancel-request.ts";
import type { ConnectorDeps } from "../deps.ts";
import { reconcileRequest } from "../recovery/reconcile-request.ts";
import { continueAfterPauses, forEachDue } from "../runs/queue.ts";
import { type Run, startRun } from "../runs/run.ts";
import { emptyReport, type KeysReport, plusReport, processSecurityKeys } from "./process-security-keys.ts";

/**
 * Reconciles requests whose create stopped, continues cancels, polls the pre-registration API, activates due
 * credentials and sends due PIN emails (C15). If a peer throttles, a timer run waits for the end of its Retry-After and
 * continues with the peer's work.
 */
export async function processCredentialRequests(mode: Run["mode"], deps: ConnectorDeps): Promise<KeysReport> {
  const run = startRun(mode, deps);
  let total = emptyReport;
  await continueAfterPauses(run, deps, async () => {
    total = plusReport(total, await processQueues(run, deps));
  });
  await deps.sendEventsAfterJob();
  return total;
}

async function processQueues(run: Run, deps: ConnectorDeps): Promise<KeysReport> {
  const unreconciled = await forEachDue("reconcile", run, deps, loaded =>
    loaded.request.value.cancelling === undefined
      ? reconcileRequest(loaded, run, deps)
      : resumeCancel(loaded, run, deps),
  );
  const ofV2 = await processSecurityKeys("key", run, deps);
  const ofV1 = await processSecurityKeys("shipment_key", run, deps);
  return { ...plusReport(ofV2, ofV1), left: unreconciled + ofV2.left + ofV1.left };
}
