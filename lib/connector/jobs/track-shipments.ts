import { countAllMissing, countMissingTracked } from "../collect/missing-shipment.ts";
import { trackShipment } from "../collect/track-shipment.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import type { Due } from "../model/request.ts";
import { forEachDue } from "../runs/queue.ts";
import type { Run } from "../runs/run.ts";

/**
 * Tracks the due shipments that no credential waits for, until their delivery has ended. Call it last in a run: it takes the rest
 * of its time, so that thousands on their way delay no order. An on-demand run also tracks what is due only: callers run
 * it for responses, as often as they like.
 * @param knowsOthers whether the delivery service has answered for another shipment in this run: its 404s count then
 * @returns the number of shipments for which the delivery service answered, and of those that were left
 */
export async function trackShipments(
  run: Run,
  knowsOthers: boolean,
  deps: ConnectorDeps,
): Promise<{ readonly tracked: number; readonly left: number }> {
  let tracked = 0;
  let isRefused = false;
  const missing = new Map<string, Due | undefined>();
  const track = async (loaded: LoadedRequest): Promise<boolean> => {
    const result = await trackShipment(loaded, run, deps);
    if (result === "answered") tracked++;
    if (result === "unauthorized") isRefused = true;
    if (result === "missing") missing.set(loaded.request.value.id, loaded.request.value.trackDue);
    return result === "left";
  };
  const left = await forEachDue("track", run, deps, track, { until: deps.now(), stopped: () => isRefused });
  if (isRefused) deps.log.error("delivery_token_refused", {});
  const isCounted = knowsOthers || tracked > 0;
  const count = (loaded: LoadedRequest) => countMissingTracked(loaded, isCounted, deps);
  const uncounted = await countAllMissing(missing, { queue: "track", run }, count, deps);
  return { tracked, left: left + uncounted };
}
