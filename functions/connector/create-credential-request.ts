import * as z from "zod";
import { createBodyV2, partialDraftV2, withDefaults } from "../../lib/connector/api/body-to-draft.ts";
import { evenIfInvalid } from "../../lib/connector/api/field-rules.ts";
import { created, createdV2 } from "../../lib/connector/api/read-credential-request.ts";
import { requestProblems } from "../../lib/connector/create/check-request.ts";
import { createOnce } from "../../lib/connector/create/create-request.ts";
import { dryRun } from "../../lib/connector/create/dry-run.ts";
import { followCreate } from "../../lib/connector/jobs/follow-replacement.ts";
import { ok } from "../../lib/platform/http/call.ts";
import { endpoint } from "../../lib/platform/http/endpoint.ts";
import { createdHeaders, idempotencyKey } from "./call-fields.ts";
import type { ConnectorContext } from "./context.ts";
import { problem } from "./errors.ts";

/** A misspelt dry run would order. */
const misspelt = /^dry[-_ ]?run$/i;

const query = z.lazy(() =>
  z
    .looseObject({
      dry_run: z
        .string()
        .regex(/^(?:true|false)$/, { error: "must be true or false" })
        .transform(text => text === "true")
        .optional()
        .meta({
          shownAs: { type: "boolean" },
          description:
            "Checks the request and orders nothing: nothing is stored, and nothing is changed at an identity provider. An `Idempotency-Key` is not used up.",
        }),
    })
    .superRefine((given, context) => {
      for (const name of Object.keys(given).filter(name => name !== "dry_run" && misspelt.test(name)))
        context.addIssue({ code: "custom", path: [name], message: "is not known: the parameter is dry_run" });
    }, evenIfInvalid),
);

const plan = z.lazy(() =>
  z.object({
    data: z
      .object({
        request: z.unknown().meta({
          shownAs: { $ref: "#/components/schemas/CredentialRequestOrder" },
          description: "The request as it would be ordered, with the default of every field that was left out.",
        }),
        warnings: z
          .array(problem)
          .describe("What does not prevent the order, but may prevent an activation, or was not checked."),
      })
      .meta({ id: "DryRun" }),
  }),
);

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
    "Then follow the request at `Location`. With `dry_run=true` the call orders nothing and names every problem at once.",
  query,
  headers: idempotencyKey,
  body: createBodyV2,
  alsoCheck: ({ body }, context: ConnectorContext) => requestProblems(partialDraftV2(body), context),
  answers: {
    200: { description: "With `dry_run`: nothing is known that prevents the request.", schema: plan },
    201: { description: "The request is accepted.", headers: ["location", "idempotent-replayed"], schema: createdV2 },
  },
  refusals: ["conflict", "delivery_refused", "idp_refused"],
  handle: async ({ query, headers, body: { body, ...draft } }, context: ConnectorContext, { call, caller }) => {
    if (query.dry_run === true) {
      const warnings = await dryRun(draft, context);
      return ok({ data: { request: withDefaults(body, context.idps), warnings } });
    }
    const once = { caller, idempotencyKey: headers["Idempotency-Key"] };
    const done = await createOnce(draft, once, context);
    if (draft.replaces !== undefined) await followCreate(done.requestId, context);
    const location = `${context.connectorUrl(call.url)}/v2/credential-requests/${done.requestId}`;
    return { status: 201, headers: createdHeaders(location, done), body: created(done) };
  },
});
