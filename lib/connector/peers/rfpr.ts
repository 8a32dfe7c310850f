import * as z from "zod";
import type { PeerAccess, PeerRequest, PeerTools } from "../../platform/call-peer.ts";
import { omitUndefined } from "../../platform/collections.ts";
import { PeerFailure } from "../../platform/peer-failure.ts";
import { plainIdentifier, plainText, trimEnd } from "../../platform/text.ts";
import type { Instant } from "../../platform/time.ts";
import { preRegistrationApi } from "../model/peer-names.ts";
import type { CredentialRequest } from "../model/request.ts";
import { displayName, type SecurityKey } from "../model/security-key.ts";
import { type AccessTokens, createAccessTokens, peerApi } from "./access-token.ts";
import { blankToUndefined, errorOf, noErrorObject, someText } from "./delivery-wire.ts";
import type { KeyRequests } from "./exchange-messages.ts";
import { requestToken } from "./grant.ts";

interface RfprOptions extends PeerTools {
  /** The URL before `/v1/authenticator-requests`. */
  readonly baseUrl: string;
  readonly tokens: AccessTokens;
  /** The time limit of one call, including repetitions. */
  readonly timeLimitMs: number;
}

export type Rfpr = ReturnType<typeof connectRfpr>;

/**
 * Returns the client of the pre-registration API, for on-site enrollment (docs/peers/enrollment.md). The connector
 * chooses the id of each authenticator. Methods throw PeerFailure only and may be repeated after any failure.
 */
export function connectRfpr({ baseUrl, tokens, ...rest }: RfprOptions) {
  const operate = peerApi({ ...rest, peer: preRegistrationApi, errorOf }, tokens);
  const requests = `${trimEnd(baseUrl, "/")}/v1/authenticator-requests`;
  const urlOf = (id: string) => `${requests}/${encodeURIComponent(id)}`;
  const call = <T>(request: PeerRequest<T>) => operate(undefined, ({ send }) => send({ ...request, mayRepeat: true }));

  return {
    /** Gets an access token, so that a later call does not fail for lack of one. */
    authenticate: () => operate(undefined, () => Promise.resolve()),
    /**
     * Requests an authenticator. Fails as `refused` with status 409 if the id has another content, and with 410 if it
     * was deleted. If the call cannot start by `notAfter`, it is not made and fails as `unreachable`.
     */
    async put(id: string, order: AuthenticatorOrder, { notAfter }: { readonly notAfter?: Instant } = {}) {
      const operation = "put authenticator";
      const body = authenticatorBody(order);
      await call({ operation, method: "PUT", url: urlOf(id), body, notAfter, response: putResponse });
    },
    /** Fails as `refused` with status 410 if the request was deleted. */
    get: (id: string): Promise<Enrollment> =>
      operate(undefined, ({ get }) => get("get authenticator", urlOf(id), authenticatorResponse(id))),
    /** Cancels the request, so that it cannot be enrolled. Fails as `refused` with status 409 if it has ended. */
    async cancel(id: string) {
      const url = `${urlOf(id)}/cancel`;
      await call({ operation: "cancel authenticator", method: "POST", url, response: cancelResponse });
    },
    /** Deletes the request and reserves its id, also if it does not exist: a `put` that arrives later is refused. */
    async remove(id: string) {
      await call({ operation: "delete authenticator", method: "DELETE", url: urlOf(id), response: noErrorObject });
    },
  };
}

/** Returns the client of the pre-registration API. Throws PeerFailure if the deployment no longer has one. */
export function requireRfpr({ rfpr }: { readonly rfpr?: Rfpr | undefined }): Rfpr {
  if (rfpr !== undefined) return rfpr;
  throw new PeerFailure(preRegistrationApi, "call", "unreachable", { detail: "It is no longer configured." });
}

const putResponse = z.object({ id: z.string() });
const cancelResponse = z.object({ state: z.literal("cancelled") });

/** An authenticator to enroll on site until `expiresAt`, and its encrypted requests. */
export interface AuthenticatorOrder {
  readonly request: Pick<CredentialRequest, "recipient" | "emailsTo">;
  readonly key: Pick<SecurityKey, "name" | "customizationId" | "preferredAuthenticatorType" | "pinRequest">;
  readonly requests: KeyRequests;
  readonly expiresAt: Instant;
}

/** Returns the body of a request (docs/peers/enrollment.md), without blank optional members. */
function authenticatorBody({ request: { recipient, emailsTo }, key, requests, expiresAt }: AuthenticatorOrder): object {
  const { pinRequest: pin } = key;
  return {
    recipient: {
      external_id: recipient.externalId,
      email: recipient.email,
      first_name: recipient.firstName,
      last_name: recipient.lastName,
    },
    emails_to: emailsTo,
    name: displayName(key),
    customization_id: blankToUndefined(key.customizationId),
    preferred_authenticator_type: key.preferredAuthenticatorType ?? "hardware",
    expires_at: expiresAt,
    pin: pin && { min_length: pin.length, entry_method: pin.entryMethod, delivery_method: pin.deliveryMethod },
    pin_request: requests.pinRequest,
    credential_requests: requests.credentialRequests,
  };
}

/** The response to a read of one authenticator. That of another id is refused: a state can be final. */
const authenticatorResponse = (id: string) =>
  z
    .object({
      id: z.literal(id).optional(),
      state: z.enum(["waiting", "completed", "cancelled", "failed"]),
      serial_number: someText,
      firmware_version: someText,
      pin_response: someText,
      /** `null` for a credential that could not be created. */
      credential_responses: z
        .array(z.string().nullable())
        .nullish()
        .transform(responses => responses?.map(response => response ?? "") ?? []),
      error_message: someText,
    })
    .transform(body => ({
      state: body.state,
      responses: omitUndefined({
        serial: plainIdentifier(body.serial_number),
        firmware: plainIdentifier(body.firmware_version),
        pinResponse: body.pin_response,
        credentials: body.credential_responses,
      }),
      message: plainText(body.error_message),
    }));

/** The state and the responses of an authenticator: complete once it is completed. */
export type Enrollment = z.output<ReturnType<typeof authenticatorResponse>>;

interface EnrollmentOptions extends PeerTools {
  /** The URL before `/v1/token`. */
  readonly baseUrl: string;
  /** Read at each exchange, so that a rotated credential is used. */
  readonly credential: () => Promise<string>;
  /** The time limit of one exchange, including repetitions, and of an operation with the token. */
  readonly timeLimitMs: number;
}

const accessToken = "urn:ietf:params:oauth:token-type:access_token";

/** Returns the access tokens of the pre-registration API, by token exchange at the enrollment service (RFC 8693). */
export function connectEnrollment({ baseUrl, credential, ...rest }: EnrollmentOptions): AccessTokens {
  const access: PeerAccess = { ...rest, peer: "enrollment service" };
  const url = `${trimEnd(baseUrl, "/")}/v1/token`;
  return createAccessTokens(access, async () => {
    const body = new URLSearchParams({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: await credential(),
      subject_token_type: accessToken,
    });
    return requestToken(access, url, body);
  });
}
