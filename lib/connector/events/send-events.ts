import { withLogFields } from "../../platform/log.ts";
import { measure } from "../../platform/telemetry.ts";
import { between, minutes, plus, seconds } from "../../platform/time.ts";
import { logAndContinue } from "../runs/queue.ts";
import { startRun } from "../runs/run.ts";
import { type DeliverDeps, deliverEvents, hasEnded, type SinkRun } from "./deliver-events.ts";
import type { DueEvents } from "./event-rows.table.ts";
import { type EventSink, recordCalls, sinkStatus } from "./event-sink.ts";

export interface EventsReport {
  readonly delivered: number;
  /** Deliveries that failed and are tried again. */
  readonly failed: number;
  readonly givenUp: number;
  /** Requests that were deferred, because the time of the run was over, or the sink or storage did not answer. */
  readonly deferred: number;
}

/**
 * The time in which a run starts calls to a sink. With the longest call (`eventCallMs`) it ends before the
 * timer begins the next run.
 */
const budgetMs = minutes(0.75);
/** Requests whose events are sent to a sink at once. */
const concurrency = 4;
/**
 * Maximum number of index rows of a sink that a run reads, so that its memory is bounded after an outage of the sink.
 */
const maxEntries = 2000;

/** The time that a job waits for the event sinks at its end. */
const afterJobMs = seconds(2);

/**
 * Sends the due events of all requests. Each sink has its own time and its own calls: none waits for another. Never
 * rejects.
 * @param signal ends the run and its calls early. An event whose call it ends stays due, and does not count as failed
 */
export async function sendEvents(deps: DeliverDeps, signal?: AbortSignal): Promise<EventsReport> {
  const reports = await Promise.all(deps.sinks.map(sink => sendToSink(sink, deps, signal)));
  const sum = (name: keyof EventsReport) => reports.reduce((total, report) => total + report[name], 0);
  return { delivered: sum("delivered"), failed: sum("failed"), givenUp: sum("givenUp"), deferred: sum("deferred") };
}

/**
 * Sends due events at the end of a job. The job waits for it, because the platform may stop work that continues after
 * an invocation, but only for a short time: what a slow sink has not got then is deferred to the timer.
 */
export async function sendEventsAfterJob(deps: DeliverDeps, limitMs = afterJobMs): Promise<void> {
  const ended = new AbortController();
  const timer = setTimeout(() => ended.abort(), limitMs);
  await sendEvents(deps, ended.signal);
  clearTimeout(timer);
}

async function sendToSink(sink: EventSink, deps: DeliverDeps, signal: AbortSignal | undefined): Promise<EventsReport> {
  const { now } = deps;
  const run = { ...startRun("timer", deps), endsAt: plus(now(), budgetMs) };
  const counts = { delivered: 0, failed: 0, givenUp: 0 };
  const sinkRun: SinkRun = { sink, run, signal, counts, failures: 0, isStopped: false };
  let deferred = 0;
  let hasFailed = false;
  const failed = (error: unknown) => {
    if (!hasFailed) deps.log.error("event_sink_failed", { sink: sink.number, error });
    hasFailed = true;
  };
  try {
    const state = await deps.events.sinkState(sink.number);
    if (sinkStatus(state, sink, now()).state !== "active") {
      await measureOldest(sink, deps);
      return { ...counts, deferred };
    }
    const waiting = (await dueRequests(sink, deps)).entries();
    const worker = async (): Promise<void> => {
      for (const [requestId, entries] of waiting) {
        if (hasEnded(sinkRun, deps)) deferred++;
        else
          await withLogFields({ credentialRequestId: requestId }, () =>
            deliverEvents(requestId, entries, sinkRun, deps).catch((error: unknown) =>
              logAndContinue(error, { sink: sink.number, run: run.owner }, deps),
            ),
          ).catch(error => {
            // Unavailable storage ends the run, but not before the calls of the other workers.
            sinkRun.isStopped = true;
            deferred++;
            failed(error);
          });
      }
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
    const isAccepted = counts.delivered > 0;
    // Runs in which all is well, and was, call no storage.
    const wasFailing = (state.failure?.attempts ?? 0) > 0;
    if (sinkRun.lastFailure !== undefined || (isAccepted && wasFailing))
      await recordCalls(sink, { ...sinkRun, isAccepted }, deps);
  } catch (error) {
    failed(error);
  }
  return { ...counts, deferred };
}

async function measureOldest({ number }: EventSink, { events, now }: DeliverDeps): Promise<void> {
  for await (const { at } of events.due(number, now())) {
    measure("event.unsent.age", between(at, now()) / 1000, { sink: number });
    return;
  }
}

async function dueRequests(
  { number }: EventSink,
  { events, now }: DeliverDeps,
): Promise<ReadonlyMap<string, readonly DueEvents[]>> {
  const byRequest = new Map<string, DueEvents[]>();
  let count = 0;
  for await (const entry of events.due(number, now())) {
    const entries = byRequest.get(entry.requestId);
    if (entries === undefined) byRequest.set(entry.requestId, [entry]);
    else entries.push(entry);
    if (++count === maxEntries) break;
  }
  return byRequest;
}
