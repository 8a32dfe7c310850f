import * as z from "zod";
import { omitUndefined } from "../../platform/collections.ts";
import { cloudEventOf } from "./cloud-event.ts";
import type { EventDeps } from "./deliver-events.ts";
import { type EventDelivery, type LoadedEvents, nothingDone, openEvents } from "./event.ts";
import type { EventSink } from "./event-sink.ts";
import { sinkStatus } from "./sink-state.table.ts";

const deliveryV2 = z.lazy(() =>
  z
    .object({
      sink: z.int().min(1).describe("Position of the sink in `EVENT_SINK_URLS`, from 1."),
      state: z
        .enum(["pending", "delivered", "given_up"])
        .describe("`pending`: not sent yet, or tried again. `given_up`: failed for `EVENT_RETRY_HOURS`."),
      delivered_at: z.iso.datetime().optional().describe("When the sink accepted the event."),
      attempts: z.int().min(1).optional().describe("Failed attempts so far, of an event that is tried again."),
      next_attempt_at: z.iso.datetime().optional().describe("When it is tried again."),
      error_message: z.string().optional().describe("Why the last attempt failed."),
    })
    .meta({ id: "EventDelivery" }),
);

const eventV2 = z.lazy(() =>
  z
    .object({
      id: z.string().describe("Id of the event, as in `webhook-id` of its deliveries."),
      type: z.string().describe("Type of the event, such as `fido-connector.request.started`."),
      time: z.iso.datetime().describe("When the connector recorded it."),
      sequence: z.string().describe("Position of the event in its request."),
      data: z.record(z.string(), z.unknown()).describe("What happened: ids and states, as in the delivered event."),
      deliveries: z
        .array(deliveryV2)
        .describe("One for each sink that was configured for the type when the event was recorded."),
    })
    .meta({ id: "RequestEvent" }),
);

const sinkV2 = z.lazy(() =>
  z
    .object({
      sink: z.int().min(1).describe("Position of the sink in `EVENT_SINK_URLS`, from 1."),
      state: z
        .enum(["active", "paused", "stopped"])
        .describe("`paused` until its `Retry-After` is over; `stopped` since it answered 410 (Gone)."),
      paused_until: z.iso.datetime().optional().describe("When a paused sink is called again."),
      stopped_at: z.iso.datetime().optional().describe("When it answered 410."),
      failed_attempts: z
        .int()
        .min(0)
        .optional()
        .describe("Calls that failed since the sink accepted an event. Absent if none ever failed."),
      failed_at: z.iso.datetime().optional().describe("When the last call failed."),
      error_message: z.string().optional().describe("Why it failed."),
    })
    .meta({ id: "EventSink" }),
);

/** The events of a request, oldest first, and the sinks that are configured. */
export const eventsV2 = z.object({ data: z.array(eventV2), sinks: z.array(sinkV2) });

/** Returns the state of a sink over all requests. */
export async function readSink(
  sink: Pick<EventSink, "number" | "address">,
  { events, now }: Pick<EventDeps, "events" | "now">,
): Promise<z.output<typeof sinkV2>> {
  const stored = await events.sinkState(sink.number);
  const { failure } = stored;
  const status = sinkStatus(stored, sink, now());
  return omitUndefined({
    sink: sink.number,
    state: status.state,
    paused_until: status.state === "paused" ? status.until : undefined,
    stopped_at: status.state === "stopped" ? status.at : undefined,
    failed_attempts: failure?.attempts,
    failed_at: failure?.at,
    error_message: failure?.message,
  });
}

/** Returns the events of a request with their deliveries. */
export const readEvents = (loaded: LoadedEvents): z.output<typeof eventsV2>["data"] =>
  loaded.events.map(event => {
    const { id, type, time, sequence, data } = cloudEventOf(event);
    const deliveries = event.sinks.map(sink => {
      const delivery = loaded.deliveries.get(sink)?.value ?? nothingDone;
      return { sink, ...readDelivery(event.sequence, delivery, openEvents(loaded, sink)[0]?.sequence) };
    });
    return { id, type, time, sequence, data, deliveries };
  });

/** @param next the position of the event that is sent next */
function readDelivery(
  sequence: number,
  { done, deliveredAt, givenUp, retry }: EventDelivery,
  next: number | undefined,
): Omit<z.output<typeof deliveryV2>, "sink"> {
  if (givenUp.includes(sequence)) return { state: "given_up" };
  if (sequence <= done) return omitUndefined({ state: "delivered" as const, delivered_at: deliveredAt[sequence] });
  if (retry === undefined || sequence !== next) return { state: "pending" };
  return omitUndefined({
    state: "pending" as const,
    attempts: retry.attempts === 0 ? undefined : retry.attempts,
    next_attempt_at: retry.nextAt,
    error_message: retry.lastError,
  });
}
