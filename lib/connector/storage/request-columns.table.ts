import * as z from "zod";
import { rowColumns } from "../../platform/tables/row-columns.ts";
import { schemaOf, storedInstant } from "../../platform/tables/row-schema.ts";
import { type CredentialRequest, queues } from "../model/request.ts";
import { authenticatorTypes, pinDeliveryMethods, pinEntryMethods, type SecurityKey } from "../model/security-key.ts";
import { replacementReasons, requestStates, revokeTimes, securityKeyStates } from "../model/states.ts";
import { callerSchema, credentialSchema, retrySchema } from "./credential-schema.table.ts";

/** The version of the layout, written into every row of the connector. */
export const schemaVersion = 1;

const text = z.string();
const isSet = z.boolean();
const count = z.int();

export const dueSchema = z.object({
  queue: z.enum(queues),
  at: storedInstant,
  notBefore: storedInstant.exactOptional(),
  peer: text.exactOptional(),
});

export const leaseSchema = z.object({ owner: text, until: storedInstant });

const shipment = z.lazy(() =>
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

export const replacesSchema = z.lazy(() =>
  z.object({ requestId: text, keyId: text, reason: z.enum(replacementReasons), revoke: z.enum(revokeTimes) }),
);

export const trackingSchema = z.object({ number: text.exactOptional(), link: text.exactOptional() });

const delivery = z.lazy(() =>
  z.object({
    sentAt: storedInstant.exactOptional(),
    isUnanswered: isSet.exactOptional(),
    shipment: z
      .object({
        id: text,
        tentative: isSet.exactOptional(),
        stateId: z.number().exactOptional(),
        shippedAt: storedInstant.exactOptional(),
        endedAt: storedInstant.exactOptional(),
        tracking: trackingSchema.exactOptional(),
        message: text.exactOptional(),
      })
      .exactOptional(),
    rejectedShipmentIds: z.array(text).exactOptional(),
    missing: z.object({ count, since: storedInstant }).exactOptional(),
  }),
);

/** The columns of the row of a request. */
export const requestColumns = rowColumns<CredentialRequest>({ kind: "request", version: schemaVersion }, () =>
  schemaOf<CredentialRequest>()(
    z.object({
      id: text,
      origin: z.enum(["v2", "v1_credential_request", "v1_shipment"]),
      state: z.enum(requestStates),
      createdAt: storedInstant,
      terminalAt: storedInstant.exactOptional(),
      isArchived: isSet.exactOptional(),
      recipient: z.object({
        email: text,
        firstName: text,
        lastName: text,
        company: text,
        telephone: text,
        externalId: text,
      }),
      emailsTo: z.array(text),
      shipment: shipment.exactOptional(),
      delivery: delivery.exactOptional(),
      errorMessage: text.exactOptional(),
      neverSent: isSet.exactOptional(),
      cancelling: z
        .object({ before: dueSchema.exactOptional(), deleteSentAt: storedInstant.exactOptional() })
        .exactOptional(),
      claim: text.exactOptional(),
      createdBy: callerSchema.exactOptional(),
      eventCount: count.exactOptional(),
      eventSinks: z.array(count).exactOptional(),
      due: dueSchema.exactOptional(),
      trackDue: dueSchema.exactOptional(),
      replaces: replacesSchema.exactOptional(),
      replaceDue: dueSchema.exactOptional(),
      attempts: count,
      lease: leaseSchema.exactOptional(),
    }),
  ),
);

const mail = z.lazy(() =>
  z.object({
    state: z.enum(["waiting", "due", "sent", "given_up", "none"]),
    number: count,
    triedAt: storedInstant.exactOptional(),
    accepted: count.exactOptional(),
    sentAt: storedInstant.exactOptional(),
    firstDueAt: storedInstant.exactOptional(),
    retry: retrySchema.exactOptional(),
    errorCode: text.exactOptional(),
    leftOut: z.array(text).exactOptional(),
    resentAt: z.array(storedInstant).exactOptional(),
  }),
);

/** The columns of the row of a security key (C18). */
export const securityKeyColumns = rowColumns<SecurityKey>(
  { kind: "key", version: schemaVersion, spread: "credentials" },
  () =>
    schemaOf<SecurityKey>()(
      z.object({
        id: text,
        provisioning: z.enum(["shipped", "on_site"]),
        name: text.exactOptional(),
        customizationId: text.exactOptional(),
        productId: z.number().exactOptional(),
        inventoryProductId: z.number().exactOptional(),
        preferredAuthenticatorType: z.enum(authenticatorTypes).exactOptional(),
        state: z.enum(securityKeyStates),
        serial: text.exactOptional(),
        firmware: text.exactOptional(),
        pinRequest: z
          .object({
            length: count,
            entryMethod: z.enum(pinEntryMethods),
            deliveryMethod: z.enum(pinDeliveryMethods),
          })
          .exactOptional(),
        pinResponseKey: text.exactOptional(),
        responses: text.exactOptional(),
        credentials: z.array(credentialSchema),
        mail,
        replacedBy: z.object({ requestId: text, orderedAt: storedInstant }).exactOptional(),
        enrollment: retrySchema.exactOptional(),
        ofShipmentV1: isSet.exactOptional(),
        due: dueSchema.exactOptional(),
        lease: leaseSchema.exactOptional(),
      }),
    ),
);
