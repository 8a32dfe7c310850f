import type { Instant } from "../../time.ts";
import type { KeyResponses } from "../model/key-responses.ts";
import type { MailingAddress, Recipient, ShipmentOrder } from "../model/request.ts";

/** The keys of one model in an order. */
export interface OrderedItem {
  readonly productId: number;
  readonly inventoryProductId: number;
  readonly customizationId?: string | undefined;
  readonly keyName?: string | undefined;
  /** One a physical key: what it is to be programmed with (decision C10). */
  readonly keys: readonly {
    readonly pinRequest?: string | undefined;
    readonly credentialRequests: readonly string[];
  }[];
}

/** A shipment to be ordered, all defaults in place. */
export interface DeliveryOrder extends ShipmentOrder {
  readonly customerReference: string;
  readonly recipient: Omit<Recipient, "externalId">;
  readonly items: readonly OrderedItem[];
}

/** A shipment as the delivery service tells it; what it left out or left blank is absent. */
export interface DeliveryShipment {
  readonly shipmentId: string;
  readonly requestedAt?: Instant | undefined;
  readonly customerReference?: string | undefined;
  readonly state: { readonly id: number; readonly message?: string | undefined };
  readonly recipient: Partial<Blankable<DeliveryOrder["recipient"]>>;
  readonly mailingAddress: Partial<Blankable<MailingAddress>>;
  readonly items: readonly {
    readonly productId?: number | undefined;
    readonly inventoryProductId?: number | undefined;
    readonly quantity: number;
    /** In the order of the keys ordered; empty until they are programmed. */
    readonly keys: readonly KeyResponses[];
  }[];
}

type Blankable<T> = { readonly [K in keyof T]: T[K] | undefined };

/** The body of docs/peers/delivery.md; blank optional members are left out. */
export function shipmentBody(order: DeliveryOrder): object {
  const { recipient, mailingAddress: address } = order;
  return {
    delivery_type: order.deliveryType,
    reseller_organization_id: filled(order.resellerOrganizationId),
    customer_reference: order.customerReference,
    address_validation_bypass: order.addressValidationBypass,
    recipient: {
      recipient_company: filled(recipient.company),
      recipient_email: recipient.email,
      recipient_firstname: filled(recipient.firstName),
      recipient_lastname: filled(recipient.lastName),
      recipient_telephone: recipient.telephone,
    },
    mailing_address: {
      street_line1: address.streetLine1,
      street_line2: filled(address.streetLine2),
      city: address.city,
      region: filled(address.region),
      postal_code: address.postalCode,
      country_code_2: address.countryCode,
    },
    shipment_items: order.items.map(item => ({
      product_id: item.productId,
      inventory_product_id: item.inventoryProductId,
      product_quantity: item.keys.length,
      customization_id: filled(item.customizationId),
      fc_additional_data: filled(item.keyName) === undefined ? undefined : { key_name: item.keyName },
      product_customizations: item.keys.map(key => ({
        fido_pin_request: key.pinRequest,
        fido_credential_requests: key.credentialRequests,
      })),
    })),
  };
}

/** Blank is as if absent, both ways. */
export const filled = (text: string | undefined) => (text === undefined || text.trim() === "" ? undefined : text);
