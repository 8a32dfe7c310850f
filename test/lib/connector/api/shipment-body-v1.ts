import { newUser } from "../../../support/connector/test-connector.ts";

/** A version 1 shipment create body for a new user, with the PIN to `to`. */
export function shipmentBodyV1(to = newUser(), quantity = 1) {
  return {
    user_id: newUser(),
    pin_request: { type: "generate", length: 6 },
    delivery_shipment_request: {
      delivery_type: 1,
      address_validation_bypass: false,
      recipient: {
        recipient_company: "",
        recipient_email: to,
        recipient_firstname: "Ada",
        recipient_lastname: "Lovelace",
        recipient_telephone: "+15550100",
      },
      mailing_address: {
        street_line1: "12 Analytical Way",
        street_line2: "",
        city: "Dedham",
        region: "MA",
        postal_code: "02026",
        country_code_2: "US",
      },
      shipment_items: [
        {
          product_id: 1,
          inventory_product_id: 15,
          product_quantity: quantity,
          fc_additional_data: { key_name: "Desk" },
        },
      ],
    },
  };
}
