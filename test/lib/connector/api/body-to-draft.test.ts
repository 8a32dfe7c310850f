import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createBodyV2 } from "../../../../lib/connector/api/body-to-draft.ts";
import type { RequestDraft } from "../../../../lib/connector/create/draft.ts";
import { findIgnoredFields, problemsOf } from "../../../../lib/platform/http/problems.ts";
import { orderBody } from "../../../support/connector/test-connector.ts";
import { forAll } from "../../../support/for-all.ts";
import { inlinedSchema } from "../../../support/inlined-schema.ts";
import { altered, type Body, fullBodies, optionalFields, valueAt } from "./bodies.ts";

/** For properties of which one body shows nearly as much as many. */
const forFewBodies = (check: (body: Body) => void) => forAll(fullBodies, check, { numRuns: 5 });

const parsed = (body: unknown): Omit<RequestDraft, "pathOf"> => {
  const { pathOf: _, ...draft } = createBodyV2.parse(body);
  return draft;
};
const found = (body: unknown) => {
  const result = createBodyV2.safeParse(body);
  return result.success ? [] : problemsOf(result.error);
};
const pathsOf = (body: unknown) => [...new Set(found(body).map(({ path }) => path))].sort();

const address = "shipment.mailing_address";
const item = "shipment.shipment_items[0]";
const onSite = "authenticators[0]";

const credential = { user_id: "u" };
const key = { product_id: "1", inventory_product_id: "2", credentials: [credential] };
const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

/**
 * Wrong values that no bound of the schema excludes, with the reason that the caller gets. test/functions/connector/violations.test.ts has
 * the bounds.
 */
const wrongFields: readonly (readonly [path: string, value: unknown, reason: RegExp])[] = [
  ...["recipient.first_name", "recipient.company", `${item}.credentials[0].user_id`].flatMap(path => [
    [path, "a\u2028b", /^must not contain control characters$/] as const,
    [path, "\u{1f511}".repeat(256), /^must have at most 255 characters$/] as const,
    [path, " ".repeat(1025), /^must have at most 1024 characters$/] as const,
  ]),
  ...["recipient.email", "enrollment_contacts.emails_to[0]"].flatMap(path =>
    [
      "",
      "ada",
      "ada@",
      "@example.com",
      "ada@example",
      "ada@example..com",
      "ada@-example.com",
      "ada@example-.com",
      "ada@example.c",
      "ada@example.1",
      "ada@127.0.0.1",
      ".ada@example.com",
      "ada.@example.com",
      "a..da@example.com",
      "ada b@example.com",
      "ada@exa mple.com",
      "ada,bob@example.com",
      "ada@example.com,bob@example.com",
      "Ada <ada@example.com>",
      '"ada"@example.com',
      "ada@[127.0.0.1]",
      "ada@exämple.com",
      "ada@example.com\nBcc: bob@example.com",
      `ada@${"a".repeat(64)}.com`,
    ].map(value => [path, value, /^must be an email address$/] as const),
  ),
  ...[`${address}.street_line1`, `${address}.city`].flatMap(path =>
    ["\u200b", " \u202e ", "\u3164", "\u200d", "\u2800"].map(value => [path, value, /^must not be blank$/] as const),
  ),
  ...["a\u200bb", "\u202eab", "a\u00ad"].flatMap(value =>
    [item, onSite].map(
      place =>
        [`${place}.credentials[0].user_id`, value, /^must not contain invisible or direction characters$/] as const,
    ),
  ),
  ["recipient.telephone", "\u202a\u202c", /at least one digit/],
  ["recipient.email", `${"a".repeat(65)}@example.com`, /^must have at most 64 characters before the @$/],
  ["recipient.email", `a@${"a.".repeat(126)}com`, /^must have at most 254 characters$/],
  ["recipient.telephone", "", /at least one digit/],
  ["recipient.telephone", "+()-", /at least one digit/],
  ["recipient.telephone", "555 0100", /without blanks/],
  ["recipient.telephone", "555.0100", /only digits/],
  ["recipient.telephone", "555x", /only digits/],
  ["recipient.telephone", "٣", /only digits/],
  [`${address}.street_line1`, " ", /^must not be blank$/],
  [`${address}.city`, "", /^must not be blank$/],
  [`${address}.postal_code`, "", /^must not be empty/],
  [`${address}.country_code`, "XX", /^must be a two-letter country code of ISO 3166-1$/],
  ...[item, onSite].flatMap(place => [
    [`${place}.name`, "Schlüssel", /^must have ASCII characters only$/] as const,
    [`${place}.name`, "key 🔑", /^must have ASCII characters only$/] as const,
    [`${place}.credentials[0].user_id`, " ", /^must not be blank$/] as const,
    [`${place}.credentials[0].idp_id`, "", /^must not be blank$/] as const,
    [`${place}.credentials[0].relying_party_id`, " ", /^must not be blank$/] as const,
  ]),
  ...["product_id", "inventory_product_id"].flatMap(name =>
    ["", "x", "-1", "1.5", "1e3", " 1", "0x1", "1234567890", "1\n", "١"].map(
      value => [`${item}.${name}`, value, /^must be a string of 1 to 9 digits$/] as const,
    ),
  ),
];

