import * as z from "zod";
import { optional } from "../../lib/connector/api/field-rules.ts";
import { credentialRequestV2, readRequest } from "../../lib/connector/api/read-credential-request.ts";
import { revokeNow } from "../../lib/connector/cancel/revoke-now.ts";
import { endpoint } from "../../lib/platform/http/endpoint.ts";
import { requestIdPath } from "./call-fields.ts";
import type { ConnectorContext } from "./context.ts";

const keyPath = z.lazy(() =>
  requestIdPath.extend({ key_id: z.string().describe("`id` of the key in the read model.") }),
);
const credentialPath = z.lazy(() =>
  keyPath
    .unwrap()
    .extend({ credential: z.string().describe("Position of the credential on its key, from 1, as in events.") }),
);
const revocationBody = z.lazy(() =>
  z.object({
    not_registered: optional(z.boolean()).describe(
      "True if you have checked that the IdP does not have the credential, or have removed it there. The IdP is not " +
        "called. For a credential with `may_be_registered`, or whose revocation has failed or is in progress.",
    ),
  }),
);
const answer = z.lazy(() => z.object({ data: credentialRequestV2 }));

/** Returns the position that a path names. 0, the position of no credential, if it is not written as in events. */
const positionOf = (text: string): number => (/^[1-9]\d{0,3}$/.test(text) ? Number(text) : 0);

/** Revokes the credentials that a path names and that are active or may be (decision C21). */
const revocationOf = (
  path: string,
  scope: string,
  params: z.ZodType<z.output<typeof requestIdPath> & { readonly key_id?: string; readonly credential?: string }>,
  body?: typeof revocationBody,
) =>
  endpoint({
    routes: [`POST /v2/credential-requests/{credential_request_id}${path}/revoke`],
    access: "caller",
    role: "support",
    tag: "Credential requests",
    summary: `Remove ${scope} at its identity provider`,
    description:
      "The first attempt is made at once; a failed one is repeated by a job, as an activation is. `state` of the " +
      "credential shows what became of it, and `revocation` why. A repeat changes nothing for credentials that are " +
      "revoked, tries `revoking` ones at once, and starts anew for `revoke_failed`. A credential with " +
      "`may_be_registered` is removed as well. Credentials that are still open are not touched: responds 409 " +
      "if no other one can be removed. No PIN email is sent any more for a key of which every credential is revoked. " +
      "A request that was cleaned up is returned without its keys: the register of security keys has them.",
    params,
    body,
    answers: {
      200: { description: "All of them are removed. The current request.", schema: answer },
      202: {
        description:
          "A job continues with those that are `revoking`; a person checks those that are `revoke_failed` or still " +
          "`may_be_registered`, and ends them with `not_registered`. The current request.",
        schema: answer,
      },
    },
    refusals: ["conflict"],
    handle: async (
      { params: { credential_request_id: requestId, key_id: keyId, credential }, body: given },
      context: ConnectorContext,
      { caller },
    ) => {
      const scope = {
        ...{ requestId, keyId, credential: credential === undefined ? undefined : positionOf(credential) },
        isNotRegistered: given?.not_registered ?? false,
      };
      const { loaded, isRevoked } = await revokeNow(scope, caller, context);
      return { status: isRevoked ? 200 : 202, body: { data: readRequest(loaded, caller) } };
    },
  });

export const revokeCredentialRequest = revocationOf(
  "",
  "every credential of a request that is or may be active",
  requestIdPath,
);
export const revokeSecurityKey = revocationOf(
  "/security-keys/{key_id}",
  "every credential of one key that is or may be active",
  keyPath,
);
export const revokeOneCredential = revocationOf(
  "/security-keys/{key_id}/credentials/{credential}",
  "one credential of a key that is or may be active",
  credentialPath,
  revocationBody,
);
