import * as z from "zod";
import { omitUndefined } from "../../../platform/omit-undefined.ts";
import { shownState } from "../../model/credential.ts";
import type { CredentialRequest } from "../../model/request.ts";
import type { SecurityKey } from "../../model/security-key.ts";
import { requestStates, shownCredentialStates } from "../../model/states.ts";

/** Version 1 read model of a credential request, with version 2's states (specification section 2, decision C3). */
export const credentialRequestV1 = z.lazy(() =>
  z
    .object({
      credential_request_id: z.string().describe("Names the request."),
      credential_request_state: z.enum(requestStates).describe("State of the whole request."),
      credentials: z
        .array(
          z
            .object({
              user_id: z.string().describe("The user at the identity provider."),
              relying_party_id: z.string().optional().describe("As the IdP has it."),
              idp_id: z.string().describe("The IdP that the credential is for."),
              credential_state: z.enum(shownCredentialStates).describe("State of the credential."),
            })
            .meta({ id: "CredentialV1" }),
        )
        .describe("Every credential of the request."),
    })
    .meta({ id: "CredentialRequestV1" }),
);

/** The version 1 read of a request, whichever version made it (decision C4). */
export const readV1 = (
  request: CredentialRequest,
  keys: readonly SecurityKey[],
): z.output<typeof credentialRequestV1> => ({
  credential_request_id: request.id,
  credential_request_state: request.state,
  credentials: keys.flatMap(({ credentials }) =>
    credentials.map(credential =>
      omitUndefined({
        user_id: credential.userId,
        relying_party_id: credential.relyingPartyId,
        idp_id: credential.idpId,
        credential_state: shownState(credential),
      }),
    ),
  ),
});