const absent = /^is required where authenticators is absent$/;
const items = "shipment.shipment_items";
const withCredentials = (count: number) => ({ credentials: times(count, credential) });

/** Rules across fields: what is changed, which field is named. address.test.ts has the regions. */
const wrongTogether: Readonly<
  Record<string, readonly [values: Record<string, unknown>, path: string, reason: RegExp]>
> = {
  "neither shipment nor authenticators": [{ shipment: undefined, authenticators: undefined }, "shipment", absent],
  "both null": [{ shipment: null, authenticators: null }, "shipment", absent],
  "a blank first name without company": [
    { "recipient.first_name": "", "recipient.company": undefined },
    "recipient.first_name",
    /company is blank$/,
  ],
  "a blank last name with a blank company": [
    { "recipient.last_name": "  ", "recipient.company": " " },
    "recipient.last_name",
    /company is blank$/,
  ],
  "no region in the US": [
    { [`${address}.country_code`]: "US", [`${address}.region`]: undefined },
    `${address}.region`,
    /^is required for/,
  ],
  "an address twice in another case": [
    { "enrollment_contacts.emails_to": ["Ada@Example.com", "bob@example.com", "ada@example.com"] },
    "enrollment_contacts.emails_to[2]",
    /^must differ from element 0$/,
  ],
  "51 keys in both lists together": [
    { [items]: times(26, key), authenticators: times(25, withCredentials(1)) },
    "authenticators",
    /^makes more than 50 keys/,
  ],
  "101 credentials on several keys": [
    { [items]: times(3, { ...key, ...withCredentials(20) }), authenticators: times(3, withCredentials(14)) },
    "authenticators[2].credentials",
    /^makes more than 100 credentials/,
  ],
  "credentials over the limit, once": [
    { shipment: undefined, authenticators: times(8, withCredentials(20)) },
    "authenticators[5].credentials",
    /^makes more than 100 credentials/,
  ],
};

