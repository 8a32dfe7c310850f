import * as z from "zod";
import { credentialRequestV2, readRequest } from "../../../lib/connector/api/v2/read-credential-request.ts";
import { loadRequest } from "../../../lib/connector/storage/change-request.ts";
import { ok } from "../../../lib/platform/http/call.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import type { ConnectorContext } from "../context.ts";
import { requestIdPath } from "../request-id.ts";

/** Specification section 2, read model of version 2. */
export const getCredentialRequest = endpoint({
  routes: ["GET /v2/credential-requests/{credential_request_id}"],
  access: "caller",
  role: "read",
  tag: "Credential requests",
  summary: "Read a credential request with the state of every key and credential",
  description:
    "Returns the state of the request, of every key and of every credential. The states are explained in " +
    "docs/states.md. A request has ended when its state is `complete`, `partial`, `failed` or `cancelled`. " +
    "Reading once in five minutes is often enough: a shipped key takes days.",
  params: requestIdPath,
  answers: { 200: { description: "The current request.", schema: z.object({ data: credentialRequestV2 }) } },
  handle: async ({ params }, context: ConnectorContext, { caller }) => {
    const loaded = await loadRequest(params.credential_request_id, context);
    return ok({ data: readRequest(loaded, caller) });
  },
});
