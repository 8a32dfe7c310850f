/** A version 2 create body that the local system takes: one key, one credential, a PIN. */
export const sampleRequest = {
  recipient: {
    email: "ada@example.com",
    first_name: "Ada",
    last_name: "Lovelace",
    telephone: "+15550100",
  },
  enrollment_contacts: { emails_to: ["ada@example.com"] },
  shipment: {
    mailing_address: {
      street_line1: "12 Analytical Way",
      city: "Dedham",
      region: "MA",
      postal_code: "02026",
      country_code: "US",
    },
    shipment_items: [
      {
        name: "Ada Key",
        product_id: "1",
        inventory_product_id: "15",
        pin_request: { length: 6 },
        credentials: [{ user_id: "ada@example.com" }],
      },
    ],
  },
};
