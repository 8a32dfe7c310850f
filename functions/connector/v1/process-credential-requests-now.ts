import { processCredentialRequests } from "../../../lib/connector/jobs/process-credential-requests.ts";
import { noContent } from "../../../lib/platform/http/call.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import { runJob } from "../../../lib/platform/http/job.ts";
import type { ConnectorContext } from "../context.ts";

/** Specification section 4; decision C15. */
export const processCredentialRequestsNowV1 = endpoint({
  routes: ["POST /v1/operations/process-credential-requests"],
  access: "caller",
  tag: "Version 1",
  summary: "Activate credentials and send PIN emails now",
  description:
    "Runs the job that activates credentials at the identity providers and sends PIN emails, for all requests, now " +
    "instead of at its next scheduled time.",
  answers: { 204: { description: "Done." } },
  handle: async (_, context: ConnectorContext) => {
    await runJob("processCredentialRequests", "call", context.log, () =>
      processCredentialRequests("on_demand", context),
    );
    return noContent;
  },
});
