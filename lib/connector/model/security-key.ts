import type { Caller } from "../../platform/caller.ts";
import type { Instant } from "../../platform/time.ts";
import type { Due, Lease } from "./request.ts";
import type { Retry } from "./retry.ts";
import type { CredentialState, RevocationReason, revocationStates, SecurityKeyState } from "./states.ts";
import type { Binding } from "./webauthn.ts";

/** Who chooses a PIN: the key maker (`generated`), or the user at enrollment (`user_entered`). */
export const pinEntryMethods = ["generated", "user_entered"] as const;

export const pinDeliveryMethods = ["none", "app", "email"] as const;

export const authenticatorTypes = ["hardware", "software"] as const;

export interface PinRequest {
  readonly length: number;
  readonly entryMethod: (typeof pinEntryMethods)[number];
  readonly deliveryMethod: (typeof pinDeliveryMethods)[number];
}

/** A credential on a security key. */
export interface Credential {
  readonly idpId: string;
  /** The value of the caller, later that of the IdP's creation options. */
  readonly relyingPartyId?: string;
  readonly userId: string;
  readonly state: CredentialState;
  /** Why it ended, or why its response cannot be used. The reason for a further attempt is in `retry`. */
  readonly errorMessage?: string;
  /** The state that the IdP needs to activate, read back and compensate, sealed. */
  readonly idpState?: string;
  /** The values that a response must match. */
  readonly binding?: Binding;
  readonly challengeExpiresAt?: Instant;
  /** The private response key, sealed. */
  readonly responseKey?: string;
  readonly credentialId?: string;
  /** The model of the authenticator, as a UUID. Absent if the authenticator does not disclose it. */
  readonly aaguid?: string;
  /** When the IdP was known to have registered it. */
  readonly activatedAt?: Instant;
  readonly retryableUntil?: Instant;
  /**
   * Set before an activation is sent, removed by its answer. An unanswered attempt is read back before the next one.
   */
  readonly triedAt?: Instant;
  /** A refusal after an unanswered attempt. It is accepted only after a second read-back. */
  readonly refusal?: { readonly at: Instant; readonly reason: string };
  /** The attempts to activate it, from its response to its end. */
  readonly retry?: Retry;
  /** The id under which the IdP lists it, if that follows neither from the credential id nor from the IdP state. */
  readonly registrationId?: string;
  readonly revocation?: Revocation;
}

/** The removal of an active credential at its IdP. */
export interface Revocation {
  readonly state: (typeof revocationStates)[number];
  readonly reason: RevocationReason;
  /** Who asked for it. Absent if a job did. */
  readonly requestedBy?: Caller;
  readonly requestedAt: Instant;
  readonly revokedAt?: Instant;
  /** The attempts. They are kept when it has ended. */
  readonly retry: Retry;
}

/** The PIN email of a security key. */
export interface PinMail {
  readonly state: "waiting" | "due" | "sent" | "given_up" | "none";
  /** The number of sends, 0 before the first. The operation id of a send is computed from it. */
  readonly number: number;
  /** Set before a send, removed by its outcome. */
  readonly triedAt?: Instant;
  /** The sends with the current number that the mail service has accepted, and whose outcome is not known. */
  readonly accepted?: number;
  readonly sentAt?: Instant;
  readonly firstDueAt?: Instant;
  /** The attempts to send it, from the time at which it is due. */
  readonly retry?: Retry;
  /** The mail service's error code of the last attempt, if it gave one. */
  readonly errorCode?: string;
  /** Addresses that the last attempt left out, because `PIN_MAIL_DOMAINS` no longer allows them. */
  readonly leftOut?: readonly string[];
  /** Times of resends within the last hour. */
  readonly resentAt?: readonly Instant[];
}

/** A security key of a shipment, or an on-site authenticator. */
export interface SecurityKey {
  /**
   * `s-01-001` is the first security key of shipment item 1; `a-01` is the first authenticator. Ids sort in the order
   * of the request.
   */
  readonly id: string;
  /** Whether the key maker programs and ships the security key, or the user enrolls an authenticator on site. */
  readonly provisioning: "shipped" | "on_site";
  /** The custom name, without the serial number. */
  readonly name?: string;
  readonly customizationId?: string;
  readonly productId?: number;
  readonly inventoryProductId?: number;
  readonly preferredAuthenticatorType?: (typeof authenticatorTypes)[number];
  readonly state: SecurityKeyState;
  readonly serial?: string;
  readonly firmware?: string;
  readonly pinRequest?: PinRequest;
  /** The private response key of the PIN, sealed. */
  readonly pinResponseKey?: string;
  /** The name of the blob with the responses as received, still encrypted. */
  readonly responses?: string;
  readonly credentials: readonly Credential[];
  readonly mail: PinMail;
  /** The latest request whose keys replace this one, and when it was created. */
  readonly replacedBy?: { readonly requestId: string; readonly orderedAt: Instant };
  /** The polls of an authenticator, from the start of the request to the end of the enrollment. */
  readonly enrollment?: Retry;
  /** Set for security keys of version 1 shipments, which process-shipments also activates and mails. */
  readonly ofShipmentV1?: boolean;
  readonly due?: Due;
  readonly lease?: Lease;
}

/** Whether the security key is programmed on site and not shipped. */
export const isOnSite = ({ provisioning }: Pick<SecurityKey, "provisioning">): boolean => provisioning === "on_site";

/** Returns the queue for the activations and the PIN email of a security key. */
export const queueOf = ({ ofShipmentV1 }: Pick<SecurityKey, "ofShipmentV1">): "key" | "shipment_key" =>
  ofShipmentV1 === true ? "shipment_key" : "key";

/** Whether the key maker generates a PIN that is to be sent by email. */
export const hasPinMail = ({ pinRequest }: Pick<SecurityKey, "pinRequest">): boolean =>
  pinRequest?.entryMethod === "generated" && pinRequest.deliveryMethod === "email";

/** Returns the name that reads show. */
export const displayName = (key: SecurityKey): string => key.name ?? "Pre-Reg Key";

/** Returns the name that the IdP and the PIN email show. */
export const registeredName = (key: SecurityKey): string =>
  key.serial === undefined ? displayName(key) : `${displayName(key)}: ${key.serial}`;

/** Returns the id of a security key of a shipment item, such as `s-01-001`. Both arguments count from 0. Version 2 has one key for each item. */
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
