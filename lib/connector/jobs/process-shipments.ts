import { withLogFields } from "../../platform/log.ts";
import { countMissingShipment } from "../collect/missing-shipment.ts";
import { type PollResult, pollShipment } from "../collect/poll-shipment.ts";
import { trackShipment } from "../collect/track-shipment.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { type Due, isSameDue } from "../model/request.ts";
import { probeOtherShipments } from "../recovery/other-shipments.ts";
import { continueAfterPauses, forEachDue, logAndContinue, scheduledWork } from "../runs/queue.ts";
import { isPastDeadline, type Run, startRun } from "../runs/run.ts";
import { newKeyCounts, processSecurityKeys } from "./process-security-keys.ts";

/**
 * Polls every due shipment; of version 1 shipments it also activates the security keys and sends their PINs. Then
 * tracks the shipments on their way. Ends with an error event if the delivery service rejects the connector's token, or
 * knows no shipment at all; its 404s count only if it knows another one (C10).
 */
export async function processShipments(mode: Run["mode"], deps: ConnectorDeps) {
  const run = startRun(mode, deps);
  const polls = visits("poll", pollShipment, run);
  let deferred = 0;
  await continueAfterPauses(run, async () => {
    deferred = await polls.visitDue();
  });
  const { counts, missing } = polls;
  const { answered, failed } = counts;
  const polled = { answered, missing: missing.size, failed };
  const isInDoubt = missing.size > 0 && answered === 0;
  const known = isInDoubt && !polls.isRefused() ? await probeOtherShipments(missing, run) : "knows_others";
  const others = polls.isRefused() ? "unauthorized" : known;
  if (others === "unauthorized" || others === "knows_none") {
    if (others === "unauthorized") deps.log.error("delivery_token_refused", {});
    else deps.log.error("all_shipments_missing", { count: missing.size });
    await deps.sendEventsAfterJob();
    return { ...polled, activated: 0, tracked: 0, deferred };
  }
  if (others === "knows_others") deferred += await polls.countMissing();
  const keys = newKeyCounts();
  let deferredKeys = 0;
  await continueAfterPauses(run, async () => {
    deferredKeys = await processSecurityKeys("shipment_key", run, keys);
  });
  // Last in a run, so that thousands of parcels on their way delay no order.
  const tracks = visits("track", trackShipment, run);
  deferred += deferredKeys + (await tracks.visitDue());
  if (tracks.isRefused()) deps.log.error("delivery_token_refused", {});
  await deps.sendEventsAfterJob();
  return { ...polled, activated: keys.activated, tracked: tracks.counts.answered, deferred };
}

/** Returns the visits of a run to the shipments of a queue: what the delivery service says of each. */
function visits(queue: "poll" | "track", visit: (loaded: LoadedRequest, run: Run) => Promise<PollResult>, run: Run) {
  const counts = { answered: 0, missing: 0, unauthorized: 0, failed: 0, skipped: 0, deferred: 0 };
  /** The requests whose shipments got a 404, by id, each with the work that was due. */
  const missing = new Map<string, Due | undefined>();
  const work = async (loaded: LoadedRequest): Promise<boolean> => {
    const result = await visit(loaded, run);
    counts[result]++;
    if (result === "missing") missing.set(loaded.request.id, scheduledWork(loaded, { queue }));
    return result === "deferred";
  };
  const isRefused = () => counts.unauthorized > 0;
  return {
    counts,
    missing,
    isRefused,
    /**
     * Visits the due shipments while the delivery service accepts the connector. Returns how many were deferred. An
     * on-demand run also tracks what is due only: callers run it for responses, as often as they like.
     */
    visitDue: () =>
      forEachDue(queue, run, work, {
        ...(queue === "track" && { until: run.now() }),
        shouldEnd: isRefused,
      }),
    /**
     * Counts the 404s once, also if several runs have polled the shipments at the same time: only while the same work
     * is still due. Returns how many were deferred because the time of the run ended: they stay due.
     */
    async countMissing(): Promise<number> {
      let deferred = 0;
      for (const [id, due] of missing) {
        if (isPastDeadline(run)) {
          deferred++;
          continue;
        }
        await withLogFields({ credentialRequestId: id }, async () => {
          try {
            const loaded = await run.requests.load(id);
            if (loaded !== undefined && isSameDue(scheduledWork(loaded, { queue }), due))
              await countMissingShipment(loaded, run);
          } catch (error) {
            logAndContinue(error, { queue, run: run.owner }, run);
          }
        });
      }
      return deferred;
    },
  };
}
