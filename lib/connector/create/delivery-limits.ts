import type { RequestDraft } from "../model/draft.ts";

interface DeliveryLimitViolation {
  readonly code: "validation_error";
  readonly message: string;
}

/** Most characters that the delivery service takes, in the order in which it looks (decision C5). */
const limits = { firstName: 15, lastName: 20, company: 20, email: 80, streetLine: 60, city: 60, customerReference: 50 };

/**
 * The first of the delivery service's own limits that a request breaks, worded as that service would for any version's names;
 * undefined when there is none, or no shipment (decision C5).
 */
export function deliveryLimitViolation({
  recipient,
  shipment,
}: Pick<RequestDraft, "recipient" | "shipment">): DeliveryLimitViolation | undefined {
  if (shipment === undefined) return undefined;
  const { mailingAddress } = shipment;
  return (
    tooLong("first name", recipient.firstName, limits.firstName) ??
    tooLong("last name", recipient.lastName, limits.lastName) ??
    tooLong("company", recipient.company, limits.company) ??
    tooLong("email", recipient.email, limits.email) ??
    tooLong("first street line", mailingAddress.streetLine1, limits.streetLine) ??
    tooLong("second street line", mailingAddress.streetLine2, limits.streetLine) ??
    tooLong("city", mailingAddress.city, limits.city) ??
    tooLong("customer reference", shipment.customerReference, limits.customerReference)
  );
}

function tooLong(name: string, value: string | undefined, most: number): DeliveryLimitViolation | undefined {
  // Code points: a letter outside the basic plane is one character to the person who wrote it.
  const length = [...(value ?? "")].length;
  if (length <= most) return undefined;
  return { code: "validation_error", message: `The ${name} must have at most ${most} characters, not ${length}.` };
}
