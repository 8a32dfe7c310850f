import { bodyFormatV2, createBodyV2, pathInV2 } from "../../../lib/connector/api/v2/body-to-draft.ts";
import { decidableV2 } from "../../../lib/connector/api/v2/create-partial.ts";
import { created, createdV2 } from "../../../lib/connector/api/v2/read-credential-request.ts";
import { createOnce } from "../../../lib/connector/create/create-once.ts";
import { requestProblems } from "../../../lib/connector/create/create-request.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import type { ConnectorContext } from "../context.ts";
import { createdHeaders, idempotencyKey } from "../idempotency-key.ts";

/** Specification section 4; decisions C5, C6. */
export const createCredentialRequest = endpoint({
  routes: ["POST /v2/credential-requests"],
  access: "caller",
  tag: "Credential requests",
  summary: "Request credentials on keys that are shipped or programmed on site",
  description:
    "Orders security keys for one recipient. Keys in `shipment` are programmed by the key maker and shipped; keys " +
    "in `authenticators` are programmed on site. Each key holds one or more credentials, each for a user at an " +
    "identity provider. The call asks every identity provider for the credentials, so it can take up to 150 " +
    "seconds. Send an `Idempotency-Key`, and repeat the call with the same key and body if no answer arrives. " +
    "Then follow the request at `Location`.",
  headers: idempotencyKey,
  body: createBodyV2,
  alsoCheck: ({ body }, context: ConnectorContext) => {
    const decidable = decidableV2(body);
    return requestProblems(decidable, location => pathInV2(location, decidable), context);
  },
  answers: {
    201: { description: "The request is accepted.", headers: ["location", "idempotent-replayed"], schema: createdV2 },
  },
  refusals: ["conflict", "delivery_refused", "idp_refused"],
  handle: async ({ body, headers }, context: ConnectorContext, { call, caller }) => {
    const once = { caller, idempotencyKey: headers["Idempotency-Key"] };
    const done = await createOnce(body, bodyFormatV2, once, context);
    const location = `${context.connectorUrl(call.url)}/v2/credential-requests/${done.requestId}`;
    return { status: 201, headers: createdHeaders(location, done), body: created(done) };
  },
});
