import * as z from "zod";
import { credentialRequestV2, readRequest } from "../../../lib/connector/api/v2/read-credential-request.ts";
import { cancelRequest } from "../../../lib/connector/cancel/cancel-request.ts";
import { ok } from "../../../lib/platform/http/call.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import type { ConnectorContext } from "../context.ts";
import { requestIdPath } from "../request-id.ts";

/** Decision C19. */
export const cancelCredentialRequest = endpoint({
  routes: ["POST /v2/credential-requests/{credential_request_id}/cancel"],
  access: "caller",
  role: "support",
  tag: "Credential requests",
  summary: "Cancel what is not produced yet; a shipment only while the delivery service can still delete it",
  description:
    "Cancels keys that are not produced yet. A shipment can be cancelled only while the delivery service can " +
    "still delete it. Credentials that are active stay active. A repeat for a cancelled request responds 200 and " +
    "changes nothing. Responds 409 if the request has ended otherwise or nothing can be cancelled any more, and 409 " +
    "with `Retry-After` while the request is being created or a job works on it. The " +
    "`error_message` of a 503 says if a job continues the cancel.",
  params: requestIdPath,
  answers: {
    200: { description: "The current request.", schema: z.object({ data: credentialRequestV2 }) },
  },
  refusals: ["conflict"],
  handle: async ({ params }, context: ConnectorContext, { caller }) => {
    const loaded = await cancelRequest(params.credential_request_id, context);
    return ok({ data: readRequest(loaded, caller) });
  },
});
