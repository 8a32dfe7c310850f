import * as z from "zod";
import { omitUndefined } from "../../platform/collections.ts";
import type { RequestDraft } from "../create/draft.ts";
import type { RequestValues } from "../model/loaded-request.ts";
import { isOnSite, shipmentKeyId } from "../model/security-key.ts";
import { shipmentRecordOf, shipmentStateOf, shipmentStates } from "../model/shipment.ts";
import { addressFields, countryCode, withRegionRule } from "./address.ts";
import { draftOf } from "./body-to-draft.ts";
import {
  email,
  emailsTo,
  evenIfInvalid,
  type Fields,
  keyName,
  line,
  listOf,
  namesOrCompany,
  optional,
  optionalLine,
  pinLength,
  requestLimits,
  telephone,
  userId,
} from "./field-rules.ts";

const recipient = z.lazy(() =>
  z
    .object({
      recipient_company: optionalLine().describe("Company, in addition to or instead of a name."),
      recipient_email: email().describe("Takes the PIN where `emails_to` is absent."),
      recipient_firstname: line().describe("May be blank where the company is given."),
      recipient_lastname: line().describe("May be blank where the company is given."),
      recipient_telephone: telephone().describe("For the carrier only."),
    })
    .superRefine(namesOrCompany(["recipient_firstname", "recipient_lastname"], "recipient_company"), evenIfInvalid),
);

const mailingAddress = z.lazy(() =>
  withRegionRule(
    z.object({ ...addressFields(), country_code_2: countryCode().describe("ISO 3166-1 alpha-2, in any case.") }),
    "country_code_2",
  ),
);

const productId = () => z.int().min(1).max(999_999_999);

const shipmentItem = z.lazy(() =>
  z.object({
    product_id: productId().describe("Product model of the key."),
    inventory_product_id: productId().describe("Subscription that the key is taken from."),
    product_quantity: z
      .int()
      .min(1)
      .max(requestLimits.keys)
      .describe("Keys of this kind; each gets a credential and a PIN of its own."),
    customization_id: optionalLine().describe("Customization of the key."),
    fc_additional_data: optional(
      z.object({ key_name: keyName().describe("Custom name, shown as `<name>: <serial>`.") }),
    ),
  }),
);

const bodyV1 = z.lazy(() =>
  z
    .object({
      user_id: userId().describe("Object id or user principal name of the user at the IdP."),
      pin_request: z.object({ type: z.literal("generate"), length: pinLength() }).describe("The PIN to generate."),
      enrollment_contacts: optional(
        z.object({
          emails_to: optional(emailsTo()).describe("Addresses that receive the PIN."),
        }),
      ),
      delivery_shipment_request: z.object({
        reseller_organization_id: optionalLine().describe(
          "Organization of the channel partner in the delivery service.",
        ),
        delivery_type: z.literal([1, 2]).meta({ type: "integer", description: "1 standard, 2 expedited." }),
        address_validation_bypass: z.boolean().describe("Ship without validation of the address."),
        recipient,
        mailing_address: mailingAddress,
        shipment_items: listOf(shipmentItem, requestLimits.keys).describe("Keys to program and ship."),
      }),
    })
    .superRefine(({ delivery_shipment_request }: Fields, context) => {
      if (quantity(delivery_shipment_request) <= requestLimits.keys) return;
      const message = `makes more than ${requestLimits.keys} keys, quantities counted`;
      context.addIssue({ code: "custom", path: ["delivery_shipment_request", "shipment_items"], message });
    }, evenIfInvalid),
);

/** Returns the sum of the quantities. Ignores invalid ones and those over the limit: each is reported for itself. */
function quantity(shipment: unknown): number {
  const items = (shipment as { shipment_items?: unknown } | null | undefined)?.shipment_items;
  const counts = Array.isArray(items)
    ? items.map(item => (item as { product_quantity?: unknown })?.product_quantity)
    : [];
  const isValid = (count: unknown) => typeof count === "number" && count <= requestLimits.keys;
  return counts.reduce<number>((sum, count) => sum + (isValid(count) ? Number(count) : 0), 0);
}

