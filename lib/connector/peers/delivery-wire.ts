import * as z from "zod";
import { anyResponse } from "../../platform/call-peer.ts";
import type { RequestValues } from "../model/loaded-request.ts";
import type { CredentialRequest, ShipmentOrder } from "../model/request.ts";
import { referenceOf, shippedItems } from "../model/shipment.ts";
import type { EncryptedRequests } from "./exchange-messages.ts";

/** A request whose shipment is ordered, with the encrypted requests of its security keys. */
export interface DeliveryOrder extends RequestValues {
  readonly encrypted: EncryptedRequests;
}

/** Returns the body of a create (docs/peers/delivery.md), without blank optional members. Throws without a shipment. */
export function shipmentBody({ request, keys, encrypted }: DeliveryOrder): object {
  const { shipment } = request;
  if (shipment === undefined) throw new Error("a request without a shipment is not ordered");
  return {
    delivery_type: shipment.deliveryType,
    reseller_organization_id: blankToUndefined(shipment.resellerOrganizationId),
    customer_reference: referenceOf(request),
    address_validation_bypass: shipment.addressValidationBypass,
    recipient: recipientBody(request.recipient),
    mailing_address: addressBody(shipment.mailingAddress),
    shipment_items: shippedItems(keys).map(item => {
      const { productId, inventoryProductId, customizationId, name = "" } = item[0] ?? {};
      return {
        product_id: productId,
        inventory_product_id: inventoryProductId,
        product_quantity: item.length,
        customization_id: blankToUndefined(customizationId),
        fc_additional_data: name.trim() === "" ? undefined : { key_name: name },
        product_customizations: item.map(({ id }) => ({
          fido_pin_request: encrypted.get(id)?.pinRequest,
          fido_credential_requests: encrypted.get(id)?.credentialRequests ?? [],
        })),
      };
    }),
  };
}

export const recipientBody = (recipient: CredentialRequest["recipient"]) => ({
  recipient_company: blankToUndefined(recipient.company),
  recipient_email: recipient.email,
  recipient_firstname: blankToUndefined(recipient.firstName),
  recipient_lastname: blankToUndefined(recipient.lastName),
  recipient_telephone: recipient.telephone,
});

export const addressBody = (address: ShipmentOrder["mailingAddress"]) => ({
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
const errorObject = z.lazy(() => z.object({ code: z.string(), message: z.string().nullish() }));

/** Accepts an empty or a JSON body of a 2xx response, except the error object, which a gateway may pass on with 200. */
export const noErrorObject = anyResponse.refine(body => !errorObject.safeParse(body).success);

/** Returns the code and the text of an error object; both are undefined for any other body. */
export function errorOf(body: unknown): { code?: string | undefined; detail?: string | null | undefined } {
  const { code, message } = errorObject.safeParse(body).data ?? {};
  return { code, detail: message };
}
