import * as z from "zod";
import { omitUndefined } from "../../platform/collections.ts";
import type { DraftLocation } from "../create/draft.ts";
import { shownState } from "../model/credential.ts";
import type { CredentialRequest } from "../model/request.ts";
import { pinEntryMethods, type SecurityKey } from "../model/security-key.ts";
import { requestStates } from "../model/states.ts";
import { draftOf } from "./body-to-draft.ts";
import {
  defaultPinLength,
  email,
  emailsTo,
  keyName,
  listOf,
  nonEmptyLine,
  optionalLine,
  pinLength,
  requestLimits,
  userId,
  withDefault,
} from "./field-rules.ts";
import { credentialState } from "./read-security-key.ts";

const bodyV1 = z.lazy(() =>
  z.object({
    recipient: z
      .object({
        firstname: nonEmptyLine().describe("First name."),
        lastname: nonEmptyLine().describe("Last name."),
        email: email().describe("Also the recipient's unique identifier."),
      })
      .describe("Who gets the authenticator."),
    credentials: listOf(
      z.object({ user_id: userId().describe("The user, as the identity provider knows them.") }),
      requestLimits.credentialsPerKey,
    ).describe("In the order in which the authenticator gets them."),
    pin_request: z
      .object({
        min_length: withDefault(pinLength(), defaultPinLength).describe("Least number of PIN characters."),
        entry_method: withDefault(z.enum(pinEntryMethods), "generated").describe(
          "Generated beforehand and sent by email, or entered at the enrollment on site.",
        ),
      })
      .describe("The PIN of the authenticator."),
    authenticator_name: keyName().describe("Custom name, shown as `<name>: <serial>`. By default `Pre-Reg Key`."),
    customization_id: optionalLine().describe("Customization of the key."),
    enrollment_contacts: z
      .object({
        emails_to: emailsTo().describe("The PIN is sent here. Addresses must differ in more than letter case."),
      })
      .describe("Who receives the PIN email."),
  }),
);

/** The body of a version 1 credential request create: one on-site authenticator at the default IdP (C3). */
export const createCredentialRequestBodyV1 = bodyV1
  .transform(({ recipient: { firstname, lastname, email }, pin_request, authenticator_name, ...body }) =>
    draftOf(
      {
        recipient: { email, first_name: firstname, last_name: lastname, telephone: "" },
        enrollment_contacts: body.enrollment_contacts,
        authenticators: [
          {
            name: authenticator_name,
            customization_id: body.customization_id,
            preferred_authenticator_type: "hardware",
            pin_request: { ...pin_request, delivery_method: "email" },
            credentials: body.credentials,
          },
        ],
      },
      { origin: "v1_credential_request", pathOf: pathV1 },
    ),
  )
  .meta({
    id: "CredentialRequestOrderV1",
    description: "Credentials on one authenticator that is programmed on site.",
  });

/** Callers of version 1 choose no IdP and no relying party, so a problem with either is reported for `user_id`. */
function pathV1(location: DraftLocation): string {
  if (location.field === "emailTo") return `enrollment_contacts.emails_to[${location.index}]`;
  if (location.field === "pinLength") return "pin_request.min_length";
  return location.field === "authenticators" ? "credentials" : `credentials[${location.index}].user_id`;
}

/** Version 1 response to a credential request create. */
export const createdCredentialRequestV1 = z.lazy(() =>
  z
    .object({
      data: z.object({ credential_request_id: z.string().describe("Names the request.") }),
    })
    .meta({ id: "CreatedCredentialRequestV1" }),
);

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
              credential_state: credentialState.describe("State of the credential."),
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
