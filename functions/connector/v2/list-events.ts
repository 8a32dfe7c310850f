import { eventsV2, readEvents, readSink } from "../../../lib/connector/events/read-events.ts";
import { loadRequest } from "../../../lib/connector/storage/change-request.ts";
import { ok } from "../../../lib/platform/http/call.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import type { ConnectorContext } from "../context.ts";
import { requestIdPath } from "../request-id.ts";

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
    if (request.value.eventCount === undefined) return ok({ data: [], sinks });
    return ok({ ...readEvents(id, await context.events.load(id)), sinks });
  },
});