describe("a valid version 2 create body", () => {
  it("is accepted with any content of its fields", () => {
    forAll(fullBodies, body => {
      expect(found(body)).toEqual([]);
      expect(findIgnoredFields(createBodyV2, body)).toEqual([]);
    });
  });

  it("becomes a draft in the caller's order, in the domain's names", () => {
    const common = ({ name, customization_id, credentials }: Body) => ({
      name,
      customizationId: customization_id,
      credentials: credentials.map(({ idp_id, relying_party_id, user_id }: Body) => ({
        idpId: idp_id,
        relyingPartyId: relying_party_id,
        userId: user_id,
      })),
    });
    forAll(fullBodies, body => {
      const { recipient, shipment, authenticators, replaces } = body;
      const { street_line1, street_line2, postal_code, country_code, ...place } = shipment.mailing_address;
      expect(parsed(body)).toEqual({
        origin: "v2",
        body: expect.anything(),
        recipient: {
          email: recipient.email,
          firstName: recipient.first_name,
          lastName: recipient.last_name,
          company: recipient.company,
          telephone: recipient.telephone,
          externalId: recipient.external_id,
        },
        emailsTo: body.enrollment_contacts.emails_to,
        shipment: {
          deliveryType: shipment.delivery_type,
          resellerOrganizationId: shipment.reseller_organization_id,
          customerReference: shipment.customer_reference,
          addressValidationBypass: shipment.address_validation_bypass,
          mailingAddress: {
            ...place,
            streetLine1: street_line1,
            streetLine2: street_line2,
            postalCode: postal_code,
            countryCode: country_code,
          },
        },
        keys: [
          ...shipment.shipment_items.map((sent: Body, index: number) => ({
            ...common(sent),
            id: `s-0${index + 1}-001`,
            provisioning: "shipped",
            productId: Number(sent.product_id),
            inventoryProductId: Number(sent.inventory_product_id),
            pinRequest: { length: sent.pin_request.length, entryMethod: "generated", deliveryMethod: "email" },
          })),
          ...authenticators.map((sent: Body, index: number) => ({
            ...common(sent),
            id: `a-0${index + 1}`,
            provisioning: "on_site",
            preferredAuthenticatorType: sent.preferred_authenticator_type,
            pinRequest: {
              length: sent.pin_request.min_length,
              entryMethod: sent.pin_request.entry_method,
              deliveryMethod: sent.pin_request.delivery_method,
            },
          })),
        ],
        replaces: {
          requestId: replaces.credential_request_id,
          keyId: replaces.key_id,
          reason: replaces.reason,
          revoke: replaces.revoke,
        },
      });
    });
  });

  it("may have 50 keys and 100 credentials, 20 a key, and 20 addresses", () => {
    const [body] = fc.sample(fullBodies, 1);
    const most = altered(body, {
      "enrollment_contacts.emails_to": times(20, "").map((_, n) => `a${n}@example.com`),
      "shipment.shipment_items": [...times(2, { ...key, credentials: times(20, credential) }), ...times(28, key)],
      authenticators: [{ credentials: times(13, credential) }, ...times(19, { credentials: [credential] })],
    });
    expect(found(most)).toEqual([]);
    expect(parsed(most).keys.map(({ id }) => id)).toEqual([
      ...times(30, "").map((_, n) => `s-${String(n + 1).padStart(2, "0")}-001`),
      ...times(20, "").map((_, n) => `a-${String(n + 1).padStart(2, "0")}`),
    ]);
  });

  it.each([
    ["recipient.email", "o'hara+keys=1/2!#$%&*?^_`{|}~-@mail.xn--bcher-kva.example"],
    ["recipient.email", `${"a".repeat(64)}@example.com`],
    ["recipient.email", "ada@example.xn--p1ai"],
    ["recipient.first_name", ""],
    ["recipient.last_name", ""],
    ["recipient.company", ""],
    ["recipient.first_name", "x".repeat(255)],
    ["recipient.first_name", "\u{1f511}".repeat(255)],
    ["recipient.telephone", "+(0)1-2"],
    ["recipient.telephone", "5".repeat(40)],
    [`${address}.postal_code`, " "],
    [`${item}.product_id`, "000000000"],
    [`${item}.product_id`, "999999999"],
    [`${item}.name`, "x".repeat(18)],
    [`${item}.pin_request.length`, 4],
    [`${item}.pin_request.length`, 63],
    [`${onSite}.pin_request.min_length`, 4],
    [`${onSite}.pin_request.min_length`, 63],
  ])("may have %s %j", (path, value) => {
    forFewBodies(body => {
      expect(found(altered(body, { [path]: value }))).toEqual([]);
    });
  });
});

