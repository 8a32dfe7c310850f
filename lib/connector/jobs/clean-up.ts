import { days, plus } from "../../platform/time.ts";
import { archiveRequest, isKeptInRegister, removeRequest } from "../cancel/remove-request.ts";
import type { ConnectorDeps } from "../deps.ts";
import { isRevoking } from "../model/credential.ts";
import { type LoadedRequest, securityKeyOf } from "../model/loaded-request.ts";
import type { SecurityKey } from "../model/security-key.ts";
import { forEachDue } from "../runs/queue.ts";
import { isPastDeadline, startRun } from "../runs/run.ts";

/**
 * Deletes requests that ended at least `completedDays` ago and have no PIN to mail, no credential to revoke and no
 * security key to replace, with their sealed keys and blobs, rows last; 0 deletes none (C16). Archives those with a
 * credential that is or may be registered instead, until they are too old for the register (C22). Deletes expired copies of responses and
 * expired Idempotency-Keys, for any number of days.
 * @returns the numbers of requests that were deleted, archived, and deferred when the time of the run ended; of security
 * keys whose copy was deleted (`purged`); and of expired Idempotency-Keys (`claims`)
 */
export async function cleanUp(completedDays: number, deps: ConnectorDeps) {
  const run = startRun("timer", deps);
  let purged = 0;
  const unvisited = await forEachDue("purge", run, async (start, entries) => {
    let loaded = start;
    for (const { keyId } of entries) {
      if (keyId === undefined) continue;
      loaded = (await purgeResponses(loaded, keyId, deps)) ?? loaded;
      purged++;
    }
    return false;
  });
  const claims = await deps.claims.removeEnded(deps.now(), () => isPastDeadline(run));
  const counts = { deleted: 0, archived: 0 };
  const { registerMs } = deps.intervals;
  const clean = (queue: "clean" | "register", ageMs: number) =>
    forEachDue(
      queue,
      run,
      async loaded => {
        const { replaceDue, trackDue } = loaded.request;
        // A loss that is reported later revokes its credentials.
        if (replaceDue !== undefined || (trackDue !== undefined && deps.onLoss === "revoke")) return false;
        if (loaded.keys.some(key => isUnsent(key, deps) || key.credentials.some(isRevoking))) return false;
        const undelivered = (await deps.events?.undelivered(loaded.request)) ?? [];
        if (undelivered.some(({ at }) => plus(at, deps.intervals.eventRetryForMs) > deps.now())) return false;
        const isArchived = queue === "clean" && registerMs > 0 && isKeptInRegister(loaded.keys);
        if (!(await (isArchived ? archiveRequest : removeRequest)(loaded, deps))) return false;
        for (const { fields } of undelivered) deps.log.error("event_given_up", fields);
        deps.log.info(isArchived ? "request_archived" : "request_deleted", {});
        counts[isArchived ? "archived" : "deleted"]++;
        return false;
      },
      { until: plus(deps.now(), -ageMs) },
    );
  const tooOld = await clean("register", registerMs);
  const ended = completedDays === 0 ? 0 : await clean("clean", days(completedDays));
  return { ...counts, purged, claims, deferred: unvisited + tooOld + ended };
}

/** Whether the PIN is still to be mailed: by the job, or by a resend in the time of the job. */
function isUnsent({ mail: { state, firstDueAt } }: SecurityKey, { now, intervals }: ConnectorDeps): boolean {
  if (state === "due") return true;
  return state === "given_up" && firstDueAt !== undefined && plus(firstDueAt, intervals.retryForMs) > now();
}

/** Deletes the copies of a security key's responses, and then the name in the row. */
async function purgeResponses(
  loaded: LoadedRequest,
  keyId: string,
  deps: ConnectorDeps,
): Promise<LoadedRequest | undefined> {
  const { responses, due, ...key } = securityKeyOf(loaded, keyId);
  if (responses !== undefined) await deps.responses.removeOf(loaded.request.id, keyId);
  return deps.requests.save(loaded, { keys: [key] });
}
