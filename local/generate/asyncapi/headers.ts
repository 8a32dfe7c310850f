import * as z from "zod";
import { cloudEventOf, eventContentType } from "../../../lib/connector/events/cloud-event.ts";
import type { RequestEvent } from "../../../lib/connector/events/event.ts";

/** The headers of an event: its content type, and those of Standard Webhooks (https://www.standardwebhooks.com). */
export const eventHeaders = z.object({
  "content-type": z.literal(eventContentType),
  "webhook-id": z.guid().describe("Id of the event, as `id` in the body. A repeated delivery has the same id."),
  "webhook-timestamp": z
    .string()
    .regex(/^\d+$/)
    .describe("Time of this delivery in seconds since 1970. Refuse a delivery that is older than 5 minutes."),
  "webhook-signature": z
    .string()
    .regex(/^v1,[A-Za-z0-9+/]+=*( v1,[A-Za-z0-9+/]+=*)*$/)
    .describe(
      "Signatures, separated by spaces, one for each valid secret. Each is `v1,` and the base64 of the HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<body>`. One that fits is enough.",
    ),
});

/** Returns the headers of an example, with a signature of the right form. */
export const exampleHeaders = (event: RequestEvent): z.output<typeof eventHeaders> => ({
  "content-type": eventContentType,
  "webhook-id": cloudEventOf(event).id,
  "webhook-timestamp": String(Math.ceil(Date.parse(event.at) / 1000) + 2),
  "webhook-signature": "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
});
