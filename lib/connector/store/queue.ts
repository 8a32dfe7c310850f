import { Fault } from "../../fault.ts";
import { type Fields, withLogFields } from "../../log.ts";
import { between, type Instant, plus } from "../../time.ts";
import type { ConnectorDeps, DueEntry, LoadedRequest } from "../deps.ts";
import type { Due, Lease, Queue } from "../model/request.ts";

/** A run of a job. */
export interface Run {
  /** A timer run works on items that are due; an on-demand run works on all open items. */
  readonly mode: "timer" | "on_demand";
  /** Identifies this run in its leases. */
  readonly owner: string;
  readonly startedAt: Instant;
  /** The time after which no new item is started. */
  readonly endsAt: Instant;
}

export function startRun(
  mode: Run["mode"],
  { now, random, intervals }: Pick<ConnectorDeps, "now" | "random" | "intervals">,
): Run {
  const startedAt = now();
  return {
    mode,
    owner: Buffer.from(random(12)).toString("base64url"),
    startedAt,
    endsAt: plus(startedAt, mode === "timer" ? intervals.jobTimerMs : intervals.jobOnDemandMs),
  };
}

export const newLease = ({ owner }: Run, now: Instant, { leaseMs: lease }: ConnectorDeps["intervals"]): Lease => ({
  owner,
  until: plus(now, lease),
});

export const isLeasedByAnother = (lease: Lease | undefined, { owner }: Run, now: Instant): boolean =>
  lease !== undefined && lease.owner !== owner && lease.until > now;

/**
 * Seconds after which a caller should retry that was refused because of a lease. Jobs release a lease within seconds of their last call;
 * only after a crash it lasts until it expires.
 */
export const retryAfterLease = 5;

/** Whether the run may work on an item now: at its due time, or on demand at any time that is not before a peer's Retry-After. */
export const isDue = (item: Pick<Due, "at" | "notBefore">, { mode }: Run, now: Instant): boolean =>
  item.at <= now || (mode === "on_demand" && (item.notBefore ?? now) <= now);

/** Whether the time of the run is over, so that it starts no new item. */
export const isOver = ({ endsAt }: Run, { now }: Pick<ConnectorDeps, "now">): boolean => now() >= endsAt;

interface DueRequest {
  readonly requestId: string;
  readonly entries: readonly DueEntry[];
}

/**
 * Works through a queue, oldest items first, several requests at once and each request by one worker. The failure of an item is logged,
 * and the item stays due. Unavailable storage ends the run and is thrown.
 * @param until only items that are due at or before this time; undefined for all
 * @param stopped called before each request; true ends the run
 * @returns the number of requests that were left when the time of the run ended or it was stopped
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
  let storageError: unknown;
  const worker = async (): Promise<void> => {
    for (const due of waiting) {
      if (storageError !== undefined || stopped() || isOver(run, deps)) left++;
      else {
        await visit(due, run, deps, work).catch((error: unknown) => {
          storageError = error;
        });
      }
    }
  };
  await Promise.all(Array.from({ length: deps.concurrency }, worker));
  if (storageError !== undefined) throw storageError;
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

/** Logs the failure of an item, so that the run continues with the others; the item stays due. Throws the error again if storage is unavailable. */
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

/** Removes an index row that does not match its request once it is old: its writer may be between two writes. */
async function sweep(entry: DueEntry, loaded: LoadedRequest | undefined, deps: ConnectorDeps): Promise<void> {
  const { requests, now, intervals } = deps;
  const maxAgeMs = loaded === undefined ? intervals.dueOrphanMs : intervals.dueStaleMs;
  if (between(entry.writtenAt, now()) > maxAgeMs) await requests.removeStale(entry, loaded);
}