describe("fields that are absent", () => {
  it.each(optionalFields)("%s may be null as if absent", path => {
    forFewBodies(body => {
      const without = parsed(altered(body, { [path]: undefined }));
      expect(parsed(altered(body, { [path]: null }))).toEqual(without);
      const values: unknown[] = [];
      JSON.stringify(without, (_, value) => {
        values.push(value);
        return value;
      });
      expect(values).not.toContain(null);
    });
  });

  it.each([
    "recipient.company",
    "recipient.external_id",
    "shipment.reseller_organization_id",
    "shipment.customer_reference",
    `${address}.street_line2`,
    `${item}.name`,
    `${item}.customization_id`,
    `${onSite}.name`,
    `${onSite}.customization_id`,
  ])("%s may be blank as if absent", path => {
    forFewBodies(body => {
      expect(parsed(altered(body, { [path]: "  " }))).toEqual(parsed(altered(body, { [path]: undefined })));
    });
  });

  it("have the defaults of the specification", () => {
    forFewBodies(body => {
      const bare = Object.fromEntries(
        optionalFields.filter(path => !path.includes("pin_request")).map(path => [path, undefined]),
      );
      const request = parsed(altered(body, { ...bare, [`${item}.pin_request`]: {}, [`${onSite}.pin_request`]: {} }));
      expect(request.recipient).toMatchObject({ company: "", externalId: body.recipient.email });
      expect(request.shipment).toStrictEqual({
        deliveryType: 1,
        mailingAddress: expect.not.objectContaining({ streetLine2: expect.anything() }),
      });
      const onSiteKey = request.keys.find(({ provisioning }) => provisioning === "on_site");
      const pinRequest = { length: 6, entryMethod: "generated", deliveryMethod: "email" };
      expect(request.keys[0]).toStrictEqual({
        id: "s-01-001",
        provisioning: "shipped",
        productId: expect.any(Number),
        inventoryProductId: expect.any(Number),
        pinRequest,
        credentials: expect.any(Array),
      });
      expect(onSiteKey).toStrictEqual({
        id: "a-01",
        provisioning: "on_site",
        preferredAuthenticatorType: "hardware",
        pinRequest,
        credentials: expect.any(Array),
      });
      expect(request.keys[0]?.credentials[0]).toStrictEqual({
        userId: valueAt(body, `${item}.credentials[0].user_id`),
      });
    });
  });

  it("without pin_request no PIN is requested", () => {
    forFewBodies(body => {
      const { keys } = parsed(
        altered(body, { [`${item}.pin_request`]: undefined, [`${onSite}.pin_request`]: undefined }),
      );
      expect(keys[0]).not.toHaveProperty("pinRequest");
      expect(keys.find(({ id }) => id === "a-01")).not.toHaveProperty("pinRequest");
    });
  });

  it("one of shipment and authenticators is enough", () => {
    forFewBodies(body => {
      const shipped = parsed(altered(body, { authenticators: undefined }));
      expect(shipped.keys.every(({ provisioning }) => provisioning === "shipped")).toBe(true);
      const onSite = parsed(altered(body, { shipment: undefined }));
      expect(onSite).not.toHaveProperty("shipment");
      expect(onSite.keys.every(({ provisioning }) => provisioning === "on_site")).toBe(true);
    });
  });
});

