import { Fault } from "../../platform/fault.ts";
import { withLogFields } from "../../platform/log.ts";
import { orFailure, PeerFailure } from "../../platform/peer-failure.ts";
import { between, type Instant } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { loadRequest } from "../runs/change-request.ts";
import { isLeasedByAnother, newLease, secondsUntilFree, startRun } from "../runs/run.ts";
import { cloudEventOf } from "./cloud-event.ts";
import type { EventDeps } from "./deliver-events.ts";
import { eventId, withDelivered } from "./event.ts";
import { type EventSink, failureText } from "./event-sink.ts";
import { recordCalls, recordPause, sinkStatus } from "./sink-state.table.ts";

/** Returns the Fault of a call that names a sink which is not configured. */
export const noSuchSink = (): Fault => new Fault("not_found", "There is no such event sink.");

/** Returns a sink and its status. Throws Fault: `not_found` for an unknown one, `conflict` if it answered 410. */
export async function findSink(
  number: number,
  { events, sinks, now }: Pick<EventDeps, "events" | "sinks" | "now">,
): Promise<{ readonly sink: EventSink; readonly status: ReturnType<typeof sinkStatus> }> {
  const sink = sinks.find(each => each.number === number);
  if (sink === undefined) throw noSuchSink();
  const status = sinkStatus(await events.sinkState(number), sink, now());
  if (status.state === "stopped")
    throw new Fault("conflict", "The event sink answered 410 (Gone). An administrator must resume it first.");
  return { sink, status };
}

/** The one event that is sent again, and the sink that gets it. */
interface EventToResend {
  readonly requestId: string;
  readonly eventId: string;
  readonly sink: number;
}

/**
 * Sends an event that was delivered or given up to one sink again, once and under its id. A successful delivery becomes
 * the state of the event; a failed one changes nothing and is not repeated. The lease of the delivery prevents
 * simultaneous deliveries by the timer and by other calls.
 * Throws Fault: `not_found`; `conflict` if the event waits for its delivery, because it would overtake others, if the
 * sink answered 410, or with Retry-After while another call or job has the lease; `throttled` before the end of the
 * sink's Retry-After.
 * @returns when the event was delivered, or why the delivery failed
 */
export const resendEvent = (
  { requestId, eventId: id, sink: number }: EventToResend,
  deps: EventDeps & Pick<ConnectorDeps, "requests">,
): Promise<{ readonly deliveredAt?: Instant; readonly problem?: string }> =>
  withLogFields({ credentialRequestId: requestId }, async () => {
    const { events, now, log } = deps;
    await loadRequest(requestId, deps);
    const { sink, status } = await findSink(number, deps);
    const loaded = await events.load(requestId);
    const event = loaded.events.find(each => eventId(each) === id);
    if (event === undefined || !event.sinks.includes(number))
      throw new Fault("not_found", "The request has no such event for this event sink.");
    const before = loaded.deliveries.get(number);
    if (before === undefined || event.sequence > before.value.done)
      throw new Fault("conflict", "The event waits for its first delivery. The connector sends it by itself.");
    if (status.state === "paused")
      throw new Fault("throttled", "The event sink must not be called yet, by its Retry-After.", {
        retryAfterSeconds: Math.ceil(between(now(), status.until) / 1000),
      });

    const { lease, ...delivery } = before.value;
    const run = startRun("on_demand", deps);
    const leased = isLeasedByAnother(lease, run)
      ? undefined
      : await events.saveDelivery(requestId, number, before, { ...delivery, lease: newLease(run) });
    if (leased === undefined)
      throw new Fault("conflict", "Events of the request are being sent.", {
        retryAfterSeconds: secondsUntilFree(lease, deps),
      });

    const failure = await orFailure(sink.send(cloudEventOf(event)));
    const at = now();
    const isAccepted = !(failure instanceof PeerFailure);
    const problem = isAccepted ? undefined : failureText(failure);
    // Before the write, because the sink has the event now, also if the write fails.
    log.info("event_resent", {
      sink: number,
      eventId: id,
      type: event.type,
      delivered: isAccepted,
      ...(problem !== undefined && { problem }),
    });
    if (!isAccepted) await recordPause(failure, sink, deps);
    const after = isAccepted ? withDelivered(delivery, event, at) : delivery;
    await events.saveDelivery(requestId, number, leased, after);
    const lastFailure = problem === undefined ? undefined : { at, message: problem };
    await recordCalls(number, { failures: isAccepted ? 0 : 1, isAccepted, lastFailure }, deps);
    return problem === undefined ? { deliveredAt: at } : { problem };
  });
