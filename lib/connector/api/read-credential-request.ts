import * as z from "zod";
import { type Caller, hasRole } from "../../platform/caller.ts";
import { type EachFieldOf, omitUndefined } from "../../platform/collections.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import type { CredentialRequest, Shipment, ShipmentOrder } from "../model/request.ts";
import { externalIdOf } from "../model/request-lists.ts";
import { replacesFields } from "../model/revocation.ts";
import type { SecurityKey } from "../model/security-key.ts";
import { deliveryProblem, deliveryStateOf, deliveryStates } from "../model/shipment.ts";
import { isTerminal, requestStates } from "../model/states.ts";
import { replacesV2 } from "./create-body.ts";
import { readSecurityKey, securityKeyV2 } from "./read-security-key.ts";

const mailingAddressV2 = z.lazy(() =>
  z
    .object({
      street_line1: z.string().describe("Street and number."),
      street_line2: z.string().optional().describe("Further line of the street address."),
      postal_code: z.string().describe("Postal code, or a space."),
      city: z.string().describe("City."),
      region: z.string().optional().describe("Two-letter postal code of the region."),
      country_code: z.string().describe("ISO 3166-1 alpha-2."),
    })
    .meta({ id: "MailingAddress" }),
);

const fields = () => ({
  credential_request_id: z.string().describe("Names the request."),
  external_id: z.string().optional().describe("The recipient's identifier, where the create named one."),
  state: z.enum(requestStates).describe("`received` until all orders are placed, `started` until every key has ended."),
  error_message: z.string().optional().describe("Reason for the current state."),
  replaces: replacesV2.optional().describe("The key that the keys of the request replace."),
  authenticators: z.array(securityKeyV2).optional().describe("Keys or passkeys that are programmed on site."),
  shipment: z
    .object({
      shipment_id: z.string().optional().describe("The delivery service's id. Absent until it has taken the order."),
      customer_reference: z.string().optional().describe("The customer's own reference from the create."),
      tracking: z
        .object({
          number: z.string().optional().describe("Tracking number."),
          link: z.url().optional().describe("The carrier's page about the parcel."),
        })
        .optional()
        .describe("How the carrier names the parcel, once the delivery service reports it."),
      delivery: z
        .object({
          state: z
            .enum(deliveryStates)
            .describe(
              "`exception`: the carrier could not deliver the parcel. `unknown`: its end was not reported in 30 days, " +
                "or the delivery service does not know the shipment any more.",
            ),
          error_message: z.string().optional().describe("The delivery service's message of a `lost` or `exception`."),
          shipped_at: z.iso.datetime().describe("When the connector first read that the parcel was shipped."),
          ended_at: z.iso
            .datetime()
            .optional()
            .describe("When the connector first read the state. Absent `in_transit`."),
        })
        .optional()
        .describe("Where the parcel is, once it is shipped. It changes also after the request has ended."),
      shipment_items: z.array(securityKeyV2).describe("Keys that are programmed and shipped."),
      mailing_address: mailingAddressV2.describe("Where the keys go."),
    })
    .optional()
    .describe("Present where keys are shipped."),
});

/** Version 2 read model of a credential request (specification section 2). */
export const credentialRequestV2 = z.lazy(() =>
  z
    .object({
      ...fields(),
      enrollment_contacts: z
        .object({ emails_to: z.array(z.string()).describe("Addresses.") })
        .optional()
        .describe("Who gets the PIN emails. Absent without the role `support`, which may resend them."),
    })
    .meta({ id: "CredentialRequest" }),
);

/** An entry of the list of credential requests (decision C19). */
export const listedV2 = z.lazy(() =>
  z
    .object({ ...fields(), created_at: z.iso.datetime().describe("When the request was created.") })
    .meta({ id: "ListedCredentialRequest" }),
);

const beingCancelled = "The request is being cancelled; a job continues a cancel that was interrupted.";

/** Returns the reason for the state of a request. A cancel that stopped is named: a job continues it (C19). */
function messageOf({ cancelling, errorMessage, state, delivery }: CredentialRequest): string | undefined {
  if (isTerminal(state)) return errorMessage;
  const reason = errorMessage ?? deliveryProblem(delivery?.shipment ?? {});
  if (cancelling === undefined) return reason;
  return reason === undefined ? beingCancelled : `${beingCancelled} ${reason}`;
}

/**
 * The read model of a request, whichever version made it (decision C4). Beyond the specification are `error_message`
 * beside `state`, by which a caller sees why a request stays `received` (decision C6), and what people look for it by:
 * `external_id`, `customer_reference`, `tracking` and `serial_number`; and where the parcel is, `delivery`.
 * @param keys in the request's order
 */
export function readV2(request: CredentialRequest, keys: readonly SecurityKey[]): z.output<typeof credentialRequestV2> {
  const { recipient } = request;
  const of = (provisioning: SecurityKey["provisioning"]) =>
    keys.filter(key => key.provisioning === provisioning).map(readSecurityKey);
  const authenticators = of("on_site");
  const shipment = request.delivery?.shipment;
  return omitUndefined({
    credential_request_id: request.id,
    external_id: externalIdOf(recipient),
    state: request.state,
    error_message: messageOf(request),
    replaces: request.replaces && replacesFields(request.replaces),
    authenticators: authenticators.length === 0 ? undefined : authenticators,
    shipment:
      request.shipment &&
      omitUndefined({
        shipment_id: shipment?.id,
        customer_reference: request.shipment.customerReference,
        tracking: shipment?.tentative === true ? undefined : shipment?.tracking,
        delivery: readDelivery(shipment),
        shipment_items: of("shipped"),
        mailing_address: readAddress(request.shipment.mailingAddress),
      }),
  });
}

const readAddress = (address: ShipmentOrder["mailingAddress"]) =>
  omitUndefined<EachFieldOf<z.output<typeof mailingAddressV2>>>({
    street_line1: address.streetLine1,
    street_line2: address.streetLine2,
    postal_code: address.postalCode,
    city: address.city,
    region: address.region,
    country_code: address.countryCode,
  });

function readDelivery(shipment: Shipment | undefined) {
  const state = deliveryStateOf(shipment);
  if (shipment?.shippedAt === undefined || state === undefined) return undefined;
  const { shippedAt: shipped_at, endedAt: ended_at } = shipment;
  return omitUndefined({ state, error_message: deliveryProblem(shipment), shipped_at, ended_at });
}

/** Returns a request as a caller may read it: addresses of PIN emails only with the role that may resend them. */
export function readRequest(loaded: LoadedRequest, caller: Caller): z.output<typeof credentialRequestV2> {
  const { request, keys } = loaded;
  const { emailsTo } = request;
  const isShown = hasRole(caller, "support") && emailsTo.length > 0;
  return { ...readV2(request, keys), ...(isShown && { enrollment_contacts: { emails_to: [...emailsTo] } }) };
}

/** Returns a request as an entry of the list. */
export function readListed(loaded: LoadedRequest): z.output<typeof listedV2> {
  const { request, keys } = loaded;
  return { ...readV2(request, keys), created_at: request.createdAt };
}

/** Version 2 answer to a create (specification section 4). */
export const createdV2 = z.lazy(() =>
  z.object({
    data: z
      .object({
        credential_request_id: z.string().describe("Names the request."),
        shipment_id: z.string().optional().describe("The delivery service's id, if keys are shipped."),
      })
      .meta({ id: "CreatedCredentialRequest" }),
  }),
);
