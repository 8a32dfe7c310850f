import {
  createCredentialRequestBodyV1,
  createCredentialRequestV1,
  createdCredentialRequestV1,
} from "../../../lib/connector/api/v1/create-credential-request.ts";
import { createOnce } from "../../../lib/connector/create/create-once.ts";
import { endpoint } from "../../../lib/http/endpoint.ts";
import type { ConnectorContext } from "../context.ts";
import { idempotencyKey } from "../idempotency-key.ts";

/** Specification section 4; decisions C3, C5, C6. */
export const createCredentialRequestOnSite = endpoint({
  routes: ["POST /v1/credential-requests"],
  access: "caller",
  summary: "Request credentials on an authenticator that is programmed on site",
  headers: idempotencyKey,
  body: createCredentialRequestBodyV1,
  answers: { 201: { description: "The request is taken.", schema: createdCredentialRequestV1 } },
  refusals: ["conflict", "delivery_refused", "idp_refused"],
  handle: async ({ body, headers }, context: ConnectorContext, { caller }) => {
    const once = { caller, idempotencyKey: headers["Idempotency-Key"] };
    const { requestId } = await createOnce(body, createCredentialRequestV1, once, context);
    return { status: 201, body: { data: { credential_request_id: requestId } } };
  },
});