/** The body of a version 1 shipment create. Parses to a draft (specification section 2, decisions C5, C11a). */
export const createShipmentBodyV1 = bodyV1
  .transform(({ user_id, pin_request, enrollment_contacts, delivery_shipment_request }): RequestDraft => {
    const { recipient, mailing_address, shipment_items, ...shipment } = delivery_shipment_request;
    const { country_code_2: country_code, ...address } = mailing_address;
    const emails_to = enrollment_contacts?.emails_to;
    const body = {
      recipient: {
        email: recipient.recipient_email,
        first_name: recipient.recipient_firstname,
        last_name: recipient.recipient_lastname,
        company: recipient.recipient_company,
        telephone: recipient.recipient_telephone,
      },
      enrollment_contacts: { emails_to: emails_to ?? [recipient.recipient_email] },
      shipment: {
        ...shipment,
        mailing_address: { ...address, country_code },
        shipment_items: shipment_items.map(item => ({
          name: item.fc_additional_data?.key_name,
          customization_id: item.customization_id,
          product_id: String(item.product_id),
          inventory_product_id: String(item.inventory_product_id),
          pin_request,
          credentials: [{ user_id }],
        })),
      },
    };
    // Callers of version 1 choose no IdP and no relying party, so a problem with either is reported for `user_id`.
    const pathOf: RequestDraft["pathOf"] = location => {
      if (location.field === "pinLength") return "pin_request.length";
      if (location.field !== "emailTo") return "user_id";
      return emails_to === undefined
        ? "delivery_shipment_request.recipient.recipient_email"
        : `enrollment_contacts.emails_to[${location.index}]`;
    };
    const draft = draftOf(body, { origin: "v1_shipment", pathOf });
    const keys = draft.keys.flatMap((key, item) =>
      Array.from({ length: shipment_items[item]?.product_quantity ?? 0 }, (_, count) => ({
        ...key,
        id: shipmentKeyId(item, count),
      })),
    );
    return { ...draft, keys };
  })
  .meta({ id: "ShipmentOrderV1", description: "Keys for one user, programmed and shipped." });

/** Version 1 response to a shipment create (specification section 4). */
export const createdShipmentV1 = z.lazy(() =>
  z
    .object({ data: z.object({ shipment_id: z.string().describe("The delivery service's id.") }) })
    .meta({ id: "CreatedShipmentV1" }),
);

/** Version 1 shipment status (specification section 2, decision C9). */
export const shipmentStatusV1 = z.lazy(() =>
  z
    .object({
      shipment_id: z.string().describe("The delivery service's id."),
      shipment_state: z
        .enum([...shipmentStates, "processing"])
        .describe("`processing` while a run works on the shipment at this moment."),
      error_kind: z.literal("GENERAL").optional().describe("Only after a processing error."),
      error_message: z.string().optional().describe("Detail from the delivery service or the IdP."),
    })
    .meta({ id: "ShipmentV1" }),
);

/**
 * The version 1 status of a request's shipment, whichever version made it (decision C4). It is read from the request's
 * rows, not from the shipment's record, which is written after them.
 */
export function readShipmentV1(
  shipmentId: string,
  values: RequestValues,
  now: string,
): z.output<typeof shipmentStatusV1> {
  const { request, keys } = values;
  const state = shipmentStateOf(keys);
  const { errorMessage } = shipmentRecordOf(values);
  const hasLease = [request, ...keys.filter(key => !isOnSite(key))].some(
    ({ lease }) => lease !== undefined && lease.until > now,
  );
  return omitUndefined({
    shipment_id: shipmentId,
    shipment_state: state === "ongoing" && hasLease ? ("processing" as const) : state,
    error_kind: errorMessage === undefined ? undefined : ("GENERAL" as const),
    error_message: errorMessage,
  });
}
