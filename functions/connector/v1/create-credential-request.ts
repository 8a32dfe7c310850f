import {
  createCredentialRequestBodyV1,
  createdCredentialRequestV1,
} from "../../../lib/connector/api/v1/credential-request-body.ts";
import { createOnce } from "../../../lib/connector/create/create-once.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import type { ConnectorContext } from "../context.ts";
import { createdHeaders, idempotencyKey } from "../idempotency-key.ts";

/** Specification section 4; decisions C3, C5, C6. */
export const createCredentialRequestOnSite = endpoint({
  routes: ["POST /v1/credential-requests"],
  access: "caller",
  tag: "Version 1",
  summary: "Request credentials on an authenticator that is programmed on site",
  description:
    "Orders credentials on one authenticator that is programmed on site, at the default identity provider. " +
    "Version 2 of this call has all options.",
  headers: idempotencyKey,
  body: createCredentialRequestBodyV1,
  answers: {
    201: {
      description: "The request is accepted.",
      headers: ["location", "idempotent-replayed"],
      schema: createdCredentialRequestV1,
    },
  },
  refusals: ["conflict", "delivery_refused", "idp_refused"],
  handle: async ({ body, headers }, context: ConnectorContext, { call, caller }) => {
    const once = { caller, idempotencyKey: headers["Idempotency-Key"] };
    const done = await createOnce(body, once, context);
    const location = `${context.connectorUrl(call.url)}/v1/credential-requests/${done.requestId}`;
    return {
      status: 201,
      headers: createdHeaders(location, done),
      body: { data: { credential_request_id: done.requestId } },
    };
  },
});
