import * as fc from "fast-check";
import { receivedRequest } from "../../../../lib/connector/create/create-request.ts";
import type { RequestDraft } from "../../../../lib/connector/create/draft.ts";
import { fixedIntervals } from "../../../../lib/connector/model/intervals.ts";
import { withoutHiddenCharacters } from "../../../../lib/platform/text.ts";
import { instant } from "../../../../lib/platform/time.ts";

/** A JSON value that tests reach into by path. */
// biome-ignore lint/suspicious/noExplicitAny: a body under test may be anything
export type Body = any;

const one = <T>(...values: T[]) => fc.constantFrom(...values);

/** Text that arrives as it was sent: no control characters, no outer blanks. */
const text = (maxLength: number) =>
  fc
    .string({ unit: "grapheme", minLength: 1, maxLength })
    .filter(
      value =>
        value === withoutHiddenCharacters(value).trim() &&
        value !== "" &&
        value.length <= 255 &&
        !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(value),
    );

const keyName = fc
  .string({ unit: "grapheme-ascii", minLength: 1, maxLength: 18 })
  .filter(name => name === name.trim() && name !== "");
const email = fc.emailAddress();
const digits = fc.integer({ min: 0, max: 999_999_999 }).map(String);
const pinLength = fc.integer({ min: 4, max: 63 });

const credential = fc.record({ idp_id: text(10), relying_party_id: fc.domain(), user_id: text(20) });
const credentials = fc.array(credential, { minLength: 1, maxLength: 3 });

const item = fc.record({
  name: keyName,
  customization_id: text(10),
  product_id: digits,
  inventory_product_id: digits,
  pin_request: fc.record({ length: pinLength, type: fc.constant("generate") }),
  credentials,
});

const authenticator = fc.record({
  name: keyName,
  customization_id: text(10),
  preferred_authenticator_type: one("hardware", "software"),
  pin_request: fc.record({
    min_length: pinLength,
    entry_method: one("generated", "user_entered"),
    delivery_method: one("none", "app", "email"),
  }),
  credentials,
});

const address = fc
  .record({
    street_line1: text(30),
    street_line2: text(30),
    postal_code: one("02026", "K1A 0B1", " ", "00000"),
    city: text(20),
    place: one(["US", "MA"], ["US", "AE"], ["US", "PR"], ["CA", "QC"], ["DE", "Bayern"], ["SE", "AB"]),
  })
  .map(({ place: [country_code, region], ...rest }) => ({ ...rest, region, country_code }));

/** Valid version 2 create bodies with every field there is. */
export const fullBodies: fc.Arbitrary<Body> = fc.record({
  recipient: fc.record({
    email,
    first_name: text(15),
    last_name: text(20),
    company: text(20),
    telephone: one("+1(617)555-0100", "0", "(0)49"),
    external_id: text(20),
  }),
  enrollment_contacts: fc.record({
    emails_to: fc.uniqueArray(email, { minLength: 1, maxLength: 3, selector: address => address.toLowerCase() }),
  }),
  shipment: fc.record({
    delivery_type: one(1, 2),
    reseller_organization_id: text(20),
    customer_reference: text(20),
    address_validation_bypass: fc.boolean(),
    mailing_address: address,
    shipment_items: fc.array(item, { minLength: 1, maxLength: 3 }),
  }),
  authenticators: fc.array(authenticator, { minLength: 1, maxLength: 3 }),
  replaces: fc.record({
    credential_request_id: fc.uuid(),
    key_id: one("s-01-001", "a-01"),
    reason: one("lost", "stolen", "broken", "undelivered"),
    revoke: one("now", "when_active"),
  }),
});

/** The rows of a request of a draft as a create stores them first. */
export const received = (id: string, draft: RequestDraft, now = instant(0)) =>
  receivedRequest(id, draft, {}, { now: () => now, intervals: fixedIntervals, idps: { defaultId: "entra" } });

/** Fields that may be missing or null. */
export const optionalFields = [
  "recipient.company",
  "recipient.external_id",
  "shipment.delivery_type",
  "shipment.reseller_organization_id",
  "shipment.customer_reference",
  "shipment.address_validation_bypass",
  "shipment.mailing_address.street_line2",
  "shipment.shipment_items[0].name",
  "shipment.shipment_items[0].customization_id",
  "shipment.shipment_items[0].pin_request",
  "shipment.shipment_items[0].pin_request.length",
  "shipment.shipment_items[0].pin_request.type",
  "shipment.shipment_items[0].credentials[0].idp_id",
  "shipment.shipment_items[0].credentials[0].relying_party_id",
  "authenticators[0].name",
  "authenticators[0].customization_id",
  "authenticators[0].preferred_authenticator_type",
  "authenticators[0].pin_request",
  "authenticators[0].pin_request.min_length",
  "authenticators[0].pin_request.entry_method",
  "authenticators[0].pin_request.delivery_method",
  "authenticators[0].credentials[0].idp_id",
  "authenticators[0].credentials[0].relying_party_id",
  "replaces",
] as const;

const steps = (path: string): string[] => path.match(/[^.[\]]+/g) ?? [];

function holderOf(body: Body, path: string): { holder: Body; last: string } {
  const keys = steps(path);
  const last = keys.pop() ?? "";
  return { holder: keys.reduce((value, key) => value[key], body), last };
}

export const valueAt = (body: Body, path: string): unknown => steps(path).reduce((value, key) => value[key], body);

/** A copy of the body with other values at some paths; `undefined` removes a field. */
export function altered(body: Body, values: Readonly<Record<string, unknown>>): Body {
  const copy = structuredClone(body);
  for (const [path, value] of Object.entries(values)) {
    const { holder, last } = holderOf(copy, path);
    if (value === undefined) delete holder[last];
    else holder[last] = value;
  }
  return copy;
}
