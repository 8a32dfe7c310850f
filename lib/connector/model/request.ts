import * as z from "zod";
import { callerRoles } from "../../platform/caller.ts";
import { type Immutable, storedInstant } from "../../platform/stored.ts";
import { replacementReasons, requestStates, revokeTimes } from "./states.ts";

const text = z.string();
const isSet = z.boolean();
const count = z.int();

/**
 * The queues of due work. process-shipments works on `poll`, `shipment_key` and `track` (shipments on their way that no
 * credential waits for); process-credential-requests on `reconcile`, `key`, `shipment_key` and `replace` (security keys
 * that requests replace); clean-up on `clean` (ended requests), `register` (archived requests) and `purge` (copies of
 * responses).
 */
const queues = ["reconcile", "poll", "key", "shipment_key", "track", "replace", "clean", "register", "purge"] as const;

/** The queue and time of the next work on a row. Its index row has the same values. */
export const dueSchema = z.object({
  queue: z.enum(queues),
  at: storedInstant,
  /** The time before which an on-demand job does not do the work either, from a peer's Retry-After. */
  notBefore: storedInstant.exactOptional(),
  /** The only peer that the work calls, by which a run divides its time. Absent if there are several. */
  peer: text.exactOptional(),
});
export type Due = Immutable<z.output<typeof dueSchema>>;

/** The exclusive right of a run to work on a row for a limited time. After a crash it expires. */
export const leaseSchema = z.object({ owner: text, until: storedInstant });
export type Lease = Immutable<z.output<typeof leaseSchema>>;

/** How the carrier names the parcel, and its page about it, as far as the delivery service reports them. */
export const trackingSchema = z.object({ number: text.exactOptional(), link: text.exactOptional() });

/** The security key that the keys of a request replace. */
export const replacesSchema = z.lazy(() =>
  z.object({ requestId: text, keyId: text, reason: z.enum(replacementReasons), revoke: z.enum(revokeTimes) }),
);

/** The authenticated caller of the API (`Caller`). */
export const callerSchema = z.lazy(() =>
  z.object({
    kind: z.enum(["tenant", "api_token"]),
    application: text,
    subject: text.exactOptional(),
    roles: z.array(z.enum(callerRoles)).exactOptional(),
  }),
);

const orderSchema = z.lazy(() =>
  z.object({
    deliveryType: z.literal([1, 2]),
    resellerOrganizationId: text.exactOptional(),
    customerReference: text.exactOptional(),
    addressValidationBypass: isSet.exactOptional(),
    mailingAddress: z.object({
      streetLine1: text,
      streetLine2: text.exactOptional(),
      postalCode: text,
      city: text,
      region: text.exactOptional(),
      countryCode: text,
    }),
  }),
);
/** The shipment as the caller requested it. */
export type ShipmentOrder = Immutable<z.output<typeof orderSchema>>;

/** The order at the delivery service and its progress. */
const deliverySchema = z.lazy(() =>
  z.object({
    /** The order intent, written before the delivery service is called: from then on the order may exist (C6). */
    sentAt: storedInstant.exactOptional(),
    /** The shipment at the delivery service, and what the service has reported of it. */
    shipment: z
      .object({
        id: text,
        /** Whether it was found by look-up, and no response has opened with our response keys yet. */
        tentative: isSet.exactOptional(),
        stateId: z.number().exactOptional(),
        /** When a poll first got a state that means shipped. */
        shippedAt: storedInstant.exactOptional(),
        /** When its delivery ended: its final state was first reported, or tracking ended. */
        endedAt: storedInstant.exactOptional(),
        tracking: trackingSchema.exactOptional(),
        /** The delivery service's text for its state. Only in error states it becomes the request's `errorMessage`. */
        message: text.exactOptional(),
      })
      .exactOptional(),
    /** Shipments that were linked tentatively and belong to other requests. They are not linked again. */
    rejectedShipmentIds: z.array(text).exactOptional(),
    /** How often polls of the shipment got 404 with the delivery service's own error object, and since when. */
    missing: z.object({ count, since: storedInstant }).exactOptional(),
  }),
);
export type Delivery = Immutable<z.output<typeof deliverySchema>>;
export type Shipment = NonNullable<Delivery["shipment"]>;

/** Returns the schema of the columns of a credential request. */
export const requestSchema = () =>
  z.object({
    id: text,
    /** The endpoint that created it. Requests of each origin can be read by both API versions. */
    origin: z.enum(["v2", "v1_credential_request", "v1_shipment"]),
    state: z.enum(requestStates),
    createdAt: storedInstant,
    terminalAt: storedInstant.exactOptional(),
    /** Whether clean-up has removed all that the register of security keys does not need. */
    isArchived: isSet.exactOptional(),
    recipient: z.object({
      email: text,
      firstName: text,
      lastName: text,
      company: text,
      /** For the carrier only: appears in no read, mail or log. */
      telephone: text,
      externalId: text,
    }),
    emailsTo: z.array(text),
    shipment: orderSchema.exactOptional(),
    delivery: deliverySchema.exactOptional(),
    errorMessage: text.exactOptional(),
    /** Whether it ended before an order was sent, or because the delivery service refused the order. */
    neverSent: isSet.exactOptional(),
    /** Set while a cancel is in progress: when the DELETE of the shipment was first sent, and what was due before. */
    cancelling: z
      .object({ before: dueSchema.exactOptional(), deleteSentAt: storedInstant.exactOptional() })
      .exactOptional(),
    /** The scope of the Idempotency-Key of its create. */
    claim: text.exactOptional(),
    /** The caller that created the request. */
    createdBy: callerSchema.exactOptional(),
    /** The number of recorded events. Absent if there are none. */
    eventCount: count.exactOptional(),
    /** The numbers of the sinks that have a delivery row. It is created with the first event for them. */
    eventSinks: z.array(count).exactOptional(),
    due: dueSchema.exactOptional(),
    /** The next look at a shipment on its way. The clean-up of an ended request does not wait for it. */
    trackDue: dueSchema.exactOptional(),
    /** The security key that the keys of the request replace. */
    replaces: replacesSchema.exactOptional(),
    /** The next look at the replaced security key. Beside `due`; the clean-up of an ended request waits for its end. */
    replaceDue: dueSchema.exactOptional(),
    /** Failed attempts of the work that is due. */
    attempts: count,
    lease: leaseSchema.exactOptional(),
  });
export type CredentialRequest = Immutable<z.output<ReturnType<typeof requestSchema>>>;

export const isSameDue = (a: Due | undefined, b: Due | undefined): boolean =>
  a?.queue === b?.queue && a?.at === b?.at && a?.notBefore === b?.notBefore && a?.peer === b?.peer;

/** Whether the create of the request has ended without an order. A job compensates what it began. */
export const isAborted = ({ state, delivery, errorMessage }: CredentialRequest): boolean =>
  state === "received" && delivery?.sentAt === undefined && errorMessage !== undefined;

/** Returns the id of the shipment of a request, if it is known. */
export const shipmentIdOf = ({ delivery }: Pick<CredentialRequest, "delivery">): string | undefined =>
  delivery?.shipment?.id;
