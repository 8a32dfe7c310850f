import { forEachDue, type Run, startRun } from "./due-work.ts";
import type { MailBrake } from "./key-hold.ts";
import type { ConnectorDeps } from "./ports.ts";
import { settle } from "./settle.ts";
import { type KeysReport, workKeys } from "./work-keys.ts";

/**
 * Settles what creators left behind, activates every due credential and sends the due PIN mails (decision C15).
 */
export async function processCredentialRequests(mode: Run["mode"], deps: ConnectorDeps): Promise<KeysReport> {
  const run = startRun(mode, deps);
  const brake: MailBrake = { stoppedUntil: undefined };
  const unsettled = await forEachDue("settle", run, deps, loaded => settle(loaded, run, deps));
  const ofV2 = await workKeys("key", { run, brake }, deps);
  const ofV1 = await workKeys("shipment_key", { run, brake }, deps);
  return {
    processed: ofV2.processed + ofV1.processed,
    activated: ofV2.activated + ofV1.activated,
    failed: ofV2.failed + ofV1.failed,
    pending: ofV2.pending + ofV1.pending,
    left: unsettled + ofV2.left + ofV1.left,
  };
}
