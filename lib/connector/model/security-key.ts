import * as z from "zod";
import { type Immutable, storedInstant } from "../../platform/stored.ts";
import { callerSchema, dueSchema, leaseSchema } from "./request.ts";
import { retrySchema } from "./retry.ts";
import { credentialStates, revocationReasons, revocationStates, securityKeyStates } from "./states.ts";

const text = z.string();
const isSet = z.boolean();
const count = z.int();

/** Who chooses a PIN: the key maker (`generated`), or the user at enrollment (`user_entered`). */
export const pinEntryMethods = ["generated", "user_entered"] as const;

export const pinDeliveryMethods = ["none", "app", "email"] as const;

export const authenticatorTypes = ["hardware", "software"] as const;

/** A credential on a security key, in its row. */
export const credentialSchema = z.lazy(() =>
  z.object({
    idpId: text,
    /** The value of the caller, later that of the IdP's creation options. */
    relyingPartyId: text.exactOptional(),
    userId: text,
    state: z.enum(credentialStates),
    /** Why it ended, or why its response cannot be used. The reason for a further attempt is in `retry`. */
    errorMessage: text.exactOptional(),
    /** The state that the IdP needs to activate, read back and compensate, sealed. */
    idpState: text.exactOptional(),
    /** The values of a challenge that its response must match. The challenge itself is not stored. */
    binding: z
      .object({
        /** base64url SHA-256 of the challenge's bytes. */
        challengeHash: text,
        origin: text,
        relyingPartyId: text,
        /** Whether the options require user verification, that is a PIN. */
        userVerification: isSet,
      })
      .exactOptional(),
    challengeExpiresAt: storedInstant.exactOptional(),
    /** The private response key, sealed. */
    responseKey: text.exactOptional(),
    credentialId: text.exactOptional(),
    /** The model of the authenticator, as a UUID. Absent if the authenticator does not disclose it. */
    aaguid: text.exactOptional(),
    /** When the IdP was known to have registered it. */
    activatedAt: storedInstant.exactOptional(),
    retryableUntil: storedInstant.exactOptional(),
    /** Set before an activation is sent, removed by its answer. Without one, it is read back before the next. */
    triedAt: storedInstant.exactOptional(),
    /** A refusal after an unanswered attempt. It is accepted only after a second read-back. */
    refusal: z.object({ at: storedInstant, reason: text }).exactOptional(),
    /** The attempts to activate it, from its response to its end. */
    retry: retrySchema.exactOptional(),
    /** The id under which the IdP lists it, if that follows neither from the credential id nor from the IdP state. */
    registrationId: text.exactOptional(),
    /** The removal of an active credential at its IdP. */
    revocation: z
      .object({
        state: z.enum(revocationStates),
        reason: z.enum(revocationReasons),
        /** Who asked for it. Absent if a job did. */
        requestedBy: callerSchema.exactOptional(),
        requestedAt: storedInstant,
        revokedAt: storedInstant.exactOptional(),
        /** The attempts. They are kept when it has ended. */
        retry: retrySchema,
      })
      .exactOptional(),
  }),
);
export type Credential = Immutable<z.output<typeof credentialSchema>>;
export type Revocation = NonNullable<Credential["revocation"]>;

/** The PIN email of a security key. */
const mailSchema = z.lazy(() =>
  z.object({
    state: z.enum(["waiting", "due", "sent", "given_up", "none"]),
    /** The number of sends, 0 before the first. The operation id of a send is computed from it. */
    number: count,
    /** Set before a send, removed by its outcome. */
    triedAt: storedInstant.exactOptional(),
    /** The sends with the current number that the mail service has accepted, and whose outcome is not known. */
    accepted: count.exactOptional(),
    sentAt: storedInstant.exactOptional(),
    firstDueAt: storedInstant.exactOptional(),
    /** The attempts to send it, from the time at which it is due. */
    retry: retrySchema.exactOptional(),
    /** The mail service's error code of the last attempt, if it gave one. */
    errorCode: text.exactOptional(),
    /** Addresses that the last attempt left out, because `PIN_MAIL_DOMAINS` no longer allows them. */
    leftOut: z.array(text).exactOptional(),
    /** Times of resends within the last hour. */
    resentAt: z.array(storedInstant).exactOptional(),
  }),
);

