import * as z from "zod";
import { resendEvent } from "../../../lib/connector/events/resend-event.ts";
import { ok } from "../../../lib/platform/http/call.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import { omitUndefined } from "../../../lib/platform/omit-undefined.ts";
import type { ConnectorContext } from "../context.ts";
import { requestIdPath } from "../request-id.ts";

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
