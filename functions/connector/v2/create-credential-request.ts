import { createBodyV2, createV2, pathInV2 } from "../../../lib/connector/api/v2/create-credential-request.ts";
import { decidableV2 } from "../../../lib/connector/api/v2/create-partial.ts";
import { created, createdV2 } from "../../../lib/connector/api/v2/read-credential-request.ts";
import { createOnce } from "../../../lib/connector/create/create-once.ts";
import { requestProblems } from "../../../lib/connector/create/create-request.ts";
import { endpoint } from "../../../lib/http/endpoint.ts";
import type { ConnectorContext } from "../context.ts";
import { idempotencyKey } from "../idempotency-key.ts";

/** Specification section 4; decisions C5, C6. */
export const createCredentialRequest = endpoint({
  routes: ["POST /v2/credential-requests"],
  access: "caller",
  summary: "Request credentials on keys that are shipped or programmed on site",
  headers: idempotencyKey,
  body: createBodyV2,
  alsoCheck: ({ body }, context: ConnectorContext) => {
    const decidable = decidableV2(body);
    return requestProblems(decidable, place => pathInV2(place, decidable), context);
  },
  answers: { 201: { description: "The request is taken.", schema: createdV2 } },
  refusals: ["conflict", "delivery_refused", "idp_refused"],
  handle: async ({ body, headers }, context: ConnectorContext, { caller }) => {
    const once = { caller, idempotencyKey: headers["Idempotency-Key"] };
    const done = await createOnce(body, createV2, once, context);
    return { status: 201, body: created(done) };
  },
});
