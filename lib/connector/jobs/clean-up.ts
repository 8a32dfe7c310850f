import { days, plus } from "../../time.ts";
import { removeRequest } from "../cancel/remove-request.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { securityKeyOf } from "../store/change-security-key.ts";
import { forEachDue, isOver, startRun } from "../store/queue.ts";

export interface CleanUpReport {
  /** Requests removed whole. */
  readonly deleted: number;
  /** Keys whose copy of the responses was removed. */
  readonly forgotten: number;
  /** Idempotency-Keys whose time was over (decision C6). */
  readonly claims: number;
  /** Requests not begun when the time budget ended. */
  readonly left: number;
}

/**
 * Deletes requests that ended at least `completedDays` ago and have no mail due, with their sealed keys and blobs, rows last; 0
 * deletes none (decision C16). Copies of responses go when their time is over, whatever the days say (decision C14).
 */
export async function cleanUp(completedDays: number, deps: ConnectorDeps): Promise<CleanUpReport> {
  const run = startRun("timer", deps);
  let forgotten = 0;
  const unvisited = await forEachDue("purge", run, deps, async (start, entries) => {
    let loaded = start;
    for (const { keyId } of entries) {
      if (keyId === undefined) continue;
      loaded = (await forget(loaded, keyId, deps)) ?? loaded;
      forgotten++;
    }
  });
  const claims = await deps.claims.removeEnded(deps.now(), () => isOver(run, deps));
  if (completedDays === 0) return { deleted: 0, forgotten, claims, left: unvisited };
  const until = plus(deps.now(), -days(completedDays));
  let deleted = 0;
  const undeleted = await forEachDue(
    "clean",
    run,
    deps,
    async loaded => {
      if (loaded.keys.some(({ value }) => value.mail.state === "due")) return;
      await removeRequest(loaded, deps);
      deps.log.info("request_deleted", {});
      deleted++;
    },
    { until },
  );
  return { deleted, forgotten, claims, left: unvisited + undeleted };
}

/** Removes a key's copy of its responses, then the name of it. */
async function forget(loaded: LoadedRequest, keyId: string, deps: ConnectorDeps): Promise<LoadedRequest | undefined> {
  const { responses, due, ...key } = securityKeyOf(loaded, keyId);
  if (responses !== undefined) await deps.responses.remove(responses);
  return deps.requests.save(loaded, { keys: [key] });
}
