import * as z from "zod";
import { omitUndefined } from "../../platform/omit-undefined.ts";
import { cloudEventOf } from "./cloud-event-schemas.ts";
import { type EventDelivery, eventsIn, nothingDone, type RequestEvent } from "./event.ts";
import type { LoadedEvents } from "./event-rows.table.ts";

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

/** The events of a request, oldest first. */
export const eventsV2 = z.object({ data: z.array(eventV2) });

/** Returns the events of a request with their deliveries. */
export const readEvents = (requestId: string, { recorded, deliveries }: LoadedEvents): z.output<typeof eventsV2> => ({
  data: eventsIn(requestId, recorded).map(event => {
    const { id, type, time, sequence, data } = cloudEventOf(event);
    const ofSinks = event.sinks.map(sink => readDelivery(sink, event, deliveries.get(sink)?.value));
    return { id, type, time, sequence, data, deliveries: ofSinks };
  }),
});

function readDelivery(
  sink: number,
  { sequence }: RequestEvent,
  { done, deliveredAt, givenUp, retry }: EventDelivery = nothingDone,
): z.output<typeof deliveryV2> {
  if (givenUp.includes(sequence)) return { sink, state: "given_up" };
  if (sequence <= done)
    return omitUndefined({ sink, state: "delivered" as const, delivered_at: deliveredAt[sequence] });
  if (retry === undefined || sequence !== done + 1) return { sink, state: "pending" };
  return omitUndefined({
    sink,
    state: "pending" as const,
    attempts: retry.attempts === 0 ? undefined : retry.attempts,
    next_attempt_at: retry.nextAt,
    error_message: retry.lastError,
  });
}