/** Returns the schema of the columns of a security key: one of a shipment, or an on-site authenticator. */
export const securityKeySchema = () =>
  z.object({
    /**
     * `s-01-001` is the first security key of shipment item 1; `a-01` is the first authenticator. Ids sort in the order
     * of the request.
     */
    id: text,
    /** Whether the key maker programs and ships the security key, or the user enrolls an authenticator on site. */
    provisioning: z.enum(["shipped", "on_site"]),
    /** The custom name, without the serial number. */
    name: text.exactOptional(),
    customizationId: text.exactOptional(),
    productId: z.number().exactOptional(),
    inventoryProductId: z.number().exactOptional(),
    preferredAuthenticatorType: z.enum(authenticatorTypes).exactOptional(),
    state: z.enum(securityKeyStates),
    serial: text.exactOptional(),
    firmware: text.exactOptional(),
    pinRequest: z
      .object({ length: count, entryMethod: z.enum(pinEntryMethods), deliveryMethod: z.enum(pinDeliveryMethods) })
      .exactOptional(),
    /** The private response key of the PIN, sealed. */
    pinResponseKey: text.exactOptional(),
    /** The name of the blob with the responses as received, still encrypted. */
    responses: text.exactOptional(),
    credentials: z.array(credentialSchema),
    mail: mailSchema,
    /** The latest request whose keys replace this one, and when it was created. */
    replacedBy: z.object({ requestId: text, orderedAt: storedInstant }).exactOptional(),
    /** The polls of an authenticator, from the start of the request to the end of the enrollment. */
    enrollment: retrySchema.exactOptional(),
    /** Set for security keys of version 1 shipments, which process-shipments also activates and mails. */
    ofShipmentV1: isSet.exactOptional(),
    due: dueSchema.exactOptional(),
    lease: leaseSchema.exactOptional(),
  });
export type SecurityKey = Immutable<z.output<ReturnType<typeof securityKeySchema>>>;

/** Whether the security key is programmed on site and not shipped. */
export const isOnSite = ({ provisioning }: Pick<SecurityKey, "provisioning">): boolean => provisioning === "on_site";

/** Returns the queue for the activations and the PIN email of a security key. */
export const queueOf = ({ ofShipmentV1 }: Pick<SecurityKey, "ofShipmentV1">): "key" | "shipment_key" =>
  ofShipmentV1 === true ? "shipment_key" : "key";

/** Whether the key maker generates a PIN that is to be sent by email. */
export const hasPinMail = ({ pinRequest }: Pick<SecurityKey, "pinRequest">): boolean =>
  pinRequest?.entryMethod === "generated" && pinRequest.deliveryMethod === "email";

/** Whether PIN emails may be sent to the address. @param domains in lower case; an empty list allows any domain */
export function isMailable(email: string, domains: readonly string[]): boolean {
  return domains.length === 0 || domains.includes(domainOf(email));
}

const domainOf = (email: string): string => email.slice(email.lastIndexOf("@") + 1).toLowerCase();

/**
 * Returns the message of a PIN email in reads: why it was not sent, and the domains of addresses that were left out.
 * The addresses are for the role that may resend it, and the role `read` sees this message.
 */
export function pinMailMessage({ retry, leftOut = [] }: SecurityKey["mail"]): string | undefined {
  const domains = [...new Set(leftOut.map(domainOf))];
  const note = domains.length === 0 ? undefined : `PIN_MAIL_DOMAINS does not allow: ${domains.join(", ")}.`;
  return [retry?.lastError, note].filter(text => text !== undefined).join(" ") || undefined;
}

/** Returns the name that reads and the enrollment show. The PIN email adds the serial number in its own way. */
export const displayName = (key: SecurityKey): string => key.name ?? "Pre-Reg Key";

/** Returns the name under which an IdP registers its credentials. */
export const registeredName = (key: SecurityKey): string =>
  key.serial === undefined ? displayName(key) : `${displayName(key)}: ${key.serial}`;

/**
 * Returns the id of a security key of a shipment item, such as `s-01-001`. Both arguments count from 0. Version 2 has
 * one key for each item.
 */
export const shipmentKeyId = (item: number, key = 0): string => `s-${padded(item, 2)}-${padded(key, 3)}`;

/** Returns the id of an on-site authenticator, such as `a-01`. `index` counts from 0. */
export const authenticatorKeyId = (index: number): string => `a-${padded(index, 2)}`;

/** Returns the id of an on-site authenticator at the pre-registration API (docs/peers/enrollment.md). */
export const enrollmentId = (requestId: string, keyId: string): string => `${requestId}.${keyId}`;

/** Returns the position of a security key's shipment item or authenticator in its list, from 0. */
export const itemIndex = (keyId: string): number => Number(keyId.split("-")[1]) - 1;

function padded(index: number, digits: number): string {
  return String(index + 1).padStart(digits, "0");
}
