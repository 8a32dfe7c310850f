import { isUnavailable } from "../../platform/fault.ts";
import { type Fields, withLogFields } from "../../platform/log.ts";
import { between, type Instant } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import type { Due } from "../model/request.ts";
import type { DueEntry } from "../storage/due-index.table.ts";
import { dueQueue } from "./due-queue.ts";
import { isPastDeadline, isStaleRow, type Run, takeEndOfPauses } from "./run.ts";

/**
 * Works through a queue, oldest items first, several requests at once and each request by one worker. The failure of an
 * item is logged, and the item stays due. Unavailable storage ends the run and is thrown.
 * @param work returns whether it has deferred work on the request to a later run
 * @param until only items that are due at or before this time; undefined for all
 * @param stopped called before each request; true ends the run
 * @returns the number of requests with work that was deferred, because the time of the run ended, it was stopped, or a
 * peer must not be called
 */
export async function forEachDue(
  queue: Due["queue"],
  run: Run,
  deps: ConnectorDeps,
  work: (loaded: LoadedRequest, entries: readonly DueEntry[]) => Promise<boolean>,
  {
    until = run.mode === "timer" ? deps.now() : undefined,
    stopped = () => false,
  }: { readonly until?: Instant | undefined; readonly stopped?: () => boolean } = {},
): Promise<number> {
  const due = dueQueue(queue, run, until, deps);
  const { callsAtOnce } = deps.peerLimits;
  /** The requests in work, each with its peer. Each peer has places of its own: a slow one delays no other. */
  const active = new Map<Promise<void>, string | undefined>();
  const freeAt = (peer: string | undefined): number =>
    callsAtOnce - [...active.values()].filter(each => each === peer).length;
  let storageError: unknown;
  const hasEnded = () => storageError !== undefined || stopped() || isPastDeadline(run, deps);
  const deferred = new Set<string>();
  try {
    while (!hasEnded()) {
      for (const { requestId, rows, peer } of await due.take(freeAt)) {
        if (hasEnded()) {
          deferred.add(requestId);
          continue;
        }
        const visited = visit(requestId, rows, run, deps, work)
          .then(isDeferred => {
            if (isDeferred) deferred.add(requestId);
          })
          .catch((error: unknown) => {
            storageError = error;
          })
          .finally(() => active.delete(visited));
        active.set(visited, peer);
      }
      if (active.size === 0) break;
      await Promise.race(active.keys());
    }
  } catch (error) {
    storageError = error;
  }
  await Promise.all(active.keys());
  if (storageError !== undefined) throw storageError;
  return new Set([...deferred, ...(await due.rest())]).size;
}

async function visit(
  requestId: string,
  rows: readonly DueEntry[],
  run: Run,
  deps: ConnectorDeps,
  work: (loaded: LoadedRequest, entries: readonly DueEntry[]) => Promise<boolean>,
): Promise<boolean> {
  return withLogFields({ credentialRequestId: requestId }, async () => {
    try {
      let loaded = await deps.requests.load(requestId);
      const current: DueEntry[] = [];
      let hasSwept = false;
      for (const entry of rows) {
        if (loaded !== undefined && pointsToDue(entry, loaded)) current.push(entry);
        else hasSwept = (await sweep(entry, loaded, deps)) || hasSwept;
      }
      // A removal of an index row rewrites what it points to: the work would get a conflict.
      if (hasSwept && current.length > 0) loaded = await deps.requests.load(requestId);
      return loaded !== undefined && current.length > 0 && (await work(loaded, current));
    } catch (error) {
      logAndContinue(error, { queue: rows[0]?.queue, run: run.owner }, deps);
      return false;
    }
  });
}

/** Logs the failure of an item, which stays due, and continues. Throws it if storage is unavailable. */
export function logAndContinue(error: unknown, fields: Fields, { log }: Pick<ConnectorDeps, "log">): void {
  if (isUnavailable(error)) throw error;
  log.error("work_failed", { ...fields, error });
}

/** Returns the work of a queue that is due on a request, or on one of its security keys. */
export function dueOf(loaded: LoadedRequest, { queue, keyId }: Pick<DueEntry, "queue" | "keyId">): Due | undefined {
  if (keyId !== undefined) return loaded.keys.find(({ id }) => id === keyId)?.due;
  const { due, trackDue, replaceDue } = loaded.request;
  return queue === "track" ? trackDue : queue === "replace" ? replaceDue : due;
}

function pointsToDue(entry: DueEntry, loaded: LoadedRequest): boolean {
  const due = dueOf(loaded, entry);
  return due !== undefined && due.queue === entry.queue && due.at === entry.at && due.peer === entry.peer;
}

/** Removes an index row that does not match its request, if it is stale. Returns whether it was. */
async function sweep(entry: DueEntry, loaded: LoadedRequest | undefined, deps: ConnectorDeps): Promise<boolean> {
  if (!isStaleRow(entry, { isOrphan: loaded === undefined }, deps)) return false;
  await deps.requests.removeStale(entry, loaded);
  return true;
}

/**
 * Does the work of a run. A timer run does it again for the peers that have asked to wait, when their wait is over, if
 * the time of the run allows.
 */
export async function continueAfterPauses(
  run: Run,
  { now, sleep }: Pick<ConnectorDeps, "now" | "sleep">,
  work: () => Promise<void>,
): Promise<void> {
  for (;;) {
    await work();
    const until = run.mode === "timer" ? takeEndOfPauses(run) : undefined;
    if (until === undefined || until >= run.endsAt) return;
    // It may be over, if the work at other peers took longer.
    if (until > now()) await sleep(between(now(), until));
    if (now() < until || isPastDeadline(run, { now })) return;
  }
}
