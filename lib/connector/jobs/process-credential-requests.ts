import { between } from "../../time.ts";
import { resumeCancel } from "../cancel/cancel-request.ts";
import type { ConnectorDeps } from "../deps.ts";
import { reconcileRequest } from "../recovery/reconcile-request.ts";
import { takeEndOfPauses } from "../store/peer-calls.ts";
import { forEachDue } from "../store/queue.ts";
import { isOver, type Run, startRun } from "../store/run.ts";
import { type KeysReport, processSecurityKeys } from "./process-security-keys.ts";

/**
 * Reconciles requests whose create stopped, continues cancels, polls the pre-registration API, activates due
 * credentials and sends due PIN
 * mails (C15). A timer run continues with the work of a peer that throttles when its Retry-After is over.
 */
export async function processCredentialRequests(mode: Run["mode"], deps: ConnectorDeps): Promise<KeysReport> {
  const run = startRun(mode, deps);
  let total: KeysReport = { processed: 0, activated: 0, failed: 0, pending: 0, left: 0 };
  for (;;) {
    total = plusReport(total, await processQueues(run, deps));
    const until = mode === "timer" ? takeEndOfPauses(run) : undefined;
    if (until === undefined || until >= run.endsAt) break;
    // It may be over, if the work of other peers took longer.
    if (until > deps.now()) await deps.sleep(between(deps.now(), until));
    if (deps.now() < until || isOver(run, deps)) break;
  }
  await deps.sendEventsAfterJob();
  return total;
}

async function processQueues(run: Run, deps: ConnectorDeps): Promise<KeysReport> {
  const unreconciled = await forEachDue("reconcile", run, deps, loaded =>
    loaded.request.value.cancelling === undefined
      ? reconcileRequest(loaded, run, deps)
      : resumeCancel(loaded, run, deps).then(() => false),
  );
  const ofV2 = await processSecurityKeys("key", run, deps);
  const ofV1 = await processSecurityKeys("shipment_key", run, deps);
  return { ...plusReport(ofV2, ofV1), left: unreconciled + ofV2.left + ofV1.left };
}

/** Returns the sum of the credentials. What the first report left is part of the second one. */
const plusReport = (first: KeysReport, second: KeysReport): KeysReport => ({
  processed: first.processed + second.processed,
  activated: first.activated + second.activated,
  failed: first.failed + second.failed,
  pending: first.pending + second.pending,
  left: second.left,
});
