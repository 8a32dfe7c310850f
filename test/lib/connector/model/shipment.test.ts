import { describe, expect, test } from "vitest";
import { afterReport, deliveryStateOf } from "../../../../lib/connector/model/shipment.ts";

const [early, late] = ["2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"];
const known = {
  id: "ship-1",
  stateId: 103,
  shippedAt: early,
  tracking: { number: "1", link: "https://carrier.example/1" },
  message: "Shipped",
};

describe("a shipment after a report", () => {
  test.each([
    ["no tracking", undefined, known.tracking],
    ["the same number", { number: "1" }, known.tracking],
    ["a link alone", { link: "https://other.example/1" }, { number: "1", link: "https://other.example/1" }],
    ["another number", { number: "2" }, { number: "2" }],
  ])("with %s keeps what is known of the same parcel", (_, tracking, expected) => {
    expect(afterReport(known, { state: { id: 103 }, tracking }, late).tracking).toEqual(expected);
  });

  test("has the time at which its present end was first reported", () => {
    const lost = afterReport(known, { state: { id: 105, message: "Lost" } }, early);
    expect(lost).toMatchObject({ stateId: 105, message: "Lost", shippedAt: early, endedAt: early });
    expect(afterReport(lost, { state: { id: 105 } }, late)).toMatchObject({ endedAt: early });
    expect(afterReport(lost, { state: { id: 104 } }, late)).toMatchObject({ endedAt: late });
    const found = afterReport(lost, { state: { id: 103 } }, late);
    expect(found.endedAt).toBeUndefined();
    expect([lost, found].map(deliveryStateOf)).toEqual(["lost", "in_transit"]);
  });
});
