import * as z from "zod";
import { anyResponse } from "../../platform/call-peer.ts";
import type { CredentialRequest, ShipmentOrder } from "../model/request.ts";

/** The security keys of one model in an order. */
interface OrderedItem {
  readonly productId: number;
  readonly inventoryProductId: number;
  readonly customizationId?: string | undefined;
  readonly keyName?: string | undefined;
  /** One entry for each security key: the requests for its credentials and its PIN. */
  readonly keys: readonly {
    readonly pinRequest?: string | undefined;
    readonly credentialRequests: readonly string[];
  }[];
}

/** A shipment to order, with all defaults set. */
export interface DeliveryOrder extends ShipmentOrder {
  readonly customerReference: string;
  readonly recipient: Omit<CredentialRequest["recipient"], "externalId">;
  readonly items: readonly OrderedItem[];
}

/** Returns the body of a create (docs/peers/delivery.md), without blank optional members. */
export function shipmentBody(order: DeliveryOrder): object {
  return {
    delivery_type: order.deliveryType,
    reseller_organization_id: blankToUndefined(order.resellerOrganizationId),
    customer_reference: order.customerReference,
    address_validation_bypass: order.addressValidationBypass,
    recipient: recipientBody(order.recipient),
    mailing_address: addressBody(order.mailingAddress),
    shipment_items: order.items.map(item => ({
      product_id: item.productId,
      inventory_product_id: item.inventoryProductId,
      product_quantity: item.keys.length,
      customization_id: blankToUndefined(item.customizationId),
      fc_additional_data: blankToUndefined(item.keyName) === undefined ? undefined : { key_name: item.keyName },
      product_customizations: item.keys.map(key => ({
        fido_pin_request: key.pinRequest,
        fido_credential_requests: key.credentialRequests,
      })),
    })),
  };
}

export const recipientBody = (recipient: DeliveryOrder["recipient"]) => ({
  recipient_company: blankToUndefined(recipient.company),
  recipient_email: recipient.email,
  recipient_firstname: blankToUndefined(recipient.firstName),
  recipient_lastname: blankToUndefined(recipient.lastName),
  recipient_telephone: recipient.telephone,
});

export const addressBody = (address: DeliveryOrder["mailingAddress"]) => ({
  street_line1: address.streetLine1,
  street_line2: blankToUndefined(address.streetLine2),
  city: address.city,
  region: blankToUndefined(address.region),
  // A blank one is sent as it is: some countries have no postal codes.
  postal_code: address.postalCode,
  country_code_2: address.countryCode,
});

/** Returns undefined for blank text: in requests and responses it means the same as an absent member. */
export const blankToUndefined = (text: string | undefined) =>
  text === undefined || text.trim() === "" ? undefined : text;

/** A text or a number of a response as text. Absent if it is blank or cannot be read. */
export const someText = z.lazy(() =>
  z
    .union([z.string(), z.number().transform(String)])
    .transform(blankToUndefined)
    .optional()
    .catch(undefined),
);

/** The error object of the delivery service and of the pre-registration API. */
const errorObject = z.object({ code: z.string(), message: z.string().nullish() });

/** Accepts an empty or a JSON body of a 2xx response, except the error object, which a gateway may pass on with 200. */
export const noErrorObject = anyResponse.refine(body => !errorObject.safeParse(body).success);

/** Returns the code and the text of an error object; both are undefined for any other body. */
export function errorOf(body: unknown): { code?: string | undefined; detail?: string | null | undefined } {
  const { code, message } = errorObject.safeParse(body).data ?? {};
  return { code, detail: message };
}
