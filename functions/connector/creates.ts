import * as z from "zod";
import { createBodyV2, withDefaults } from "../../lib/connector/api/body-to-draft.ts";
import { createdV2 } from "../../lib/connector/api/read-credential-request.ts";
import {
  createCredentialRequestBodyV1,
  createdCredentialRequestV1,
} from "../../lib/connector/api/v1-credential-request.ts";
import { createdShipmentV1, createShipmentBodyV1 } from "../../lib/connector/api/v1-shipment.ts";
import { createRequest } from "../../lib/connector/create/create-request.ts";
import type { CreatedIds, RequestDraft } from "../../lib/connector/create/draft.ts";
import { dryRun } from "../../lib/connector/create/dry-run.ts";
import { followCreate } from "../../lib/connector/jobs/follow-replacement.ts";
import type { Caller } from "../../lib/platform/caller.ts";
import { omitUndefined } from "../../lib/platform/collections.ts";
import type { FaultKind } from "../../lib/platform/fault.ts";
import { type Call, ok, type Reply } from "../../lib/platform/http/call.ts";
import { endpoint } from "../../lib/platform/http/endpoint.ts";
import type { ConnectorContext } from "./context.ts";
import { problem } from "./errors.ts";

/** The header of every create (C6). A comma is refused: it joins the values of a repeated header. */
const headers = z.object({
  "Idempotency-Key": z
    .string()
    .regex(/^[\x21-\x2b\x2d-\x7e]{1,255}$/, {
      error: "must be one value of 1 to 255 visible ASCII characters without commas",
    })
    .optional()
    .describe(
      "Makes the call safe to repeat: within 7 days, the same key of the same caller creates one request. Use a new random value for each request.",
    ),
});

const refusals: readonly FaultKind[] = ["conflict", "delivery_refused", "idp_refused"];

/**
 * Creates the request of a draft. A replay says so, so that the caller does not count it as a new request.
 * @param answer returns the path of the `location`, and the body
 */
async function create(
  draft: RequestDraft,
  headers: { readonly "Idempotency-Key"?: string | undefined },
  context: ConnectorContext,
  { call, caller }: { readonly call: Call; readonly caller: Caller },
  answer: (created: CreatedIds) => { readonly path: string; readonly data: object },
): Promise<Reply> {
  const created = await createRequest(draft, { caller, idempotencyKey: headers["Idempotency-Key"] }, context);
  if (draft.replaces !== undefined) await followCreate(created.requestId, context);
  const { path, data } = answer(created);
  const location = `${context.connectorUrl(call.url)}${path}`;
  return {
    status: 201,
    headers: { location, ...(created.isReplayed && { "idempotent-replayed": "true" }) },
    body: { data },
  };
}

/**
 * Refuses a `dry_run` in a body, as an offboarding has it: the call would order. Before the body is parsed, which drops
 * unknown fields. An issue ends the parsing, so the issues of the other fields are added here (C1).
 */
const withoutDryRun = <S extends z.ZodType>(body: S, reason: string) =>
  z.preprocess((given, context) => {
    const names = typeof given === "object" && given !== null ? Object.keys(given) : [];
    const wrong = names.filter(name => /^dry[-_ ]?run$/i.test(name));
    for (const name of wrong) context.addIssue({ code: "custom", path: [name], message: reason });
    const others = wrong.length === 0 ? [] : (body.safeParse(given).error?.issues ?? []);
    for (const issue of others) context.addIssue({ ...issue });
    return given;
  }, body);

const onlyVersion2 = "is not known: only version 2 has dry_run, as a query parameter";

const queryV2 = z.lazy(() =>
  z.object({
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
  }),
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

const accepted = (description: string, schema: z.ZodType) => ({
  201: { description, headers: ["location", "idempotent-replayed"], schema } as const,
});

/** What the creates of all versions have in common. */
const common = { access: "caller", headers, ignoresUnknown: true, refusals } as const;

/** Specification section 4; decisions C5, C6. */
export const createCredentialRequest = endpoint({
  ...common,
  routes: ["POST /v2/credential-requests"],
  tag: "Credential requests",
  summary: "Request credentials on keys that are shipped or programmed on site",
  description:
    "Orders security keys for one recipient. Keys in `shipment` are programmed by the key maker and shipped; keys " +
    "in `authenticators` are programmed on site. Each key holds one or more credentials, each for a user at an " +
    "identity provider. The call asks every identity provider for the credentials, so it can take up to 150 " +
    "seconds. Send an `Idempotency-Key`, and repeat the call with the same key and body if no answer arrives: 409 " +
    "with `Retry-After` says when to ask again for the outcome. Then follow the request at `Location`. With `dry_run=true` the call orders nothing. It names all fields that do " +
    "not fit the schema at once, or else all other problems.",
  query: queryV2,
  body: withoutDryRun(createBodyV2, "is not a field: dry_run is a query parameter, ?dry_run=true"),
  answers: {
    200: { description: "With `dry_run`: nothing is known that prevents the request.", schema: plan },
    ...accepted("The request is accepted.", createdV2),
  },
  handle: async ({ query, headers, body: { body, ...draft } }, context: ConnectorContext, callContext) => {
    if (query.dry_run === true) {
      const warnings = await dryRun(draft, context);
      return ok({ data: { request: withDefaults(body, context.idps), warnings } });
    }
    return create(draft, headers, context, callContext, ({ requestId, shipmentId }) => ({
      path: `/v2/credential-requests/${requestId}`,
      data: omitUndefined({ credential_request_id: requestId, shipment_id: shipmentId }),
    }));
  },
});

/** Specification section 4; decisions C3, C5, C6. */
export const createCredentialRequestOnSite = endpoint({
  ...common,
  routes: ["POST /v1/credential-requests"],
  tag: "Version 1",
  summary: "Request credentials on an authenticator that is programmed on site",
  description:
    "Orders credentials on one authenticator that is programmed on site, at the default identity provider. " +
    "Version 2 of this call has all options.",
  body: withoutDryRun(createCredentialRequestBodyV1, onlyVersion2),
  answers: accepted("The request is accepted.", createdCredentialRequestV1),
  handle: ({ headers, body }, context: ConnectorContext, callContext) =>
    create(body, headers, context, callContext, ({ requestId }) => ({
      path: `/v1/credential-requests/${requestId}`,
      data: { credential_request_id: requestId },
    })),
});

/** Specification sections 2 and 4; decisions C5, C6, C11a. */
export const createShipment = endpoint({
  ...common,
  routes: ["POST /v1/fpr/shipments"],
  tag: "Version 1",
  summary: "Request keys for one user, programmed and shipped",
  description:
    "Orders keys for one user, which are programmed and shipped, at the default identity provider. Version 2 of " +
    "this call has all options.",
  body: withoutDryRun(createShipmentBodyV1, onlyVersion2),
  answers: accepted("The shipment is ordered.", createdShipmentV1),
  handle: ({ headers, body }, context: ConnectorContext, callContext) =>
    create(body, headers, context, callContext, ({ shipmentId }) => ({
      path: `/v1/fpr/shipments/${shipmentId}`,
      data: { shipment_id: shipmentId },
    })),
});
