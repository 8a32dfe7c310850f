import { emptyReport, plusReport, processSecurityKeys } from "../activate/process-security-keys.ts";
import { countAllMissing, countMissingShipment } from "../collect/missing-shipment.ts";
import { type PollResult, pollShipment } from "../collect/poll-shipment.ts";
import { probeOtherShipments } from "../collect/probe-other-shipments.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import type { Due } from "../model/request.ts";
import { continueAfterPauses, forEachDue } from "../runs/queue.ts";
import { type Run, startRun } from "../runs/run.ts";
import { trackShipments } from "./track-shipments.ts";

interface ShipmentsReport {
  /** Polled shipments by the result of the poll. */
  readonly answered: number;
  readonly missing: number;
  readonly failed: number;
  /** Credentials of version 1 shipments that were activated. */
  readonly activated: number;
  /** Shipments on their way for which the delivery service answered. */
  readonly tracked: number;
  /** Requests that were left, because the time of the run ended, the run was stopped, or a peer was not to be called. */
  readonly left: number;
}

/**
 * Polls every due shipment; of version 1 shipments it also activates the security keys and sends their PINs. Then tracks
 * the shipments on their way. Logs an error and ends the
 * run if the delivery service rejects the connector's token, or if it answers 404 for polled shipments and knows no
 * other one. If it is not known whether it does (`probeOtherShipments`), the 404s are not counted, and the shipments stay
 * due. If a peer throttles, a timer run waits for the end of its Retry-After and continues with the peer's work.
 */
export async function processShipments(mode: Run["mode"], deps: ConnectorDeps): Promise<ShipmentsReport> {
  const run = startRun(mode, deps);
  const counts: Record<PollResult, number> = {
    answered: 0,
    missing: 0,
    unauthorized: 0,
    failed: 0,
    skipped: 0,
    left: 0,
  };
  /** The requests whose shipments got a 404, by id, each with the poll that was due. A run that continues after a wait polls them again. */
  const missing = new Map<string, Due | undefined>();
  const poll = async (loaded: LoadedRequest): Promise<boolean> => {
    const result = await pollShipment(loaded, run, deps);
    counts[result]++;
    if (result === "missing") missing.set(loaded.request.value.id, loaded.request.value.due);
    return result === "left";
  };
  let left = 0;
  await continueAfterPauses(run, deps, async () => {
    left = await forEachDue("poll", run, deps, poll, { stopped: () => counts.unauthorized > 0 });
  });
  const { answered, failed } = counts;
  const polled = { answered, missing: missing.size, failed };
  const isInDoubt = missing.size > 0 && answered === 0;
  const others =
    isInDoubt && counts.unauthorized === 0 ? await probeOtherShipments(missing, run, deps) : "knows_others";
  const result = counts.unauthorized > 0 ? "unauthorized" : others;
  if (result === "unauthorized" || result === "knows_none") {
    if (result === "unauthorized") deps.log.error("delivery_token_refused", {});
    else deps.log.error("all_shipments_missing", { count: missing.size });
    await deps.sendEventsAfterJob();
    return { ...polled, activated: 0, tracked: 0, left };
  }
  if (result === "knows_others")
    left += await countAllMissing(
      missing,
      { queue: "poll", run },
      loaded => countMissingShipment(loaded, run, deps),
      deps,
    );
  let keys = emptyReport;
  await continueAfterPauses(run, deps, async () => {
    keys = plusReport(keys, await processSecurityKeys("shipment_key", run, deps));
  });
  const track = await trackShipments(run, answered > 0, deps);
  await deps.sendEventsAfterJob();
  return { ...polled, activated: keys.activated, tracked: track.tracked, left: left + keys.left + track.left };
}
