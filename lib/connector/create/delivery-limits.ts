import type { RequestDraft } from "../model/draft.ts";

interface DeliveryLimitViolation {
  readonly code: "validation_error";
  readonly message: string;
}

/** Maximum characters that the delivery service accepts, in the order in which it checks them (C5). */
const maxLengths = {
  firstName: 15,
  lastName: 20,
  company: 20,
  email: 80,
  streetLine: 60,
  city: 60,
  customerReference: 50,
};

/**
 * Returns the first limit of the delivery service that a request exceeds, with the code that the service would return. Returns undefined
 * if it exceeds none, or has no shipment. The message names fields in words, because both API versions show it.
 */
export function deliveryLimitViolation({
  recipient,
  shipment,
}: Pick<RequestDraft, "recipient" | "shipment">): DeliveryLimitViolation | undefined {
  if (shipment === undefined) return undefined;
  const { mailingAddress } = shipment;
  return (
    tooLong("first name", recipient.firstName, maxLengths.firstName) ??
    tooLong("last name", recipient.lastName, maxLengths.lastName) ??
    tooLong("company", recipient.company, maxLengths.company) ??
    tooLong("email", recipient.email, maxLengths.email) ??
    tooLong("first street line", mailingAddress.streetLine1, maxLengths.streetLine) ??
    tooLong("second street line", mailingAddress.streetLine2, maxLengths.streetLine) ??
    tooLong("city", mailingAddress.city, maxLengths.city) ??
    tooLong("customer reference", shipment.customerReference, maxLengths.customerReference)
  );
}

function tooLong(name: string, value: string | undefined, maxLength: number): DeliveryLimitViolation | undefined {
  // Counts code points, so that a letter outside the Basic Multilingual Plane counts as one character.
  const length = [...(value ?? "")].length;
  if (length <= maxLength) return undefined;
  return {
    code: "validation_error",
    message: `The ${name} must have at most ${maxLength} characters, not ${length}.`,
  };
}
