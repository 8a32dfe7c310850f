import { describe, expect, test } from "vitest";
import { createShipmentBodyV1 } from "../../../../lib/connector/api/v1-shipment.ts";
import type { LoadedRequest } from "../../../../lib/connector/model/loaded-request.ts";
import type { DeliveryShipment } from "../../../../lib/connector/peers/delivery-shipment.ts";
import { matchesOrder } from "../../../../lib/connector/recovery/unknown-order.ts";
import { altered, type Body, received } from "../api/bodies.ts";
import { shipmentBodyV1 } from "../api/shipment-body-v1.ts";

/** An order of two items: two security keys of one model, and one of another. */
function orderOfTwoItems(): Body {
  const body = shipmentBodyV1("ada@example.com", 2);
  const [item] = body.delivery_shipment_request.shipment_items;
  const other = { ...item, product_id: 2, product_quantity: 1 };
  return altered(body, { "delivery_shipment_request.shipment_items": [item, other] });
}

function loaded(body: Body): LoadedRequest {
  const id = "5c5dd8d4-6e8b-4a6c-8c1c-0d6f5d1f7d11";
  return { ...received(id, createShipmentBodyV1.parse(body)), etags: new Map() };
}

/** The shipment that the delivery service returns for the order. */
const shipment: DeliveryShipment = {
  shipmentId: "one",
  state: { id: 101 },
  recipient: {
    recipient_email: "ada@example.com",
    recipient_firstname: "Ada",
    recipient_lastname: "Lovelace",
    recipient_telephone: "+15550100",
  },
  mailingAddress: {
    street_line1: "12 Analytical Way",
    city: "Dedham",
    region: "MA",
    postal_code: "02026",
    country_code_2: "US",
  },
  items: [
    { productId: 1, inventoryProductId: 15, quantity: 2, keys: [] },
    { productId: 2, inventoryProductId: 15, quantity: 1, keys: [] },
  ],
};

const matches = (values: Readonly<Record<string, unknown>> = {}) =>
  matchesOrder(loaded(orderOfTwoItems()), altered(shipment, values) as DeliveryShipment);

describe("a shipment of the delivery service", () => {
  test("matches the order with the same recipient, address and items", () => {
    expect(matches()).toBe(true);
  });

  test("matches where only letter case and outer spaces differ, or a blank field is absent", () => {
    expect(matches({ "recipient.recipient_firstname": " ADA ", "recipient.recipient_company": " " })).toBe(true);
  });

  test.each([
    ["email", { "recipient.recipient_email": "other@example.com" }],
    ["first name", { "recipient.recipient_firstname": "Ida" }],
    ["last name", { "recipient.recipient_lastname": "Byron" }],
    ["company", { "recipient.recipient_company": "Analytical Engines" }],
    ["telephone", { "recipient.recipient_telephone": "+15550199" }],
    ["street", { "mailingAddress.street_line1": "13 Analytical Way" }],
    ["second street line", { "mailingAddress.street_line2": "Floor 2" }],
    ["city", { "mailingAddress.city": "Boston" }],
    ["region", { "mailingAddress.region": undefined }],
    ["postal code", { "mailingAddress.postal_code": "02027" }],
    ["country", { "mailingAddress.country_code_2": "CA" }],
    ["product", { "items[1].productId": 3 }],
    ["subscription", { "items[1].inventoryProductId": 16 }],
    ["quantity", { "items[0].quantity": 1 }],
    ["order of items", { items: shipment.items.toReversed() }],
  ])("does not match with another %s", (_, values) => {
    expect(matches(values)).toBe(false);
  });

  test("does not match with an item more or less", () => {
    expect(matches({ items: [...shipment.items, shipment.items[0]] })).toBe(false);
    expect(matches({ items: shipment.items.slice(0, 1) })).toBe(false);
  });

  test("does not match a request without a shipment", () => {
    const order = loaded(orderOfTwoItems());
    const { shipment: _, ...request } = order.request;
    expect(matchesOrder({ ...order, request }, shipment)).toBe(false);
  });
});
