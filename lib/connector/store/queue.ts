import { Fault } from "../../fault.ts";
import { type Fields, withLogFields } from "../../log.ts";
import { between, type Instant, plus } from "../../time.ts";
import type { ConnectorDeps, DueEntry, LoadedRequest } from "../deps.ts";
import type { Due, Lease, Queue } from "../model/request.ts";
import { saveRequest } from "./save-request.ts";
import { writeShipmentRecord } from "./shipment-record.ts";

/** One run of a job. */
export interface Run {
  /** A timer works on what is due at its time, an on-demand call on every open item (decision C15). */
  readonly mode: "timer" | "on_demand";
  /** Names this run in the leases that it takes. */
  readonly owner: string;
  readonly startedAt: Instant;
  /** No new item is begun after this. */
  readonly endsAt: Instant;
}

export function startRun(
  mode: Run["mode"],
  { now, random, intervals: timing }: Pick<ConnectorDeps, "now" | "random" | "intervals">,
): Run {
  const startedAt = now();
  return {
    mode,
    owner: Buffer.from(random(12)).toString("base64url"),
    startedAt,
    endsAt: plus(startedAt, mode === "timer" ? timing.jobTimer : timing.jobOnDemand),
  };
}

export const newLease = ({ owner }: Run, now: Instant, { lease }: ConnectorDeps["intervals"]): Lease => ({
  owner,
  until: plus(now, lease),
});

export const isLeasedByAnother = (lease: Lease | undefined, { owner }: Run, now: Instant): boolean =>
  lease !== undefined && lease.owner !== owner && lease.until > now;

/**
 * Seconds after which a caller refused because of another's lease should try again. Jobs release a lease within seconds of the last
 * call; only one whose process died lasts until it expires.
 */
export const retryAfterLease = 5;

/** Whether an item may be worked on now: at its time, or on demand unless it waits for a peer's Retry-After. */
export const isDue = (item: { readonly at: Instant; readonly held?: boolean }, { mode }: Run, now: Instant): boolean =>
  item.at <= now || (mode === "on_demand" && item.held !== true);

/** Whether the run begins nothing more (decision C15). */
export const isOver = ({ endsAt }: Run, { now }: Pick<ConnectorDeps, "now">): boolean => now() >= endsAt;

interface DueRequest {
  readonly requestId: string;
  readonly entries: readonly DueEntry[];
}

/**
 * Works through a queue, oldest first, several requests at once and each request by one worker. One item's failure is logged
 * and leaves that item due; the others go on. Storage that is away ends the run.
 * @param until what the index names no later than this; all of it where undefined
 * @param stopped asked before each request; true ends the run
 * @returns how many requests were left when the time budget ended or the run was stopped
 */
export async function forEachDue(
  queue: Queue,
  run: Run,
  deps: ConnectorDeps,
  work: (loaded: LoadedRequest, entries: readonly DueEntry[]) => Promise<void>,
  {
    until = run.mode === "timer" ? deps.now() : undefined,
    stopped = () => false,
  }: { readonly until?: Instant | undefined; readonly stopped?: () => boolean } = {},
): Promise<number> {
  const waiting = (await dueRequests(queue, run, until, deps)).values();
  let left = 0;
  let away: unknown;
  const worker = async (): Promise<void> => {
    for (const due of waiting) {
      if (away !== undefined || stopped() || isOver(run, deps)) left++;
      else {
        await visit(due, run, deps, work).catch((error: unknown) => {
          away = error;
        });
      }
    }
  };
  await Promise.all(Array.from({ length: deps.concurrency }, worker));
  if (away !== undefined) throw away;
  return left;
}

async function dueRequests(
  queue: Queue,
  run: Run,
  until: Instant | undefined,
  { requests, now }: ConnectorDeps,
): Promise<readonly DueRequest[]> {
  const byRequest = new Map<string, DueEntry[]>();
  for await (const entry of requests.due(queue, until)) {
    if (!isDue(entry, run, now())) continue;
    const entries = byRequest.get(entry.requestId);
    if (entries === undefined) byRequest.set(entry.requestId, [entry]);
    else entries.push(entry);
  }
  return [...byRequest].map(([requestId, entries]) => ({ requestId, entries }));
}

async function visit(
  { requestId, entries }: DueRequest,
  run: Run,
  deps: ConnectorDeps,
  work: (loaded: LoadedRequest, entries: readonly DueEntry[]) => Promise<void>,
): Promise<void> {
  await withLogFields({ credentialRequestId: requestId }, async () => {
    try {
      const loaded = await deps.requests.load(requestId);
      const current: DueEntry[] = [];
      for (const entry of entries) {
        if (loaded !== undefined && pointsToDue(entry, loaded)) current.push(entry);
        else await sweep(entry, loaded, deps);
      }
      if (loaded !== undefined && current.length > 0) await work(loaded, current);
    } catch (error) {
      logAndContinue(error, { queue: entries[0]?.queue, run: run.owner }, deps);
    }
  });
}

/** Tells that an item failed, which stays due and keeps nobody else's from being done. Storage that is away is thrown again. */
export function logAndContinue(error: unknown, fields: Fields, { log }: Pick<ConnectorDeps, "log">): void {
  if (error instanceof Fault && error.kind === "unavailable") throw error;
  log.error("work_failed", { ...fields, error });
}

const dueOf = (loaded: LoadedRequest, keyId: string | undefined): Due | undefined =>
  keyId === undefined ? loaded.request.value.due : loaded.keys.find(({ value }) => value.id === keyId)?.value.due;

function pointsToDue(entry: DueEntry, loaded: LoadedRequest): boolean {
  const due = dueOf(loaded, entry.keyId);
  return due !== undefined && due.queue === entry.queue && due.at === entry.at;
}

/**
 * An index row whose row says otherwise: its writer is between two writes, or died there. It is removed only when old, and only
 * after the row was rewritten by its version, so that a writer still on its way loses its write (decision C15). The row's own
 * index row is written again first, in case that is the one that got lost.
 */
async function sweep(entry: DueEntry, loaded: LoadedRequest | undefined, deps: ConnectorDeps): Promise<void> {
  const { requests, now, intervals: timing } = deps;
  const age = between(entry.writtenAt, now());
  if (loaded === undefined) {
    if (age > timing.dueOrphan) await requests.unschedule(entry, entry.requestId, entry.keyId);
    return;
  }
  if (age <= timing.dueStale) return;
  const due = dueOf(loaded, entry.keyId);
  if (due !== undefined) await requests.schedule(due, entry.requestId, entry.keyId);
  const key = loaded.keys.find(({ value }) => value.id === entry.keyId)?.value;
  const rewritten = await saveRequest(
    loaded,
    key === undefined ? { request: loaded.request.value } : { keys: [key] },
    deps,
  );
  if (rewritten === undefined) return;
  await writeShipmentRecord(rewritten, deps);
  await requests.unschedule(entry, entry.requestId, entry.keyId);
}
