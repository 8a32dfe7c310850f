import type { Caller } from "../../platform/caller.ts";
import type { Instant } from "../../platform/time.ts";
import type { RequestState, replacementReasons, revokeTimes } from "./states.ts";

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

/** Returns the id of the shipment of a request, if it is known. */
export const shipmentIdOf = ({ delivery }: Pick<CredentialRequest, "delivery">): string | undefined =>
  delivery?.shipment?.id;
