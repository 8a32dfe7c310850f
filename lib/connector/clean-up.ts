import { days, plus } from "../time.ts";
import { forEachDue, type Run } from "./due-work.ts";
import type { ConnectorDeps, Loaded } from "./ports.ts";

export interface CleanUpReport {
  readonly deleted: number;
  /** Not begun when the time budget ended. */
  readonly left: number;
}

/**
 * Deletes requests that ended at least `completedDays` ago and have no mail due, with their sealed keys and blobs, rows last
 * (decision C16). 0 deletes nothing.
 */
export async function cleanUp(run: Run, completedDays: number, deps: ConnectorDeps): Promise<CleanUpReport> {
  if (completedDays === 0) return { deleted: 0, left: 0 };
  const until = plus(deps.now(), -days(completedDays));
  let deleted = 0;
  const left = await forEachDue(
    "clean",
    run,
    deps,
    async loaded => {
      if (loaded.keys.some(({ value }) => value.mail.state === "due")) return;
      await erase(loaded, deps);
      deleted++;
    },
    until,
  );
  return { deleted, left };
}

/** Removes all that is kept of a request. Every step may be repeated; the index row goes last, so that a crash is found again. */
export async function erase(loaded: Loaded, { requests, responses, log }: ConnectorDeps): Promise<void> {
  const { id, due, delivery } = loaded.request.value;
  await Promise.all(loaded.keys.map(({ value }) => value.responses !== undefined && responses.remove(value.responses)));
  if (delivery?.shipmentId !== undefined) await requests.releaseShipment(delivery.shipmentId, id);
  await requests.remove(loaded);
  if (due !== undefined) await requests.unschedule(due, id);
  log.info("request_deleted", {});
}
