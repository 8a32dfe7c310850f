import * as z from "zod";
import { eventsV2, readEvents, readSink } from "../../lib/connector/events/read-events.ts";
import { resendEvent } from "../../lib/connector/events/resend-event.ts";
import { resendSince } from "../../lib/connector/events/resend-since.ts";
import { loadRequest } from "../../lib/connector/runs/change-request.ts";
import { omitUndefined } from "../../lib/platform/collections.ts";
import { ok } from "../../lib/platform/http/call.ts";
import { endpoint } from "../../lib/platform/http/endpoint.ts";
import { timeField } from "../../lib/platform/http/time-field.ts";
import { requestIdPath } from "./call-fields.ts";
import type { ConnectorContext } from "./context.ts";
import { listPosition } from "./list-page.ts";

/** Returns the recorded events of a request (C20). */
export const listEvents = endpoint({
  routes: ["GET /v2/credential-requests/{credential_request_id}/events"],
  access: "caller",
  role: "read",
  tag: "Credential requests",
  summary: "List the events of a credential request with their deliveries",
  description:
    "Returns the events of the request, oldest first, with the state of their delivery to each event sink, and the state of each sink. Events " +
    "are kept as long as the request. They are recorded only while at least one sink is configured " +
    "(`EVENT_SINK_URLS`): without one, the list is empty.",
  params: requestIdPath,
  answers: { 200: { description: "The events of the request.", schema: eventsV2 } },
  handle: async ({ params: { credential_request_id: id } }, context: ConnectorContext) => {
    const { request } = await loadRequest(id, context);
    const sinks = await Promise.all(context.sinks.map(sink => readSink(sink, context)));
    if (request.eventCount === undefined) return ok({ data: [], sinks });
    return ok({ data: readEvents(await context.events.load(id)), sinks });
  },
});

const sink = z.int().min(1).max(99).describe("Position of the sink in `EVENT_SINK_URLS`, from 1.");

const resentV2 = z.lazy(() =>
  z.object({
    data: z.object({
      sink,
      delivered: z.boolean().describe("Whether the sink accepted the event."),
      delivered_at: z.iso.datetime().optional().describe("When the sink accepted it."),
      error_message: z.string().optional().describe("Why the delivery failed."),
    }),
  }),
);

const resentSinceV2 = z.lazy(() =>
  z.object({
    data: z.object({
      requests: z.int().min(0).describe("Requests with events that are due again."),
      events: z.int().min(0).describe("Events that are due again."),
      left: z.int().min(0).describe("Requests whose events were being sent or could not be read. Repeat the call."),
      is_complete: z.boolean().describe("Whether every request was read before the time was over."),
      next: z.string().optional().describe("If not complete: call again with it as `after`."),
    }),
  }),
);

/** Sends the events of one event sink again that were recorded since a time (C20). */
export const resendEventsSince = endpoint({
  routes: ["POST /v2/events/resend"],
  access: "caller",
  tag: "Credential requests",
  summary: "Send the events since a time to an event sink again",
  description:
    "Makes all events due again that were recorded at `since` or later and were delivered to the sink or given up. The " +
    "timer sends them under their ids, in the order of each request. For a receiver that has lost what it accepted.",
  body: z.lazy(() =>
    z.object({
      sink,
      since: timeField.describe("Time, ISO 8601."),
      after: listPosition("must be `next` of the call before").optional().describe("`next` of the call before."),
    }),
  ),
  answers: { 200: { description: "What is due again.", schema: resentSinceV2 } },
  refusals: ["conflict", "not_found"],
  handle: async ({ body }, context: ConnectorContext) => {
    const { isComplete, ...resent } = await resendSince(body, context);
    return ok({ data: { ...resent, is_complete: isComplete } });
  },
});

/** Sends one event again to one event sink (C20). */
export const resendEventToSink = endpoint({
  routes: ["POST /v2/credential-requests/{credential_request_id}/events/{event_id}/resend"],
  access: "caller",
  tag: "Credential requests",
  summary: "Send an event to an event sink again",
  description:
    "Sends an event that was delivered or given up once more, at once and under its id. A delivery that fails is not " +
    "repeated. Responds 409 if the event still waits for its first delivery, if the sink answered 410, or, with " +
    "`Retry-After`, while other events of the request are being sent; 429 before the sink's own `Retry-After` is over.",
  params: z.lazy(() =>
    requestIdPath.extend({ event_id: z.string().toLowerCase().describe("Id of the event, in any case.") }),
  ),
  body: z.object({ sink }),
  answers: { 200: { description: "The result of the delivery.", schema: resentV2 } },
  refusals: ["conflict", "throttled"],
  handle: async ({ params, body }, context: ConnectorContext) => {
    const { credential_request_id: requestId, event_id: eventId } = params;
    const { deliveredAt, problem } = await resendEvent({ requestId, eventId, sink: body.sink }, context);
    return ok({
      data: omitUndefined({
        sink: body.sink,
        delivered: deliveredAt !== undefined,
        delivered_at: deliveredAt,
        error_message: problem,
      }),
    });
  },
});
