import { days, plus } from "../../time.ts";
import { removeRequest } from "../cancel/remove-request.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { securityKeyOf } from "../store/change-security-key.ts";
import { forEachDue, isOver, startRun } from "../store/queue.ts";

export interface CleanUpReport {
  /** Requests that were deleted. */
  readonly deleted: number;
  /** Security keys whose copy of the responses was deleted. */
  readonly purged: number;
  /** Idempotency-Keys that expired. */
  readonly claims: number;
  /** Requests that were left when the time of the run ended. */
  readonly left: number;
}

/**
 * Deletes requests that ended at least `completedDays` ago and have no mail due, with their sealed keys and blobs, rows last; 0 deletes
 * none (C16). Deletes expired copies of responses and expired Idempotency-Keys, for any number of days.
 */
export async function cleanUp(completedDays: number, deps: ConnectorDeps): Promise<CleanUpReport> {
  const run = startRun("timer", deps);
  let purged = 0;
  const unvisited = await forEachDue("purge", run, deps, async (start, entries) => {
    let loaded = start;
    for (const { keyId } of entries) {
      if (keyId === undefined) continue;
      loaded = (await purgeResponses(loaded, keyId, deps)) ?? loaded;
      purged++;
    }
  });
  const claims = await deps.claims.removeEnded(deps.now(), () => isOver(run, deps));
  if (completedDays === 0) return { deleted: 0, purged, claims, left: unvisited };
  const until = plus(deps.now(), -days(completedDays));
  let deleted = 0;
  const undeleted = await forEachDue(
    "clean",
    run,
    deps,
    async loaded => {
      if (loaded.keys.some(({ value }) => value.mail.state === "due") || mayHaveOpenEvents(loaded, deps)) return;
      await removeRequest(loaded, deps);
      deps.log.info("request_deleted", {});
      deleted++;
    },
    { until },
  );
  return { deleted, purged, claims, left: unvisited + undeleted };
}

/** Whether the last events of a request may still be tried: its end is younger than the time for that. */
const mayHaveOpenEvents = (
  { request: { value } }: LoadedRequest,
  { now, intervals }: Pick<ConnectorDeps, "now" | "intervals">,
): boolean =>
  value.events !== undefined &&
  value.terminalAt !== undefined &&
  plus(value.terminalAt, intervals.eventRetryForMs) > now();

/** Deletes the copy of a security key's responses, and then its name in the row. */
async function purgeResponses(
  loaded: LoadedRequest,
  keyId: string,
  deps: ConnectorDeps,
): Promise<LoadedRequest | undefined> {
  const { responses, due, ...key } = securityKeyOf(loaded, keyId);
  if (responses !== undefined) await deps.responses.remove(responses);
  return deps.requests.save(loaded, { keys: [key] });
}
