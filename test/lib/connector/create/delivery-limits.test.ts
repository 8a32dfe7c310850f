import { describe, expect, it } from "vitest";
import { deliveryLimitViolations } from "../../../../lib/connector/create/delivery-limits.ts";
import type { CredentialRequest, ShipmentOrder } from "../../../../lib/connector/model/request.ts";

const long = (length: number) => "x".repeat(length);

function request(changes: {
  recipient?: Partial<CredentialRequest["recipient"]>;
  shipment?: Partial<ShipmentOrder>;
  address?: Partial<ShipmentOrder["mailingAddress"]>;
}) {
  return {
    recipient: {
      email: "ada@example.com",
      firstName: "Ada",
      lastName: "Lovelace",
      company: "",
      telephone: "1",
      externalId: "",
      ...changes.recipient,
    },
    shipment: {
      deliveryType: 1 as const,
      mailingAddress: {
        streetLine1: "1 Main St",
        postalCode: "02026",
        city: "Dedham",
        countryCode: "US",
        ...changes.address,
      },
      ...changes.shipment,
    },
  };
}

describe("the delivery service's own limits", () => {
  const limits: [string, number, (value: string) => Parameters<typeof request>[0]][] = [
    ["first name", 15, firstName => ({ recipient: { firstName } })],
    ["last name", 20, lastName => ({ recipient: { lastName } })],
    ["company", 20, company => ({ recipient: { company } })],
    ["email", 80, email => ({ recipient: { email } })],
    ["first street line", 60, streetLine1 => ({ address: { streetLine1 } })],
    ["second street line", 60, streetLine2 => ({ address: { streetLine2 } })],
    ["city", 60, city => ({ address: { city } })],
    ["customer reference", 50, customerReference => ({ shipment: { customerReference } })],
  ];

  it.each(limits)("%s: %i characters pass, one more is refused as the service would", (name, most, changes) => {
    expect(deliveryLimitViolations(request(changes(long(most))))).toEqual([]);
    expect(deliveryLimitViolations(request(changes(long(most + 1))))).toMatchObject([
      { code: "validation_error", message: `The ${name} must have at most ${most} characters, not ${most + 1}.` },
    ]);
  });

  it("count what people call characters, outside the basic plane too", () => {
    expect(deliveryLimitViolations(request({ recipient: { lastName: "𠮷".repeat(20) } }))).toEqual([]);
    expect(deliveryLimitViolations(request({ recipient: { lastName: "𠮷".repeat(21) } }))).toHaveLength(1);
  });

  it("give all that are broken, each with its field", () => {
    const recipient = { firstName: long(99), lastName: long(99), company: long(99) };
    const fields = ["recipient.first_name", "recipient.last_name", "recipient.company"];
    expect(deliveryLimitViolations(request({ recipient })).map(({ path }) => path)).toEqual(fields);
  });

  it("bind no request without a shipment", () => {
    const { recipient } = request({ recipient: { lastName: long(99) } });
    expect(deliveryLimitViolations({ recipient })).toEqual([]);
  });
});
