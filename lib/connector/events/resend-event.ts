import { Fault } from "../../platform/fault.ts";
import { withLogFields } from "../../platform/log.ts";
import { PeerFailure } from "../../platform/peer-failure.ts";
import type { Stored } from "../../platform/stored.ts";
import { between, type Instant } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { loadRequest } from "../runs/change-request.ts";
import { isLeasedByAnother, newLease, secondsUntilFree, startRun } from "../runs/run.ts";
import { cloudEventOf } from "./cloud-event.ts";
import { type DeliverDeps, pauseSink } from "./deliver-events.ts";
import { type EventDelivery, eventId, eventsIn, type RequestEvent, withTime } from "./event.ts";
import { type EventSink, failureText, recordCalls, sinkStatus } from "./event-sink.ts";

type ResendDeps = DeliverDeps & Pick<ConnectorDeps, "requests">;

/** The one event that is sent again, and the sink that gets it. */
interface EventToResend {
  readonly requestId: string;
  readonly eventId: string;
  readonly sink: number;
}

/** The result of one repeated delivery. */
interface Resent {
  readonly deliveredAt?: Instant;
  /** Why the delivery failed. */
  readonly problem?: string;
}

/**
 * Sends an event that was delivered or given up to one sink again, once and under its id. A successful delivery becomes
 * the state of the event; a failed one changes nothing and is not repeated. The lease of the delivery prevents
 * simultaneous deliveries by the timer and by other calls.
 * Throws Fault: `not_found`; `conflict` if the event waits for its delivery, because it would overtake others, if the
 * sink answered 410, or with Retry-After while another call or job has the lease; `throttled` before the end of the
 * sink's Retry-After.
 */
export async function resendEvent(wanted: EventToResend, deps: ResendDeps): Promise<Resent> {
  const { events, log } = deps;
  return withLogFields({ credentialRequestId: wanted.requestId }, async () => {
    const { event, sink, before } = await find(wanted, deps);
    await refuseIfPaused(sink, deps);
    const at = { requestId: wanted.requestId, sink: sink.number };
    const leased = await lease(at, before, deps);
    const { lease: _, ...unleased } = before.value;
    const resent = await send(event, sink, deps);
    const after = resent.deliveredAt === undefined ? unleased : delivered(unleased, event, resent.deliveredAt);
    const { deliveredAt, problem } = resent;
    // Before the write, because the sink has the event now, also if the write fails.
    log.info("event_resent", {
      sink: sink.number,
      eventId: wanted.eventId,
      type: event.type,
      delivered: deliveredAt !== undefined,
      ...(problem !== undefined && { problem }),
    });
    await events.saveDelivery({ ...at, before: leased }, after);
    if (deliveredAt !== undefined) await recordCalls(sink, { failures: 0, isAccepted: true }, deps);
    return resent;
  });
}

/** Returns the event, its sink, and the delivery that it was part of. */
async function find({ requestId, eventId: id, sink: number }: EventToResend, deps: ResendDeps) {
  const { events, sinks } = deps;
  await loadRequest(requestId, deps);
  const sink = sinks.find(each => each.number === number);
  if (sink === undefined) throw new Fault("not_found", "There is no such event sink.");
  const { recorded, deliveries } = await events.load(requestId);
  const event = eventsIn(requestId, recorded).find(each => eventId(each) === id);
  if (event === undefined || !event.sinks.includes(number))
    throw new Fault("not_found", "The request has no such event for this event sink.");
  const before = deliveries.get(number);
  if (before === undefined || event.sequence > before.value.done)
    throw new Fault("conflict", "The event waits for its first delivery. The connector sends it by itself.");
  return { event, sink, before };
}

/** Throws Fault `conflict` if a sink answered 410. Returns its status. */
export async function refuseIfStopped(sink: EventSink, { events, now }: Pick<ResendDeps, "events" | "now">) {
  const status = sinkStatus(await events.sinkState(sink.number), sink, now());
  if (status.state === "stopped")
    throw new Fault("conflict", "The event sink answered 410 (Gone). An administrator must resume it first.");
  return status;
}

async function refuseIfPaused(sink: EventSink, deps: ResendDeps): Promise<void> {
  const status = await refuseIfStopped(sink, deps);
  if (status.state === "paused")
    throw new Fault("throttled", "The event sink must not be called yet, by its Retry-After.", {
      retryAfterSeconds: Math.ceil(between(deps.now(), status.until) / 1000),
    });
}

async function lease(
  at: { readonly requestId: string; readonly sink: number },
  before: Stored<EventDelivery>,
  deps: ResendDeps,
): Promise<Stored<EventDelivery>> {
  const { events, now, intervals } = deps;
  const run = startRun("on_demand", deps);
  const leased = isLeasedByAnother(before.value.lease, run, now())
    ? undefined
    : await events.saveDelivery({ ...at, before }, { ...before.value, lease: newLease(run, now(), intervals) });
  if (leased === undefined)
    throw new Fault("conflict", "Events of the request are being sent.", {
      retryAfterSeconds: secondsUntilFree(before.value.lease, deps),
    });
  return leased;
}

async function send(event: RequestEvent, sink: EventSink, deps: ResendDeps): Promise<Resent> {
  try {
    await sink.send(cloudEventOf(event));
    return { deliveredAt: deps.now() };
  } catch (error) {
    if (!(error instanceof PeerFailure)) throw error;
    const problem = failureText(error);
    const lastFailure = { at: deps.now(), message: problem };
    await pauseSink(error, sink, deps);
    await recordCalls(sink, { failures: 1, isAccepted: false, lastFailure }, deps);
    return { problem };
  }
}

const delivered = (delivery: EventDelivery, { sequence }: RequestEvent, at: Instant): EventDelivery => ({
  ...delivery,
  deliveredAt: withTime(delivery.deliveredAt, sequence, at),
  givenUp: delivery.givenUp.filter(each => each !== sequence),
});
