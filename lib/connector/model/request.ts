import type { Caller } from "../../caller.ts";
import type { Instant } from "../../time.ts";
import type { CredentialState, RequestState, SecurityKeyState } from "./states.ts";
import type { Binding, Challenge } from "./webauthn.ts";

/** The endpoint family that made a request; reads translate, whatever made it (decision C4). */
export type Origin = "v2" | "v1_credential_request" | "v1_shipment";

export interface Recipient {
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly company: string;
  /** For the carrier only: in no read, mail or log (decision C5). */
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

/** What the caller asked of the delivery service. */
export interface ShipmentOrder {
  readonly deliveryType: 1 | 2;
  readonly resellerOrganizationId?: string;
  readonly customerReference?: string;
  readonly addressValidationBypass?: boolean;
  readonly mailingAddress: MailingAddress;
}

/** What became of the order. */
export interface Delivery {
  /** The mark that is written before the delivery call: from here on the order may exist there (decision C6). */
  readonly sentAt?: Instant;
  readonly shipmentId?: string;
  /** Found by look-up after an unanswered call and not yet proven by a response that opens with our keys (decision C6). */
  readonly tentative?: boolean;
  /** Adopted once and proven to be another request's: never adopted again. */
  readonly rejectedShipmentIds?: readonly string[];
  readonly stateId?: number;
  /** The delivery service's own text for its state, which only its error states make the request's `errorMessage`. */
  readonly message?: string;
  /** Polls that answered 404 with the service's own error object (decision C10). */
  readonly missing?: { readonly count: number; readonly since: Instant };
}

/** Who holds an item and until when; a crash lets it expire (decision C15). */
export interface Lease {
  readonly owner: string;
  readonly until: Instant;
}

/**
 * The queues of due work: `poll` and `shipment_key` are process-shipments', `settle` and both kinds of keys
 * process-credential-requests', `clean` (ended requests) and `forget` (response copies whose time is over) clean-up's.
 */
export const queues = ["reconcile", "poll", "key", "shipment_key", "clean", "purge"] as const;
export type Queue = (typeof queues)[number];

/** When an item is next to be worked on. Its index row carries the same values (decision C15). */
export interface Due {
  readonly queue: Queue;
  readonly at: Instant;
  /** Waits for a peer's Retry-After: an on-demand job leaves it alone until `at`. */
  readonly held?: boolean;
}

/** Tries of one piece of work, for the back-off. */
export type Attempts = number;

/** The request's row. */
export interface CredentialRequest {
  readonly id: string;
  readonly origin: Origin;
  readonly state: RequestState;
  readonly createdAt: Instant;
  readonly terminalAt?: Instant;
  readonly recipient: Recipient;
  readonly emailsTo: readonly string[];
  readonly shipment?: ShipmentOrder;
  readonly delivery?: Delivery;
  readonly errorMessage?: string;
  /** Ended before any order was sent, or by the delivery service's "no" (decision C6). */
  readonly neverSent?: boolean;
  /** Set while it is cancelled (decision C19): when its shipment's deletion was first tried, and what was due before. */
  readonly cancelling?: { readonly before?: Due; readonly deleteSentAt?: Instant };
  /** Scope of the Idempotency-Key that it was made with (decision C6). */
  readonly claim?: string;
  /** The caller that created it (decision G3). */
  readonly createdBy?: Caller;
  readonly due?: Due;
  readonly attempts: Attempts;
  readonly lease?: Lease;
}

export interface PinRequest {
  readonly length: number;
  /** Who makes up the PIN: `generated` by the key maker, `user_entered` at enrollment. */
  readonly entryMethod: "generated" | "user_entered";
  readonly deliveryMethod: "none" | "app" | "email";
}

/** A credential on a key. */
export interface Credential {
  readonly idpId: string;
  /** As the caller named it, then as the IdP's options have it. */
  readonly relyingPartyId?: string;
  readonly userId: string;
  readonly state: CredentialState;
  readonly errorMessage?: string;
  /** What the IdP needs to activate, read back and undo: sealed in a row (decision G8), but for those of the version before. */
  readonly idpState?: string | Challenge["idpState"];
  /** What an answer must match (decisions C11, C18). */
  readonly binding?: Binding;
  readonly challengeExpiresAt?: Instant;
  /** Private response key, sealed (decisions G8, C11). */
  readonly responseKey?: string;
  readonly credentialId?: string;
  readonly retryableUntil?: Instant;
  /** Set before an activation is sent, cleared by its answer: an unanswered try is read back first (decision C8). */
  readonly triedAt?: Instant;
  /** A refusal that followed an unanswered try, believed only after a second read-back (decision C8). */
  readonly refusal?: { readonly at: Instant; readonly reason: string };
  readonly attempts: Attempts;
  readonly nextAt?: Instant;
  readonly held?: boolean;
}

/** The PIN mail of a key (decision C14). */
export interface PinMail {
  readonly state: "waiting" | "due" | "sent" | "given_up" | "none";
  /** Counts sends; with the key it gives the operation id. 0 before the first. */
  readonly number: number;
  /** Set before a send, cleared by its outcome. */
  readonly triedAt?: Instant;
  readonly sentAt?: Instant;
  readonly firstDueAt?: Instant;
  readonly attempts: Attempts;
  readonly nextAt?: Instant;
  readonly held?: boolean;
  readonly errorMessage?: string;
  /** Addresses that the last send, or the last attempt of one, left out: `PIN_MAIL_DOMAINS` no longer allows them. */
  readonly leftOut?: readonly string[];
  /** Times of resends within the last hour (decision C1). */
  readonly resentAt?: readonly Instant[];
}

/** The polls of an authenticator that waits at the enrollment side. */
export interface EnrollmentPoll {
  readonly attempts: Attempts;
  readonly nextAt: Instant;
  readonly held?: boolean;
}

/** One physical key of a shipment, or one on-site authenticator. */
export interface SecurityKey {
  /** `s-01-001`: shipment item 1, first key of it; `a-01`: first authenticator. Sorts in the request's order. */
  readonly id: string;
  readonly place: "shipment" | "authenticator";
  /** Custom name, without serial. */
  readonly name?: string;
  readonly customizationId?: string;
  readonly productId?: number;
  readonly inventoryProductId?: number;
  readonly preferredAuthenticatorType?: "hardware" | "software";
  readonly state: SecurityKeyState;
  readonly serial?: string;
  readonly firmware?: string;
  readonly pinRequest?: PinRequest;
  /** Private response key of the PIN, sealed. */
  readonly pinKey?: string;
  /** Blob with the key's responses as received: encrypted (decision C18). */
  readonly responses?: string;
  readonly credentials: readonly Credential[];
  readonly mail: PinMail;
  /** From the start of the request to the end of the enrollment; authenticators only. */
  readonly enrollment?: EnrollmentPoll;
  /** Set where process-shipments also activates and mails: what version 1 ordered (decision C15). */
  readonly ofShipmentV1?: boolean;
  readonly due?: Due;
  readonly lease?: Lease;
}

/** Whether the key is programmed on site, not shipped. */
export const isOnSite = ({ place }: Pick<SecurityKey, "place">): boolean => place === "authenticator";

/** The queue in which a key's activations and mail are due. */
export const queueOf = ({ ofShipmentV1 }: Pick<SecurityKey, "ofShipmentV1">): "key" | "shipment_key" =>
  ofShipmentV1 === true ? "shipment_key" : "key";

/** Whether a PIN comes back that is to be mailed (decision C14). */
export const hasPinMail = ({ pinRequest }: Pick<SecurityKey, "pinRequest">): boolean =>
  pinRequest?.entryMethod === "generated" && pinRequest.deliveryMethod === "email";

/** The name that a read shows (decision C11a). */
export const displayName = (key: SecurityKey): string => key.name ?? "Pre-Reg Key";

/** The name that the IdP and the mail show (decision C13). */
export const registeredName = (key: SecurityKey): string =>
  key.serial === undefined ? displayName(key) : `${displayName(key)}: ${key.serial}`;
