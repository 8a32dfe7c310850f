import * as z from "zod";
import { omitUndefined } from "../../platform/omit-undefined.ts";
import { plainIdentifier, plainText } from "../../platform/peers/plain-text.ts";
import type { Instant } from "../../platform/time.ts";
import type { KeyResponses } from "../model/credential.ts";
import type { CredentialRequest } from "../model/request.ts";
import type { SecurityKey } from "../model/security-key.ts";
import { blankToUndefined } from "./delivery-wire.ts";

/** An authenticator to enroll on site. */
export interface AuthenticatorOrder extends Pick<SecurityKey, "customizationId"> {
  readonly recipient: Pick<CredentialRequest["recipient"], "externalId" | "email" | "firstName" | "lastName">;
  readonly emailsTo: readonly string[];
  readonly name: string;
  readonly preferredAuthenticatorType: NonNullable<SecurityKey["preferredAuthenticatorType"]>;
  readonly expiresAt: Instant;
  readonly pin?: NonNullable<SecurityKey["pinRequest"]>;
  readonly pinRequest?: string;
  readonly credentialRequests: readonly string[];
}

/** The state and the responses of an authenticator. */
export interface Enrollment {
  readonly state: "waiting" | "completed" | "cancelled" | "failed";
  /** Present if the authenticator is completed. Blank for a credential that could not be created. */
  readonly responses: KeyResponses;
  readonly message?: string | undefined;
}

/** Returns the body of a request (docs/peers/enrollment.md), without blank optional members. */
export function authenticatorBody(order: AuthenticatorOrder): object {
  const { recipient, pin } = order;
  return {
    recipient: {
      external_id: recipient.externalId,
      email: recipient.email,
      first_name: recipient.firstName,
      last_name: recipient.lastName,
    },
    emails_to: order.emailsTo,
    name: order.name,
    customization_id: blankToUndefined(order.customizationId),
    preferred_authenticator_type: order.preferredAuthenticatorType,
    expires_at: order.expiresAt,
    pin: pin && { min_length: pin.length, entry_method: pin.entryMethod, delivery_method: pin.deliveryMethod },
    pin_request: order.pinRequest,
    credential_requests: order.credentialRequests,
  };
}

const someText = z
  .union([z.string(), z.number().transform(String)])
  .transform(blankToUndefined)
  .optional()
  .catch(undefined);

/** The response to a read of one authenticator. That of another id is refused: a state can be final. */
export const authenticatorResponse = (id: string) =>
  z
    .object({
      id: z.literal(id).optional(),
      state: z.enum(["waiting", "completed", "cancelled", "failed"]),
      serial_number: someText,
      firmware_version: someText,
      pin_response: someText,
      credential_responses: z
        .array(z.string().catch(""))
        .nullish()
        .transform(responses => responses ?? []),
      error_message: someText,
    })
    .transform(
      (body): Enrollment => ({
        state: body.state,
        responses: omitUndefined({
          serial: plainIdentifier(body.serial_number),
          firmware: plainIdentifier(body.firmware_version),
          pinResponse: body.pin_response,
          credentials: body.credential_responses,
        }),
        message: plainText(body.error_message),
      }),
    );
