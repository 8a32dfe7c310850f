import * as z from "zod";
import { eventContentType } from "../../../lib/connector/events/cloud-event.ts";

/** The headers of an event: its content type, and those of Standard Webhooks (https://www.standardwebhooks.com). */
export const eventHeaders = z.object({
  "content-type": z.literal(eventContentType),
  "webhook-id": z.guid().meta({
    description: "Id of the event, as `id` in the body. A repeated delivery has the same id.",
    examples: ["557e9c07-b4ff-8d85-85d6-63b698470c90"],
  }),
  "webhook-timestamp": z
    .string()
    .regex(/^\d+$/)
    .meta({
      description: "Time of this delivery in seconds since 1970. Refuse a delivery that is older than 5 minutes.",
      examples: ["1767603602"],
    }),
  "webhook-signature": z
    .string()
    .regex(/^v1,[A-Za-z0-9+/]+=*( v1,[A-Za-z0-9+/]+=*)*$/)
    .meta({
      description:
        "Signatures, separated by spaces, one for each valid secret. Each is `v1,` and the base64 of the HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<body>`. One that fits is enough.",
      examples: ["v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="],
    }),
});