describe("what people write is normalised", () => {
  it("outer blanks are removed", () => {
    forFewBodies(body => {
      const paths = [
        "recipient.email",
        "recipient.first_name",
        "recipient.telephone",
        `${address}.city`,
        `${address}.country_code`,
        `${item}.credentials[0].user_id`,
        "enrollment_contacts.emails_to[0]",
      ];
      const padded = Object.fromEntries(paths.map(path => [path, ` ${valueAt(body, path)} `]));
      expect(parsed(altered(body, padded))).toEqual(parsed(body));
    });
  });

  it("countries and region codes are accepted in any letter case", () => {
    const [body] = fc.sample(fullBodies, 1);
    const place = (country_code: string, region: string) =>
      parsed(altered(body, { [`${address}.country_code`]: country_code, [`${address}.region`]: region })).shipment
        ?.mailingAddress;
    expect(place("us", "ma")).toMatchObject({ countryCode: "US", region: "MA" });
    expect(place("cA", "qC")).toMatchObject({ countryCode: "CA", region: "QC" });
    expect(place("de", "Bayern")).toMatchObject({ countryCode: "DE", region: "Bayern" });
  });

  it("a postal code is trimmed to no less than a space", () => {
    const [body] = fc.sample(fullBodies, 1);
    const code = (value: string) =>
      parsed(altered(body, { [`${address}.postal_code`]: value })).shipment?.mailingAddress.postalCode;
    expect(code(" 02026 ")).toBe("02026");
    expect(code("  ")).toBe(" ");
  });
});

describe("a violation of one rule", () => {
  it.each(wrongFields)("%s %j: %s", (path, value, reason) => {
    forFewBodies(body => {
      const problems = found(altered(body, { [path]: value }));
      expect(new Set(problems.map(problem => problem.path))).toEqual(new Set([path]));
      expect(problems.some(problem => reason.test(problem.reason))).toBe(true);
    });
  });

  it.each(Object.entries(wrongTogether))("%s", (_, [values, path, reason]) => {
    forFewBodies(body => {
      expect(found(altered(body, values))).toEqual([{ path, reason: expect.stringMatching(reason) }]);
    });
  });

  it("is reported without the value", () => {
    const secret = "s3cr3t\u0000value";
    forAll(
      fullBodies,
      body => {
        for (const [path] of wrongFields) {
          if (typeof valueAt(body, path) !== "string") continue;
          expect(JSON.stringify(found(altered(body, { [path]: secret })))).not.toContain("s3cr3t");
        }
      },
      { numRuns: 1 },
    );
  });
});

