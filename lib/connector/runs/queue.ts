import pLimit from "p-limit";
import { isUnavailable } from "../../platform/fault.ts";
import { type Fields, withLogFields } from "../../platform/log.ts";
import { between, type Instant } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import type { Due } from "../model/request.ts";
import type { DueEntry } from "../storage/due-index.table.ts";
import { canRemoveIndexRow, isDue, isPastDeadline, mustDefer, type Run, takeEndOfPauses } from "./run.ts";

/** Work on the due items of a request. Returns whether it has deferred some to a later run. */
type Work = (loaded: LoadedRequest, entries: readonly DueEntry[]) => Promise<boolean>;

/**
 * Rows that are read at once, a page of Table storage. The next page is read when at most half as many requests are in
 * work, so a slow peer delays others only if more requests than that wait for it.
 */
const pageRows = 1000;

/**
 * Works through a queue, oldest items first, several requests at once and each request by one worker. The failure of an
 * item is logged, and the item stays due. Unavailable storage ends the run and is thrown.
 * @param until only items that are due at or before this time; undefined for all
 * @param shouldEnd called before each request; true ends the work
 * @returns the number of requests with work that was deferred, because the time of the run is over, `shouldEnd` has
 * returned true, or a peer must not be called
 */
export async function forEachDue(
  queue: Due["queue"],
  run: Run,
  work: Work,
  {
    until = run.mode === "timer" ? run.now() : undefined,
    shouldEnd = () => false,
  }: { readonly until?: Instant | undefined; readonly shouldEnd?: () => boolean } = {},
): Promise<number> {
  const deferred = new Set<string>();
  let failure: { readonly error: unknown } | undefined;
  const hasEnded = () => failure !== undefined || shouldEnd() || isPastDeadline(run);
  const workOn = async (requestId: string, rows: readonly DueEntry[]): Promise<void> => {
    const callable = rows.filter(({ peer }) => !hasEnded() && (peer === undefined || !mustDefer(peer, run)));
    if (callable.length < rows.length) deferred.add(requestId);
    try {
      if (callable.length > 0 && (await visit(requestId, callable, run, work))) deferred.add(requestId);
    } catch (error) {
      failure ??= { error };
    }
  };

  /** Each peer has places of its own. Requests that call several peers share others. */
  const limits = new Map<string | undefined, ReturnType<typeof pLimit>>();
  const inWork = new Set<Promise<void>>();
  const start = (rows: readonly DueEntry[]) => {
    for (const [requestId, ofRequest] of Map.groupBy(rows, row => row.requestId)) {
      const [first, ...others] = new Set(ofRequest.map(row => row.peer));
      const peer = others.length === 0 ? first : undefined;
      const limit = limits.get(peer) ?? pLimit(run.peerLimits.callsAtOnce);
      limits.set(peer, limit);
      const ended = limit(workOn, requestId, ofRequest).finally(() => inWork.delete(ended));
      inWork.add(ended);
    }
  };

  try {
    let page: DueEntry[] = [];
    const nameOf = ({ requestId, keyId }: DueEntry) => `${requestId} ${keyId}`;
    /** Rows of earlier pages. An on-demand run reads also what its own work has made due again. */
    const taken = new Set<string>();
    for await (const row of run.requests.due(queue, until)) {
      if (taken.has(nameOf(row)) || !isDue(row, run)) continue;
      page.push(row);
      if (page.length < pageRows) continue;
      start(page);
      for (const each of page) taken.add(nameOf(each));
      page = [];
      while (inWork.size > pageRows / 2) await Promise.race(inWork);
    }
    start(page);
  } catch (error) {
    failure ??= { error };
  }
  await Promise.all(inWork);
  if (failure !== undefined) throw failure.error;
  return deferred.size;
}

async function visit(requestId: string, rows: readonly DueEntry[], run: Run, work: Work): Promise<boolean> {
  return withLogFields({ credentialRequestId: requestId }, async () => {
    try {
      let loaded = await run.requests.load(requestId);
      const current: DueEntry[] = [];
      let hasSwept = false;
      for (const entry of rows) {
        if (loaded !== undefined && pointsToDue(entry, loaded)) current.push(entry);
        else hasSwept = (await sweep(entry, loaded, run)) || hasSwept;
      }
      // A removal of an index row rewrites what it points to: the work would get a conflict.
      if (hasSwept && current.length > 0) loaded = await run.requests.load(requestId);
      return loaded !== undefined && current.length > 0 && (await work(loaded, current));
    } catch (error) {
      logAndContinue(error, { queue: rows[0]?.queue, run: run.owner }, run);
      return false;
    }
  });
}

/** Logs the failure of an item, which stays due, and continues. Throws it if storage is unavailable. */
export function logAndContinue(error: unknown, fields: Fields, { log }: Pick<ConnectorDeps, "log">): void {
  if (isUnavailable(error)) throw error;
  log.error("work_failed", { ...fields, error });
}

/** Returns the next work of a request, or of one of its security keys, in a queue. It may be due later. */
export function scheduledWork(
  loaded: LoadedRequest,
  { queue, keyId }: Pick<DueEntry, "queue" | "keyId">,
): Due | undefined {
  if (keyId !== undefined) return loaded.keys.find(({ id }) => id === keyId)?.due;
  const { due, trackDue, replaceDue } = loaded.request;
  return queue === "track" ? trackDue : queue === "replace" ? replaceDue : due;
}

function pointsToDue(entry: DueEntry, loaded: LoadedRequest): boolean {
  const due = scheduledWork(loaded, entry);
  return due !== undefined && due.queue === entry.queue && due.at === entry.at && due.peer === entry.peer;
}

/** Removes an index row that does not match its request, if it is stale. Returns whether it was. */
async function sweep(entry: DueEntry, loaded: LoadedRequest | undefined, deps: ConnectorDeps): Promise<boolean> {
  if (!canRemoveIndexRow(entry, { isOrphan: loaded === undefined }, deps)) return false;
  await deps.requests.removeStale(entry, loaded);
  return true;
}

/**
 * Does the work of a run. A timer run does it again for the peers that have asked to wait, when their wait is over, if
 * the time of the run allows.
 */
export async function continueAfterPauses(run: Run, work: () => Promise<void>): Promise<void> {
  const { now, sleep } = run;
  for (;;) {
    await work();
    const until = run.mode === "timer" ? takeEndOfPauses(run) : undefined;
    if (until === undefined || until >= run.endsAt) return;
    // It may be over, if the work at other peers took longer.
    if (until > now()) await sleep(between(now(), until));
    if (now() < until || isPastDeadline(run)) return;
  }
}
