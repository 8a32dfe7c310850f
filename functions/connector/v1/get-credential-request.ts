import { credentialRequestV1, readV1 } from "../../../lib/connector/api/v1/read-credential-request.ts";
import { securityKeysOf } from "../../../lib/connector/model/loaded-request.ts";
import { loadRequest } from "../../../lib/connector/storage/change-request.ts";
import { ok } from "../../../lib/platform/http/call.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import type { ConnectorContext } from "../context.ts";
import { requestIdPath } from "../request-id.ts";

/** Specification section 2, read model of version 1; decisions C2, C3. */
export const getCredentialRequestV1 = endpoint({
  routes: ["GET /v1/credential-requests/{credential_request_id}"],
  access: "caller",
  role: "read",
  tag: "Version 1",
  summary: "Read a credential request",
  description: "Returns the states of the request and of its credentials.",
  params: requestIdPath,
  answers: { 200: { description: "The current request.", schema: credentialRequestV1 } },
  handle: async ({ params }, context: ConnectorContext) => {
    const loaded = await loadRequest(params.credential_request_id, context);
    return ok(readV1(loaded.request.value, securityKeysOf(loaded)));
  },
});