describe("violations of several rules", () => {
  const paths = [...new Set(wrongFields.map(([path]) => path))];
  const leaves = paths.filter(path => !paths.some(other => other !== path && other.startsWith(path)));
  const wrong = fc.uniqueArray(
    fc.constantFrom(...wrongFields.filter(([path]) => leaves.includes(path) && path !== `${address}.country_code`)),
    { selector: ([path]) => path, minLength: 2, maxLength: 8 },
  );

  it("are reported all at once", () => {
    forAll(fc.tuple(fullBodies, wrong), ([body, violations]) => {
      const values = Object.fromEntries(violations.map(([path, value]) => [path, value]));
      expect(pathsOf(altered(body, values))).toEqual(Object.keys(values).sort());
    });
  });

  it("are reported across fields although single fields are wrong, and the other way round", () => {
    const elsewhere = { "recipient.telephone": 7, "recipient.email": "x", [`${address}.city`]: 7 };
    forAll(fc.tuple(fullBodies, fc.constantFrom(...Object.values(wrongTogether))), ([body, [values, path]]) => {
      const reachable = Object.entries(elsewhere).filter(
        ([field]) => !("shipment" in values && field.startsWith("shipment")),
      );
      const all = { ...values, ...Object.fromEntries(reachable) };
      expect(pathsOf(altered(body, all))).toEqual([path, ...reachable.map(([field]) => field)].sort());
    });
  });

  it("are reported across lists although one list is too long to be read", () => {
    const [body] = fc.sample(fullBodies, 1);
    const emails = times(21, "a@example.com");
    expect(
      pathsOf(
        altered(body, { shipment: undefined, authenticators: undefined, "enrollment_contacts.emails_to": emails }),
      ),
    ).toEqual(["enrollment_contacts.emails_to", "shipment"]);
  });

  it("finds equal addresses in a list with an invalid one", () => {
    const [body] = fc.sample(fullBodies, 1);
    expect(
      pathsOf(altered(body, { "enrollment_contacts.emails_to": [7, null, "a@example.com", "A@example.com"] })),
    ).toEqual([
      "enrollment_contacts.emails_to[0]",
      "enrollment_contacts.emails_to[1]",
      "enrollment_contacts.emails_to[3]",
    ]);
  });

  it("counts credentials although some are wrong", () => {
    const [body] = fc.sample(fullBodies, 1);
    const authenticators = [...times(5, { credentials: times(20, credential) }), { credentials: [{ user_id: "" }] }];
    expect(pathsOf(altered(body, { shipment: undefined, authenticators }))).toEqual([
      "authenticators[5].credentials",
      "authenticators[5].credentials[0].user_id",
    ]);
  });

  it("an oversized list is refused without reading its elements", () => {
    const [body] = fc.sample(fullBodies, 1);
    const authenticators = times(100_000, {});
    expect(found(altered(body, { authenticators }))).toEqual([
      { path: "authenticators", reason: "must have at most 50 elements" },
    ]);
  });

  it("never throws on any input", () => {
    forAll(fc.anything({ withNullPrototype: true }), input => {
      expect(found(input)).not.toEqual([]);
    });
    const anywhere = fc.constantFrom(
      "recipient",
      "enrollment_contacts",
      "shipment",
      "authenticators",
      address,
      item,
      onSite,
      `${item}.credentials`,
      `${item}.pin_request`,
    );
    forAll(fc.tuple(fullBodies, anywhere, fc.anything()), ([body, path, value]) => {
      expect(found(altered(body, { [path]: value ?? false }))).toBeInstanceOf(Array);
    });
  });
});

it("each field has a description in the OpenAPI document", () => {
  const missing: string[] = [];
  const look = (schema: Body, path: string): void => {
    for (const [name, field] of Object.entries<Body>(schema.properties ?? {})) {
      if (field.description === undefined) missing.push(`${path}.${name}`);
      look(field, `${path}.${name}`);
    }
    if (schema.items) look(schema.items, `${path}[]`);
  };
  const document = inlinedSchema(createBodyV2, "input") as Body;
  expect(Object.keys(document.properties).length).toBeGreaterThan(3);
  look(document, "");
  expect(missing).toEqual([]);
});

describe("invisible and direction characters", () => {
  it("are left out of names, streets, telephones and e-mail addresses", () => {
    const body = altered(orderBody(), {
      "recipient.first_name": "Ada\u200b",
      "recipient.last_name": "\u202eLovelace\u202c",
      "recipient.telephone": "\u202a+15550100\u202c",
      "recipient.email": "\ufeffada@example.com\u200b",
      [`${address}.street_line1`]: "12 \u202eteertS",
    });
    const { recipient, shipment } = parsed(body);
    expect(recipient).toMatchObject({
      firstName: "Ada",
      lastName: "Lovelace",
      telephone: "+15550100",
      email: "ada@example.com",
    });
    expect(shipment?.mailingAddress.streetLine1).toBe("12 teertS");
  });

  it("are blank where a name or a company is needed", () => {
    const body = altered(orderBody(), { "recipient.last_name": "\u200b", "recipient.company": "\u200b" });
    expect(found(body)).toEqual([{ path: "recipient.last_name", reason: "must not be blank where company is blank" }]);
  });

  it("do not include the joiners of a user id", () => {
    const userId = "\u{1f469}\u200d\u{1f680}@example.com";
    const body = altered(orderBody(), { [`${item}.credentials[0].user_id`]: userId });
    expect(parsed(body).keys[0]?.credentials[0]?.userId).toBe(userId);
  });
});
