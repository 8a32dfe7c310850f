import { PeerFailure } from "../../platform/peer-failure.ts";
import type { Stored } from "../../platform/stored.ts";
import { measure } from "../../platform/telemetry.ts";
import { between, type Instant, plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { type BackOff, firstAttempt, postpone, type Retry } from "../model/retry.ts";
import { isLeasedByAnother, isPastDeadline, isStaleRow, newLease, type Run } from "../runs/run.ts";
import { cloudEventOf } from "./cloud-event.ts";
import {
  afterDelivery,
  type EventDelivery,
  eventId,
  eventsIn,
  nothingDone,
  type RequestEvent,
  withGivenUp,
} from "./event.ts";
import { type DueEvents, openEvents } from "./event-rows.table.ts";
import { type EventSink, failureText, type SinkFailure } from "./event-sink.ts";
import type { EventStore } from "./events.table.ts";

/** What only the delivery of events depends on. */
export interface EventDeps {
  readonly events: EventStore;
  readonly sinks: readonly EventSink[];
}

export type DeliverDeps = EventDeps & Pick<ConnectorDeps, "intervals" | "now" | "random" | "log">;

/** The calls of one run to one sink. */
export interface SinkRun {
  readonly sink: EventSink;
  readonly run: Run;
  /** Ends the run and its calls early. */
  readonly signal: AbortSignal | undefined;
  /** Failed calls in a row. */
  failures: number;
  /** The last call of the run that failed. */
  lastFailure?: SinkFailure;
  /** Set when the run makes no more calls to the sink. */
  isStopped: boolean;
  readonly counts: { delivered: number; failed: number; givenUp: number };
}

/** Failed calls in a row after which a run leaves the other requests of the sink to the next run. */
const maxFailures = 3;
/** The same for a sink that answers 4xx: it works, and may refuse the events of some requests only. */
const maxRefusals = 20;

/** Whether the run starts no more calls to the sink. */
export const hasEnded = ({ isStopped, run, signal }: SinkRun, deps: Pick<DeliverDeps, "now">): boolean =>
  isStopped || signal?.aborted === true || isPastDeadline(run, deps);

/**
 * Sends the due events of one request to one sink, in order. Stops at the first failure: the event is tried again
 * later, and the events after it wait for it. Takes the lease of the delivery before the first call and renews it with
 * each result, so that no two hosts send the same event at the same time.
 * @param entries the index rows by which the request was found
 */
export async function deliverEvents(
  requestId: string,
  entries: readonly DueEvents[],
  sinkRun: SinkRun,
  deps: DeliverDeps,
): Promise<void> {
  const { events, now, intervals } = deps;
  const { sink, run } = sinkRun;
  const { recorded, deliveries } = await events.load(requestId);
  // Not their number: a backup that was made during a change may lack the row of its events.
  const last = eventsIn(requestId, recorded).at(-1)?.sequence ?? 0;
  for (const entry of entries.filter(({ first }) => first > last))
    if (isStaleRow(entry, { isOrphan: last === 0 }, deps)) await events.removeStale(sink.number, entry);
  const removeOthers = (next: Instant | undefined) =>
    Promise.all(
      entries
        .filter(({ first, at }) => first <= last && at !== next)
        .map(entry => events.removeDue(sink.number, entry)),
    );

  const before = deliveries.get(sink.number);
  const { lease, retry } = before?.value ?? nothingDone;
  const open = openEvents(requestId, { recorded, deliveries }, sink.number);
  if (open.length === 0) return void (await removeOthers(undefined));
  if (isLeasedByAnother(lease, run, now())) return;
  if (retry !== undefined && retry.nextAt > now()) return void (await removeOthers(retry.nextAt));

  const save = (stored: Stored<EventDelivery> | undefined, delivery: EventDelivery) =>
    events.saveDelivery({ requestId, sink: sink.number, before: stored }, delivery);
  let stored = await save(before, { ...(before?.value ?? nothingDone), lease: newLease(run, now(), intervals) });
  for (const [index, event] of open.entries()) {
    if (stored?.value.lease === undefined || now() > plus(stored.value.lease.until, -intervals.eventCallMs)) return;
    const failure = hasEnded(sinkRun, deps) ? "ended" : await attempt(event, sinkRun);
    if (failure === "ended") return void (await save(stored, unleased(stored.value)));
    if (failure === undefined) {
      const delivered = afterDelivery(stored.value, event, now());
      const isLast = index === open.length - 1;
      stored = await save(stored, isLast ? delivered : { ...delivered, lease: newLease(run, now(), intervals) });
      continue;
    }
    const failed = await afterFailure(
      stored.value,
      event,
      { failure, sinkRun, isLast: index === open.length - 1 },
      deps,
    );
    if ((await save(stored, failed)) !== undefined && failure.status !== gone) await removeOthers(failed.retry?.nextAt);
    return;
  }
  if (stored !== undefined) await removeOthers(undefined);
}

/** The status by which a sink unsubscribes, as Standard Webhooks defines it. */
const gone = 410;

const unleased = ({ lease, ...delivery }: EventDelivery): EventDelivery => delivery;

/** Returns why the sink did not get the event: `ended` if the run ended the call. */
async function attempt(event: RequestEvent, sinkRun: SinkRun): Promise<PeerFailure | "ended" | undefined> {
  const { sink, signal } = sinkRun;
  try {
    await sink.send(cloudEventOf(event), signal);
    sinkRun.failures = 0;
    sinkRun.counts.delivered++;
    return undefined;
  } catch (error) {
    if (!(error instanceof PeerFailure)) throw error;
    return signal?.aborted === true && error.status === undefined ? "ended" : error;
  }
}

interface Failed {
  readonly failure: PeerFailure;
  readonly sinkRun: SinkRun;
  /** Whether it is the last event of the request that is due. */
  readonly isLast: boolean;
}

/** Returns the delivery after a failed attempt: the event is due again, or given up when it is too old. */
async function afterFailure(
  { lease, ...delivery }: EventDelivery,
  event: RequestEvent,
  { failure, sinkRun, isLast }: Failed,
  deps: DeliverDeps,
): Promise<EventDelivery> {
  const { sink, counts } = sinkRun;
  const { now, intervals, log } = deps;
  const labels = { sink: sink.number, eventId: eventId(event), type: event.type };
  await stopOrPause(failure, sinkRun, deps);
  if (failure.status === gone) return delivery;
  measure("event.unsent.age", between(event.at, now()) / 1000, { sink: sink.number });
  const backOff = withJitter(intervals.eventRetry, deps.random);
  const { retry, ...rest } = delivery;
  // An event that waited for long, because its sink was stopped, is tried more than once too.
  const isFirstAttempt = (retry?.attempts ?? 0) === 0;
  if (isFirstAttempt || between(event.at, now()) < intervals.eventRetryForMs) {
    counts.failed++;
    log.warn("event_not_sent", { ...labels, error: failure });
    const reason = { retryAfterSeconds: failure.retryAfterSeconds, lastError: failureText(failure) };
    return { ...rest, retry: postpone(retry ?? firstAttempt(now()), now(), backOff, reason) };
  }
  counts.givenUp++;
  log.error("event_given_up", { ...labels, error: failure });
  const next: { retry?: Retry } = isLast ? {} : { retry: firstAttempt(plus(now(), backOff.minMs)) };
  return { ...rest, ...next, done: event.sequence, givenUp: withGivenUp(rest.givenUp, event.sequence) };
}

/** Stops the calls of all runs to a sink that has unsubscribed, and pauses those to one that asked for a wait. */
export async function pauseSink(
  { kind, status, retryAfterSeconds }: PeerFailure,
  { number, address }: EventSink,
  { events, now, log }: Pick<DeliverDeps, "events" | "now" | "log">,
): Promise<void> {
  if (status === gone) {
    await events.changeSinkState(number, before => ({ ...before, stopped: { at: now(), address } }));
    log.error("event_sink_stopped", { sink: number });
  } else if (kind === "throttled" && retryAfterSeconds !== undefined)
    await events.changeSinkState(number, before => ({ ...before, notBefore: plus(now(), retryAfterSeconds * 1000) }));
}

/** Also stops the calls of this run to a sink that is not responding. */
async function stopOrPause(failure: PeerFailure, sinkRun: SinkRun, deps: DeliverDeps): Promise<void> {
  const { kind, status } = failure;
  sinkRun.failures++;
  sinkRun.lastFailure = { at: deps.now(), message: failureText(failure) };
  await pauseSink(failure, sinkRun.sink, deps);
  const isAway = status === undefined || status === gone || kind === "throttled";
  const limit = status !== undefined && status < 500 ? maxRefusals : maxFailures;
  if (isAway || sinkRun.failures >= limit) sinkRun.isStopped = true;
}

/** Returns the back-off, shorter by up to a half, so that the attempts of many requests spread. */
function withJitter({ minMs, maxMs }: BackOff, random: DeliverDeps["random"]): BackOff {
  const factor = 1 - (random(1)[0] ?? 0) / 512;
  return { minMs: minMs * factor, maxMs: maxMs * factor };
}
