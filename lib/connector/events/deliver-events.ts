import { orFailure, PeerFailure } from "../../platform/peer-failure.ts";
import { measure } from "../../platform/telemetry.ts";
import { between, type Instant, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { firstAttempt, postpone } from "../model/retry.ts";
import { canRemoveIndexRow, isLeasedByAnother, isPastDeadline, newLease, type RunState } from "../runs/run.ts";
import { cloudEventOf } from "./cloud-event.ts";
import {
  type EventDelivery,
  eventId,
  type LoadedEvents,
  nothingDone,
  openEvents,
  type RequestEvent,
  withDelivered,
  withGivenUp,
} from "./event.ts";
import type { DueEvents } from "./event-rows.table.ts";
import { type EventSink, failureText } from "./event-sink.ts";
import type { EventStore } from "./events.table.ts";
import { gone, recordPause } from "./sink-state.table.ts";

/** What the delivery of events depends on. */
export interface EventDeps extends Pick<ConnectorDeps, "intervals" | "now" | "random" | "log"> {
  readonly events: EventStore;
  readonly sinks: readonly EventSink[];
}

/** The calls of one run to one sink. */
export interface SinkRun extends EventDeps, RunState {
  readonly sink: EventSink;
  /** Ends the run and its calls early. */
  readonly signal: AbortSignal | undefined;
  readonly counts: { delivered: number; failed: number; givenUp: number; deferred: number };
  /** One object, so that also a copy of the run counts in it. */
  readonly calls: {
    /** Failed calls in a row. */
    failures: number;
    lastFailure?: { readonly at: Instant; readonly message: string };
    /** Set when the run makes no more calls to the sink. */
    isStopped: boolean;
  };
}

/** Failed calls in a row after which a run leaves the other requests of the sink to the next run. */
const maxFailures = 3;
/** The same for a sink that answers 4xx: it works, and may refuse the events of some requests only. */
const maxRefusals = 20;

/** Whether the run starts no more calls to the sink. */
export const hasEnded = (run: SinkRun): boolean =>
  run.calls.isStopped || run.signal?.aborted === true || isPastDeadline(run);

/**
 * Sends the due events of one request to one sink, in order, and removes the index rows that are no longer needed.
 * @param entries the index rows by which the request was found
 */
export async function deliverEvents(requestId: string, entries: readonly DueEvents[], run: SinkRun): Promise<void> {
  const { events } = run;
  const { number } = run.sink;
  const loaded = await events.load(requestId);
  // Not their number: a backup that was made during a change may lack the row of its events.
  const last = loaded.events.at(-1)?.sequence ?? 0;
  for (const entry of entries.filter(({ first }) => first > last))
    if (canRemoveIndexRow(entry, { isOrphan: last === 0 }, run)) await events.removeStale(entry);

  const delivery = await sendOpen(requestId, loaded, run);
  if (delivery === undefined) return;
  const isDone = openEvents(loaded, number, delivery).length === 0;
  const next = delivery.retry?.nextAt;
  // The next event was not tried yet.
  if (!isDone && next === undefined) return;
  // The next attempt has a row of its own.
  const former = entries.filter(({ first, at }) => first <= last && (isDone || at !== next));
  await Promise.all(former.map(events.removeDue));
}

/**
 * Sends the events that are open. Stops at the first failure: the event is tried again later, and the events after it
 * wait for it. Takes the lease of the delivery before the first call and renews it with each result, so that no two
 * hosts send the same event at the same time.
 * @returns the delivery as it is stored; undefined if another run has it
 */
async function sendOpen(requestId: string, loaded: LoadedEvents, run: SinkRun): Promise<EventDelivery | undefined> {
  const { events, now, intervals, sink } = run;
  const before = loaded.deliveries.get(sink.number);
  const { value: found } = before ?? { value: nothingDone };
  const open = openEvents(loaded, sink.number);
  if (open.length === 0) return found;
  if (isLeasedByAnother(found.lease, run)) return undefined;
  if (found.retry !== undefined && found.retry.nextAt > now()) return found;

  const leased = (delivery: EventDelivery) => ({ ...delivery, lease: newLease(run) });
  let stored = await events.saveDelivery(requestId, sink.number, before, leased(found));
  for (const event of open) {
    // The lease must outlast the call.
    if (stored?.value.lease === undefined || now() > plus(stored.value.lease.until, -intervals.eventCallMs)) break;
    const { lease, ...unleased } = stored.value;
    const { delivery, goesOn } = await sendEvent(event, unleased, run);
    const isLast = !goesOn || event === open.at(-1);
    stored = await events.saveDelivery(requestId, sink.number, stored, isLast ? delivery : leased(delivery));
    if (isLast) return stored?.value;
  }
  return undefined;
}

/** Makes one attempt. Returns the delivery after it, and whether the next event may be sent. */
async function sendEvent(
  event: RequestEvent,
  delivery: EventDelivery,
  run: SinkRun,
): Promise<{ readonly delivery: EventDelivery; readonly goesOn: boolean }> {
  const { sink, signal, counts, now, intervals, log } = run;
  if (hasEnded(run)) return { delivery, goesOn: false };
  const failure = await orFailure(sink.send(cloudEventOf(event), signal));
  const { retry, ...rest } = delivery;
  if (!(failure instanceof PeerFailure)) {
    run.calls.failures = 0;
    counts.delivered++;
    return { delivery: withDelivered(rest, event, now()), goesOn: true };
  }
  if (signal?.aborted === true && failure.status === undefined) return { delivery, goesOn: false };
  noteFailure(failure, run);
  await recordPause(failure, sink, run);
  if (failure.status === gone) return { delivery, goesOn: false };

  const ageMs = between(event.at, now());
  measure("event.unsent.age", ageMs / 1000, { sink: sink.number });
  const fields = { sink: sink.number, eventId: eventId(event), type: event.type, error: failure };
  // Shorter by up to a half, so that the attempts of many requests spread.
  const factor = 1 - (run.random(1)[0] ?? 0) / 512;
  const backOff = { minMs: intervals.eventRetry.minMs * factor, maxMs: intervals.eventRetry.maxMs * factor };
  // An event that waited for long, because its sink was stopped, is tried more than once too.
  if (ageMs < intervals.eventRetryForMs || (retry?.attempts ?? 0) === 0) {
    counts.failed++;
    log.warn("event_not_sent", fields);
    const reason = { retryAfterSeconds: failure.retryAfterSeconds, lastError: failureText(failure) };
    const next = postpone(retry ?? firstAttempt(now()), now(), backOff, reason);
    return { delivery: { ...rest, retry: next }, goesOn: false };
  }
  counts.givenUp++;
  log.error("event_given_up", fields);
  return { delivery: withGivenUp(rest, event), goesOn: false };
}

/** Stops the calls of this run to a sink that is not responding, or that asks for it. */
function noteFailure(failure: PeerFailure, run: SinkRun): void {
  const { status, kind } = failure;
  run.calls.failures++;
  run.calls.lastFailure = { at: run.now(), message: failureText(failure) };
  const isAway = status === undefined || status === gone || kind === "throttled";
  const limit = status !== undefined && status < 500 ? maxRefusals : maxFailures;
  if (isAway || run.calls.failures >= limit) run.calls.isStopped = true;
}
