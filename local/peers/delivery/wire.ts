import * as z from "zod";

/** The states of the delivery service (docs/peers/delivery.md) with their texts. */
export const SHIPMENT_STATES: Readonly<Record<number, string>> = {
  1: "Incomplete Shipping Request",
  6: "Incomplete",
  7: "Address is undeliverable or could not be understood",
  8: "Error: Processing Error, contact Support",
  9: "Error: DPL Match",
  99: "Error: Shipping error, contact Support",
  101: "Received",
  102: "In production",
  103: "Shipped",
  104: "Delivered",
  105: "Shipment Lost/Missing",
  106: "Delivery Exception",
};

const atMost = (length: number) => z.string().max(length, `must be at most ${length} characters`);
const required = (length: number) =>
  z.string().min(1, "is required").max(length, `must be at most ${length} characters`);

const recipient = z
  .strictObject({
    recipient_company: atMost(20).optional(),
    recipient_email: required(80),
    recipient_firstname: atMost(15).optional(),
    recipient_lastname: atMost(20).optional(),
    recipient_telephone: atMost(40).optional(),
  })
  .refine(
    value => Boolean(value.recipient_company) || Boolean(value.recipient_firstname && value.recipient_lastname),
    "needs a company or a name",
  );

const mailingAddress = z.strictObject({
  street_line1: required(60),
  street_line2: atMost(60).optional(),
  city: required(60),
  region: atMost(50).optional(),
  postal_code: required(50),
  country_code_2: z.string().regex(/^[A-Z]{2}$/, "must be a two-letter country code"),
});

const item = z
  .strictObject({
    product_id: z.int().positive(),
    inventory_product_id: z.int().positive(),
    product_quantity: z.int().positive(),
    customization_id: z.string().optional(),
    fc_additional_data: z.strictObject({ key_name: atMost(18).optional() }).optional(),
    product_customizations: z.array(
      z.strictObject({
        fido_pin_request: z.string().optional(),
        fido_credential_requests: z.array(z.string()).min(1),
      }),
    ),
  })
  .refine(
    value => value.product_customizations.length === value.product_quantity,
    "needs one product_customizations element a key",
  );

/** The body that creates a shipment. Unlike the real service, it must not have members that the contract does not name. */
export const shipmentBody = z.strictObject({
  delivery_type: z.union([z.literal(1), z.literal(2)]),
  reseller_organization_id: z.string().optional(),
  customer_reference: atMost(50).optional(),
  address_validation_bypass: z.boolean().optional(),
  recipient,
  mailing_address: mailingAddress,
  shipment_items: z.array(item).min(1),
});

export type ShipmentBody = z.output<typeof shipmentBody>;
