import { sampleRequest } from "../start/sample-request.ts";

const { shipment } = sampleRequest;

/** A version 2 create body with several keys, one of which holds two credentials. */
export const sampleOrder = {
  ...sampleRequest,
  shipment: {
    ...shipment,
    shipment_items: [
      ...shipment.shipment_items,
      {
        name: "Spare Key",
        product_id: "8",
        inventory_product_id: "15",
        pin_request: { length: 6 },
        credentials: [{ user_id: "ada@example.com" }, { user_id: "grace@example.com" }],
      },
    ],
  },
};
