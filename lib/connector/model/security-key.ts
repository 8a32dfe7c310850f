import * as z from "zod";
import { type Immutable, storedInstant } from "../../platform/stored.ts";
import { type Credential, challengeEnd, credentialSchema } from "./credential.ts";
import type { Clock } from "./intervals.ts";
import { type CredentialRequest, dueSchema, leaseSchema } from "./request.ts";
import { retrySchema } from "./retry.ts";
import { securityKeyStates } from "./states.ts";

const text = z.string();
const isSet = z.boolean();
const count = z.int();

/** Who chooses a PIN: the key maker (`generated`), or the user at enrollment (`user_entered`). */
export const pinEntryMethods = ["generated", "user_entered"] as const;

export const pinDeliveryMethods = ["none", "app", "email"] as const;

export const authenticatorTypes = ["hardware", "software"] as const;

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

/** Returns a function that changes the credential of a security key at this position. */
export const withCredential =
  (index: number, change: (credential: Credential) => Credential) =>
  (key: SecurityKey): SecurityKey => ({
    ...key,
    credentials: key.credentials.map((credential, position) => (position === index ? change(credential) : credential)),
  });

/** Whether any credential of the security key has no response yet. */
export const isWaiting = ({ credentials }: Pick<SecurityKey, "credentials">): boolean =>
  credentials.some(({ state }) => state === "processing");

/** Whether any credential of the security key had a response, or has ended. */
export const hasProgressed = ({ credentials }: Pick<SecurityKey, "credentials">): boolean =>
  credentials.some(({ state }) => state !== "processing");

/** Whether every challenge without a response has expired, so that no response can be activated any more. */
export const isTooLateFor = ({ credentials }: SecurityKey, request: CredentialRequest, clock: Clock): boolean =>
  credentials
    .filter(({ state }) => state === "processing")
    .every(credential => challengeEnd(credential, request, clock) <= clock.now());

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
export const displayName = (key: Pick<SecurityKey, "name">): string => key.name ?? "Pre-Reg Key";

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

/** The responses of a security key as received from its peer, still encrypted. */
export const keyResponsesSchema = z.lazy(() =>
  z.object({
    serial: z.string().exactOptional(),
    firmware: z.string().exactOptional(),
    credentials: z.array(z.string()),
    pinResponse: z.string().exactOptional(),
  }),
);
export type KeyResponses = Immutable<z.output<typeof keyResponsesSchema>>;
