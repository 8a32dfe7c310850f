import * as z from "zod";
import { email, evenIfInvalid, nonEmptyLine, optional, userId } from "../../lib/connector/api/field-rules.ts";
import { credentialState, readRevocation, revocationV2 } from "../../lib/connector/api/read-security-key.ts";
import { type Leaver, offboardPerson as offboard } from "../../lib/connector/cancel/offboard-person.ts";
import { notConfigured } from "../../lib/connector/create/check-request.ts";
import { shownState } from "../../lib/connector/model/credential.ts";
import { omitUndefined } from "../../lib/platform/collections.ts";
import { invalidRequest } from "../../lib/platform/fault.ts";
import { endpoint } from "../../lib/platform/http/endpoint.ts";
import type { ConnectorContext } from "./context.ts";

const body = z.lazy(() =>
  z
    .object({
      user_id: optional(userId()).describe("The user, as creates named it, in any letter case."),
      idp_id: optional(nonEmptyLine(64)).describe("Only credentials at this IdP; beside `user_id`."),
      email: optional(email()).describe(
        "The recipient of requests, instead of `user_id`. The credentials are those whose user has this email or the " +
          "`external_id` of the recipient. A request that is only in the register names no recipient: it is found by " +
          "this email only if that is the user. Call with the `user_id` as well if it is another name.",
      ),
      dry_run: optional(z.boolean()).describe("If true, changes nothing and reports what would be done."),
    })
    .refine(given => (given.user_id === undefined) !== (given.email === undefined), {
      path: ["user_id"],
      error: "give either user_id or email",
      ...evenIfInvalid,
    })
    .refine(given => given.idp_id === undefined || given.email === undefined, {
      path: ["idp_id"],
      error: "is for a user_id",
      ...evenIfInvalid,
    }),
);

const report = z.lazy(() =>
  z.object({
    data: z
      .object({
        is_complete: z
          .boolean()
          .describe("Whether the person can sign in with none of the credentials any more, now or later."),
        matched: z
          .int()
          .min(0)
          .describe(
            "How many of the credentials are the person's. 0: no order has a credential under this name, so check how " +
              "it is written.",
          ),
        credentials: z.array(
          z.object({
            credential_request_id: z
              .string()
              .describe("The request; reads answer 404 once it is only in the register."),
            key_id: z.string().describe("The key in its request."),
            credential: z.int().min(1).describe("Position of the credential on its key."),
            idp_id: z.string().describe("The IdP."),
            user_id: z.string().describe("The user at the IdP."),
            serial_number: z.string().optional().describe("Serial number of the key, where known."),
            state: credentialState.describe("Present state of the credential."),
            revocation: revocationV2.optional(),
            action: z
              .enum(["cancel", "revoke", "none"])
              .describe(
                "What the call did, or in a dry run would do. `none`: nothing is to be done, or see `problem`.",
              ),
            problem: z.string().optional().describe("Why the credential is left, and what a person checks."),
          }),
        ),
      })
      .meta({ id: "OffboardReport" }),
  }),
);

/** Ends the credentials of a person who leaves (decision C23). */
export const offboardPerson = endpoint({
  routes: ["POST /v2/people/offboard"],
  access: "caller",
  role: "support",
  tag: "Credential requests",
  summary: "Cancel open requests of a person who leaves, and revoke what is or may be active at every IdP",
  description:
    "Finds all credentials of the person, also of requests that are only in the register. Credentials of other people " +
    "stay. Call it with `dry_run` first. Repeat it until `is_complete`: a repeat does only what is left, such as a " +
    "key that was produced already and becomes active later. A person without a credential is complete as well, with " +
    "`matched` 0. An unknown field or parameter is refused.",
  body,
  answers: {
    200: { description: "Nothing is left, or a dry run.", schema: report },
    202: {
      description: "A job continues with what is `revoking`, or something is left: repeat the call.",
      schema: report,
    },
  },
  handle: async ({ body: given }, context: ConnectorContext, { caller }) => {
    const leaver: Leaver =
      given.email === undefined ? { userId: given.user_id ?? "", idpId: given.idp_id } : { email: given.email };
    const dryRun = given.dry_run === true;
    const { credentials, matched, isComplete } = await offboard(leaver, caller, context, { dryRun });
    // A removed IdP is accepted while orders have credentials of the user there: they are reported, and open ones
    // cancelled. Without any, a misspelt IdP would look like a person without credentials.
    if (given.idp_id !== undefined && context.idps.get(given.idp_id) === undefined && matched === 0 && isComplete) {
      const reason = `${notConfigured}, and no order has a credential of this user there`;
      throw invalidRequest([{ path: "idp_id", reason }]);
    }
    const data = {
      is_complete: isComplete,
      matched,
      credentials: credentials.map(({ requestId, key, index, credential, action, problem }) =>
        omitUndefined({
          credential_request_id: requestId,
          key_id: key.id,
          credential: index + 1,
          idp_id: credential.idpId,
          user_id: credential.userId,
          serial_number: key.serial,
          state: shownState(credential),
          revocation: credential.revocation && readRevocation(credential.revocation),
          action,
          problem,
        }),
      ),
    };
    return { status: isComplete || dryRun ? 200 : 202, body: { data } };
  },
});
