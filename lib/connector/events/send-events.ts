import pLimit from "p-limit";
import { withLogFields } from "../../platform/log.ts";
import { measure } from "../../platform/telemetry.ts";
import { between, minutes, plus, seconds } from "../../platform/time.ts";
import { logAndContinue } from "../runs/queue.ts";
import { startRun } from "../runs/run.ts";
import { deliverEvents, type EventDeps, hasEnded, type SinkRun } from "./deliver-events.ts";
import type { EventSink } from "./event-sink.ts";
import { recordCalls, sinkStatus } from "./sink-state.table.ts";

export interface EventsReport {
  readonly delivered: number;
  /** Deliveries that failed and are tried again. */
  readonly failed: number;
  readonly givenUp: number;
  /** Requests whose events stay due: the run ended or stopped calling the sink before them, or storage did not answer. */
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
export async function sendEvents(deps: EventDeps, signal?: AbortSignal): Promise<EventsReport> {
  const sum = { delivered: 0, failed: 0, givenUp: 0, deferred: 0 };
  for (const counts of await Promise.all(deps.sinks.map(sink => sendToSink(sink, deps, signal))))
    for (const name of ["delivered", "failed", "givenUp", "deferred"] as const) sum[name] += counts[name];
  return sum;
}

/**
 * Sends due events at the end of a job. The job waits for it, because the platform may stop work that continues after
 * an invocation, but only for a short time: what a slow sink has not got then is deferred to the timer.
 */
export async function sendEventsAfterJob(deps: EventDeps, limitMs = afterJobMs): Promise<void> {
  const ended = new AbortController();
  const timer = setTimeout(() => ended.abort(), limitMs);
  await sendEvents(deps, ended.signal);
  clearTimeout(timer);
}

async function sendToSink(sink: EventSink, deps: EventDeps, signal: AbortSignal | undefined): Promise<EventsReport> {
  const { events, now, log } = deps;
  const { number } = sink;
  const counts = { delivered: 0, failed: 0, givenUp: 0, deferred: 0 };
  const endsAt = plus(now(), budgetMs);
  const calls: SinkRun["calls"] = { failures: 0, isStopped: false };
  const run: SinkRun = { ...startRun("timer", deps), endsAt, sink, signal, counts, calls };
  let hasFailed = false;
  const logFailure = (error: unknown) => {
    if (!hasFailed) log.error("event_sink_failed", { sink: number, error });
    hasFailed = true;
  };
  try {
    const state = await events.sinkState(number);
    if (sinkStatus(state, sink, now()).state !== "active") {
      for (const { at } of await events.dueUntil(number, now(), 1))
        measure("event.unsent.age", between(at, now()) / 1000, { sink: number });
      return counts;
    }
    const limit = pLimit(concurrency);
    const byRequest = Map.groupBy(await events.dueUntil(number, now(), maxEntries), ({ requestId }) => requestId);
    const visits = [...byRequest].map(([requestId, entries]) =>
      limit(async () => {
        if (hasEnded(run)) return void counts.deferred++;
        try {
          await withLogFields({ credentialRequestId: requestId }, () =>
            deliverEvents(requestId, entries, run).catch(error =>
              logAndContinue(error, { sink: number, run: run.owner }, deps),
            ),
          );
        } catch (error) {
          // Unavailable storage ends the run, but not before the calls to the sink that were made.
          calls.isStopped = true;
          counts.deferred++;
          logFailure(error);
        }
      }),
    );
    await Promise.all(visits);
    // Without a failed call, now or before, the stored state is right: it is not written at each run.
    if (calls.lastFailure !== undefined || (counts.delivered > 0 && (state.failure?.attempts ?? 0) > 0))
      await recordCalls(number, { ...calls, isAccepted: counts.delivered > 0 }, deps);
  } catch (error) {
    logFailure(error);
  }
  return counts;
}
