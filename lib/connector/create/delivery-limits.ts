import type { RequestDraft } from "../model/draft.ts";

interface DeliveryLimitViolation {
  readonly code: "validation_error";
  readonly message: string;
  /** The field in a create body of version 2. */
  readonly path: string;
}

type Ordered = Pick<RequestDraft, "recipient"> & Required<Pick<RequestDraft, "shipment">>;

/** Maximum characters that the delivery service accepts, in the order in which it checks them (C5): name, limit, field, value. */
const limits: readonly (readonly [string, number, string, (of: Ordered) => string | undefined])[] = [
  ["first name", 15, "recipient.first_name", ({ recipient }) => recipient.firstName],
  ["last name", 20, "recipient.last_name", ({ recipient }) => recipient.lastName],
  ["company", 20, "recipient.company", ({ recipient }) => recipient.company],
  ["email", 80, "recipient.email", ({ recipient }) => recipient.email],
  [
    "first street line",
    60,
    "shipment.mailing_address.street_line1",
    ({ shipment }) => shipment.mailingAddress.streetLine1,
  ],
  [
    "second street line",
    60,
    "shipment.mailing_address.street_line2",
    ({ shipment }) => shipment.mailingAddress.streetLine2,
  ],
  ["city", 60, "shipment.mailing_address.city", ({ shipment }) => shipment.mailingAddress.city],
  ["customer reference", 50, "shipment.customer_reference", ({ shipment }) => shipment.customerReference],
];

/**
 * Returns every limit of the delivery service that a request exceeds, with the code that the service would return; none if the request has
 * no shipment. The message names fields in words, because both API versions show it.
 */
export const deliveryLimitViolations = ({
  recipient,
  shipment,
}: Pick<RequestDraft, "recipient" | "shipment">): readonly DeliveryLimitViolation[] =>
  limits.flatMap(([name, maxLength, path, textOf]) => {
    // Counts code points, so that a letter outside the Basic Multilingual Plane counts as one character.
    const length = [...((shipment && textOf({ recipient, shipment })) ?? "")].length;
    const message = `The ${name} must have at most ${maxLength} characters, not ${length}.`;
    return length > maxLength ? [{ code: "validation_error" as const, message, path }] : [];
  });
