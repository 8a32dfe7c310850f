import * as z from "zod";
import { authenticatorTypes, pinDeliveryMethods, pinEntryMethods } from "../model/security-key.ts";
import { replacementReasons, revokeTimes } from "../model/states.ts";
import { addressFields, countryCode, withRegionRule } from "./address.ts";
import {
  defaultPinLength,
  digits,
  email,
  emailsTo,
  evenIfInvalid,
  type Fields,
  keyName,
  line,
  listOf,
  namesOrCompany,
  nonEmptyLine,
  optional,
  optionalLine,
  pinLength,
  requestLimits,
  telephone,
  userId,
  withDefault,
} from "./field-rules.ts";

const recipient = z.lazy(() =>
  z
    .object({
      email: email().describe("Takes the delivery notifications of a shipment."),
      first_name: line().describe("May be blank where `company` is given."),
      last_name: line().describe("May be blank where `company` is given."),
      company: optionalLine().describe("Company, in addition to or instead of a name."),
      telephone: telephone().describe("For the carrier only: digits, `+`, `(` and `)`; dashes are accepted."),
      external_id: optionalLine().describe("Unique identifier of the recipient. By default the email."),
    })
    .superRefine(namesOrCompany(["first_name", "last_name"], "company"), evenIfInvalid)
    .meta({ id: "Recipient" }),
);

const credential = z.lazy(() =>
  z
    .object({
      idp_id: optional(nonEmptyLine(64)).describe("The IdP. By default that of the deployment."),
      relying_party_id: optional(nonEmptyLine()).describe("By default that of the IdP."),
      user_id: userId().describe(
        "The user at the relying party, as the IdP knows it: principal name, object id or username.",
      ),
    })
    .meta({ id: "CredentialOrder", description: "One credential: a user at an identity provider." }),
);

const credentials = listOf(credential, requestLimits.credentialsPerKey).describe(
  "In the order in which the key gets them, which decides what sign-in offers first.",
);

const shipmentItem = z.lazy(() =>
  z
    .object({
      name: keyName().describe("Custom name, shown as `<name>: <serial>`. By default `Pre-Reg Key`."),
      customization_id: optionalLine().describe("Customization of the key."),
      product_id: digits().describe("Product model of the key."),
      inventory_product_id: digits().describe("Subscription that the key is taken from."),
      pin_request: optional(
        z.object({
          length: withDefault(pinLength(), defaultPinLength).describe(
            "PIN characters to generate; a key whose own minimum is longer gets that.",
          ),
          type: withDefault(z.literal("generate"), "generate").describe("How the PIN comes about."),
        }),
      ).describe("Asks for a PIN. Absent: the key has none."),
      credentials,
    })
    .meta({ id: "ShipmentItem", description: "One security key to program and ship." }),
);

const mailingAddress = z.lazy(() =>
  withRegionRule(
    z.object({ ...addressFields(), country_code: countryCode().describe("ISO 3166-1 alpha-2, in any case.") }),
    "country_code",
  ).meta({ id: "ShippingAddress" }),
);

const shipment = z.lazy(() =>
  z
    .object({
      delivery_type: withDefault(z.literal([1, 2]), 1).meta({
        type: "integer",
        description: "1 standard, 2 expedited.",
      }),
      reseller_organization_id: optionalLine().describe("Organization of the channel partner in the delivery service."),
      customer_reference: optionalLine().describe("The customer's own reference."),
      address_validation_bypass: optional(z.boolean()).describe("Ship without validation of the address."),
      mailing_address: mailingAddress.describe("Where the keys go."),
      shipment_items: listOf(shipmentItem, requestLimits.keys).describe("Keys to program and ship."),
    })
    .meta({ id: "ShipmentOrder" }),
);

const authenticator = z.lazy(() =>
  z
    .object({
      name: keyName().describe("Custom name. By default `Pre-Reg Key`."),
      customization_id: optionalLine().describe("Customization of the key."),
      preferred_authenticator_type: withDefault(z.enum(authenticatorTypes), "hardware").describe(
        "A passkey on a physical key, or for example on a mobile device.",
      ),
      pin_request: optional(
        z.object({
          min_length: withDefault(pinLength(), defaultPinLength).describe("Least number of PIN characters."),
          entry_method: withDefault(z.enum(pinEntryMethods), "generated").describe(
            "Generated beforehand, or entered at the enrollment on site.",
          ),
          delivery_method: withDefault(z.enum(pinDeliveryMethods), "email").describe("How the PIN reaches its user."),
        }),
      ).describe("Asks for a PIN. Absent: the key has none."),
      credentials,
    })
    .meta({ id: "AuthenticatorOrder", description: "One security key or app passkey to program on site." }),
);

/** The rules of the whole request: it orders something, within the limits of all its lists together (C5). */
function checkRequestRules({ shipment, authenticators }: Fields, context: z.core.$RefinementCtx): void {
  const refuse = (path: (string | number)[], message: string) => context.addIssue({ code: "custom", path, message });
  if (shipment === undefined && authenticators === undefined)
    refuse(["shipment"], "is required where authenticators is absent");
  const items = listAt(shipment, "shipment_items");
  const onSite = listAt({ authenticators }, "authenticators");
  if (items.length + onSite.length > requestLimits.keys)
    refuse(
      ["authenticators"],
      `makes more than ${requestLimits.keys} keys, shipment items and authenticators together`,
    );
  let credentials = 0;
  for (const [index, key] of [...items, ...onSite].entries()) {
    credentials += listAt(key, "credentials").length;
    if (credentials <= requestLimits.credentials) continue;
    const path =
      index < items.length ? ["shipment", "shipment_items", index] : ["authenticators", index - items.length];
    refuse([...path, "credentials"], `makes more than ${requestLimits.credentials} credentials in the request`);
    return;
  }
}

function listAt(value: unknown, name: string): readonly unknown[] {
  const list = typeof value === "object" && value !== null ? (value as Fields)[name] : undefined;
  return Array.isArray(list) ? list : [];
}

/** The body of a version 2 create, by the names of the API; values are normalised (specification section 2, C5). */
export const bodyV2 = z.lazy(() =>
  z
    .object({
      recipient: recipient.describe("Who gets the keys."),
      enrollment_contacts: z
        .object({
          emails_to: emailsTo().describe("The PIN is sent here. Addresses must differ in more than letter case."),
        })
        .describe("Who receives the PIN email."),
      shipment: optional(shipment).describe("Keys that are programmed and shipped. Required without `authenticators`."),
      authenticators: optional(listOf(authenticator, requestLimits.keys)).describe(
        "Keys or passkeys that are programmed on site. Required without `shipment`.",
      ),
      replaces: optional(replacesV2).describe("A key that the keys of this request replace."),
    })
    .superRefine(checkRequestRules, evenIfInvalid),
);

export type BodyV2 = z.output<typeof bodyV2>;

/** The security key that a request replaces, in creates and reads. */
export const replacesV2 = z.lazy(() =>
  z
    .object({
      credential_request_id: z
        .guid()
        .toLowerCase()
        .describe("The request of the replaced key, also after its clean-up."),
      key_id: nonEmptyLine(64).describe("The replaced key: its `id` in the read model."),
      reason: z.enum(replacementReasons).describe("Why it is replaced."),
      revoke: z
        .enum(revokeTimes)
        .describe(
          "When its active credentials are revoked: `now`, once the order is placed; `when_active`, each once every new " +
            "credential of its user at the identity provider has ended and one is active, or 30 days after the order.",
        ),
    })
    .meta({ id: "Replacement", description: "The key that the keys of a request replace." }),
);
