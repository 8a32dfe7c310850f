import { resumeCancel } from "../cancel/cancel-request.ts";
import type { ConnectorDeps } from "../deps.ts";
import { reconcileRequest } from "../recovery/reconcile-request.ts";
import { forEachDue } from "../store/queue.ts";
import { type Run, startRun } from "../store/run.ts";
import { newCircuitBreakers } from "./process-security-key.ts";
import { type KeysReport, processSecurityKeys } from "./process-security-keys.ts";

/**
 * Reconciles requests whose create stopped, continues cancels, polls the pre-registration API, activates due
 * credentials and sends due PIN
 * mails (C15).
 */
export async function processCredentialRequests(mode: Run["mode"], deps: ConnectorDeps): Promise<KeysReport> {
  const run = startRun(mode, deps);
  const circuitBreakers = newCircuitBreakers();
  const unreconciled = await forEachDue("reconcile", run, deps, loaded =>
    loaded.request.value.cancelling === undefined
      ? reconcileRequest(loaded, run, deps)
      : resumeCancel(loaded, run, deps),
  );
  const ofV2 = await processSecurityKeys("key", { run, circuitBreakers }, deps);
  const ofV1 = await processSecurityKeys("shipment_key", { run, circuitBreakers }, deps);
  await deps.sendEventsAfterJob();
  return {
    processed: ofV2.processed + ofV1.processed,
    activated: ofV2.activated + ofV1.activated,
    failed: ofV2.failed + ofV1.failed,
    pending: ofV2.pending + ofV1.pending,
    left: unreconciled + ofV2.left + ofV1.left,
  };
}
