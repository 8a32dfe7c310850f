import type { Json } from "../openapi/schemas.ts";

/** What the document says about all events. */
export const description = `The connector notifies other systems of what happens to credential requests, so that they need not
poll. An event has ids, states and times, and no personal data. \`GET /v2/credential-requests/{credential_request_id}\`
has the rest.

## Delivery

- Every event is delivered at least once. A receiver drops a repeated one by its id.
- The events of a request are delivered in order, by \`sequence\`. Events of different requests have no order.
- \`request.started\` need not be the first event of a request: events of its on-site keys can precede it.
- A delivery that fails is repeated with growing intervals, for \`EVENT_RETRY_HOURS\`. Then it is given up, and the next
  event of the request is sent.
- \`Retry-After\` of a 429 or 503 is respected. A 410 stops all deliveries to the receiver.
- Respond at once and do the work afterwards: a delivery ends after 10 seconds.
- New fields and types of events can appear. Ignore those that you do not know.

## Formats

The body is a CloudEvent 1.0 in structured JSON. Headers and signature are those of Standard Webhooks.`;

export const security: Json = {
  type: "httpApiKey",
  in: "header",
  name: "webhook-signature",
  description:
    "A signature of Standard Webhooks with the secret that the operator shares with the receiver: `whsec_` and base64. While the secret is rotated, there is one signature for each of the two versions.",
};
