import type { Caller } from "../../platform/caller.ts";
import type { Instant } from "../../platform/time.ts";
import type { Retry } from "./retry.ts";
import type {
  CredentialState,
  RequestState,
  RevocationReason,
  replacementReasons,
  revocationStates,
  revokeTimes,
  SecurityKeyState,
} from "./states.ts";
import type { Binding } from "./webauthn.ts";

/** The endpoint that created a request. Requests of each origin can be read by both API versions. */
export type Origin = "v2" | "v1_credential_request" | "v1_shipment";

export interface Recipient {
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly company: string;
  /** For the carrier only: appears in no read, mail or log. */
  readonly telephone: string;
  readonly externalId: string;
}

export interface MailingAddress {
  readonly streetLine1: string;
  readonly streetLine2?: string;
  readonly postalCode: string;
  readonly city: string;
  readonly region?: string;
  readonly countryCode: string;
}

/** The shipment as the caller requested it. */
export interface ShipmentOrder {
  readonly deliveryType: 1 | 2;
  readonly resellerOrganizationId?: string;
  readonly customerReference?: string;
  readonly addressValidationBypass?: boolean;
  readonly mailingAddress: MailingAddress;
}

/** How the carrier names the parcel, as far as the delivery service reports it. */
export interface Tracking {
  readonly number?: string;
  /** The carrier's page about the parcel. */
  readonly link?: string;
}

/** A shipment at the delivery service, and what the service has reported of it. */
export interface Shipment {
  readonly id: string;
  /** Whether it was found by look-up, and no response has opened with our response keys yet. */
  readonly tentative?: boolean;
  readonly stateId?: number;
  /** When a poll first got a state that means shipped. */
  readonly shippedAt?: Instant;
  /** When its delivery ended: the service first reported its present final state, or it is not tracked any more. */
  readonly endedAt?: Instant;
  readonly tracking?: Tracking;
  /** The delivery service's text for its state. Only in error states it becomes the request's `errorMessage`. */
  readonly message?: string;
}

/** The order at the delivery service and its progress. */
export interface Delivery {
  /** The order intent, written before the delivery service is called: from then on the order may exist (C6). */
  readonly sentAt?: Instant;
  /** Whether the delivery service was called and did not answer. Without it, the create handler may have stopped before the call. */
  readonly isUnanswered?: boolean;
  readonly shipment?: Shipment;
  /** Shipments that were linked tentatively and belong to other requests. They are not linked again. */
  readonly rejectedShipmentIds?: readonly string[];
  /**
   * How often the delivery service did not know the shipment, and since when: polls that got 404 with its own error object, or look-ups of
   * an order without an id whose list was complete.
   */
  readonly missing?: { readonly count: number; readonly since: Instant };
}

/** The exclusive right of a run to work on a row for a limited time. After a crash it expires. */
export interface Lease {
  readonly owner: string;
  readonly until: Instant;
}

/**
 * The queues of due work. process-shipments works on `poll`, `shipment_key` and `track` (shipments on their way that no
 * credential waits for); process-credential-requests on `reconcile`, `key`, `shipment_key` and `replace` (security keys
 * that requests replace); clean-up on `clean`
 * (ended requests), `register` (archived requests) and `purge` (copies of responses).
 */
export const queues = [
  "reconcile",
  "poll",
  "key",
  "shipment_key",
  "track",
  "replace",
  "clean",
  "register",
  "purge",
] as const;
export type Queue = (typeof queues)[number];

/** The queue and time of the next work on a row. Its index row has the same values. */
export interface Due {
  readonly queue: Queue;
  readonly at: Instant;
  /** The time before which an on-demand job does not do the work either, from a peer's Retry-After. */
  readonly notBefore?: Instant;
  /** The only peer that the work calls, so that a run can divide its time between peers. Absent if there are several. */
  readonly peer?: string;
}

export const isSameDue = (a: Due | undefined, b: Due | undefined): boolean =>
  a?.queue === b?.queue && a?.at === b?.at && a?.notBefore === b?.notBefore && a?.peer === b?.peer;

/** The security key that the keys of a request replace. */
export interface Replaces {
  readonly requestId: string;
  readonly keyId: string;
  readonly reason: (typeof replacementReasons)[number];
  readonly revoke: (typeof revokeTimes)[number];
}

/** A credential request, as stored in its row. */
export interface CredentialRequest {
  readonly id: string;
  readonly origin: Origin;
  readonly state: RequestState;
  readonly createdAt: Instant;
  readonly terminalAt?: Instant;
  /** Whether clean-up has removed all that the register of security keys does not need. */
  readonly isArchived?: boolean;
  readonly recipient: Recipient;
  readonly emailsTo: readonly string[];
  readonly shipment?: ShipmentOrder;
  readonly delivery?: Delivery;
  readonly errorMessage?: string;
  /** Whether it ended before an order was sent, or because the delivery service refused the order. */
  readonly neverSent?: boolean;
  /** Set while a cancel is in progress: when the DELETE of the shipment was first sent, and what was due before. */
  readonly cancelling?: { readonly before?: Due; readonly deleteSentAt?: Instant };
  /** The scope of the Idempotency-Key of its create. */
  readonly claim?: string;
  /** The caller that created the request. */
  readonly createdBy?: Caller;
  /** The number of recorded events. Absent if there are none. */
  readonly eventCount?: number;
  /** The numbers of the sinks that have a delivery row. It is created with the first event for them. */
  readonly eventSinks?: readonly number[];
  readonly due?: Due;
  /** The next look at a shipment on its way. Beside `due`, because the clean-up of an ended request does not wait for it. */
  readonly trackDue?: Due;
  /** The security key that the keys of the request replace. */
  readonly replaces?: Replaces;
  /** The next look at the replaced security key. Beside `due`; the clean-up of an ended request waits for its end. */
  readonly replaceDue?: Due;
  /** Failed attempts of the work that is due. */
  readonly attempts: number;
  readonly lease?: Lease;
}

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

/** A request with its security keys, without the ETags of their rows. */
export interface RequestValues {
  readonly request: CredentialRequest;
  readonly keys: readonly SecurityKey[];
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

/** Returns the id of the shipment of a request, if it is known. */
export const shipmentIdOf = ({ delivery }: Pick<CredentialRequest, "delivery">): string | undefined =>
  delivery?.shipment?.id;
