import { beforeAll, describe, expect, it } from "vitest";
import type * as z from "zod";
import { createBodyV2 } from "../../../lib/connector/api/body-to-draft.ts";
import { createCredentialRequestBodyV1 } from "../../../lib/connector/api/v1-credential-request.ts";
import { createShipmentBodyV1 } from "../../../lib/connector/api/v1-shipment.ts";
import type { Peer } from "../../../local/peers/peer.ts";
import { altered, type Body } from "../../lib/connector/api/bodies.ts";
import { shipmentBodyV1 } from "../../lib/connector/api/shipment-body-v1.ts";
import { connectorHostOfFile } from "../../support/connector/host.ts";
import { authenticator, mixedBody } from "../../support/connector/on-site.ts";
import { newUser, peersOfFile } from "../../support/connector/test-connector.ts";
import { storedText } from "../../support/storage/stored-text.ts";
import { until } from "../../support/until.ts";
import { type Violation, violationsOf } from "../../support/violations.ts";

const peers = await peersOfFile();
const host = connectorHostOfFile(peers, { PIN_MAIL_DOMAINS: "example.com", PIN_MIN_LENGTH: "5" });

const at = (path: string, ...values: readonly unknown[]): Violation[] => values.map(value => ({ path, value }));

/** Rules across fields: what is changed, and the one field that is named. */
type Together = readonly [name: string, values: Readonly<Record<string, unknown>>, path: string];

interface Create {
  readonly schema: z.ZodType;
  readonly body: () => Body;
  readonly worded: readonly Violation[];
  readonly together: readonly Together[];
  /** Wrong in several places at once. */
  readonly several: Readonly<Record<string, unknown>>;
}

const item = "shipment.shipment_items[0]";
const onSite = "authenticators[0]";
const ordered = "delivery_shipment_request";
const bySchemaV2 = altered(mixedBody([1], [authenticator(1, { name: "Desk", customization_id: "C1" })]), {
  "recipient.company": "Engines",
  "recipient.external_id": "7",
  "shipment.delivery_type": 1,
});

/** Well formed; no test gets to the question whether there is such a request. */
const replaces = {
  credential_request_id: "7c9e6679-7425-40de-944b-e07fc1f90ae7",
  key_id: "s-01-001",
  reason: "lost",
  revoke: "now",
};

const creates: Readonly<Record<string, Create>> = {
  "POST /v2/credential-requests": {
    schema: createBodyV2,
    body: () => ({ ...bySchemaV2, replaces }),
    several: {
      "recipient.email": "ada",
      [`${item}.pin_request.length`]: 64,
      [`${onSite}.name`]: "Schlüssel",
    },
    // lib/connector/api/body-to-draft.test.ts has the rules of texts, which all versions share.
    worded: [
      ...at("enrollment_contacts.emails_to[0]", "ada@elsewhere.org"),
      ...at(`${onSite}.credentials[0].idp_id`, "", "nobody"),
      ...at("authenticators", []),
      ...at("replaces.credential_request_id", "../people", "7c9e6679"),
    ],
    // api/body-to-draft.test.ts has the others.
    together: [["neither shipment nor authenticators", { shipment: undefined, authenticators: undefined }, "shipment"]],
  },
  "POST /v1/fpr/shipments": {
    schema: createShipmentBodyV1,
    several: {
      "pin_request.length": 3,
      [`${ordered}.mailing_address.country_code_2`]: "XX",
      [`${ordered}.shipment_items[0].product_quantity`]: 51,
    },
    body: () => ({ ...shipmentBodyV1(), enrollment_contacts: { emails_to: [newUser()] } }),
    worded: [
      ...at(`${ordered}.recipient.recipient_email`, "ada"),
      ...at("enrollment_contacts.emails_to[0]", "ada", "ada@elsewhere.org"),
      ...at(`${ordered}.shipment_items[0].fc_additional_data.key_name`, "Schlüssel"),
      ...at(`${ordered}.recipient.recipient_telephone`, "call me"),
      ...at(`${ordered}.mailing_address.postal_code`, ""),
      ...at(`${ordered}.mailing_address.city`, " "),
      ...at(`${ordered}.mailing_address.street_line1`, " "),
      ...at(`${ordered}.mailing_address.region`, undefined, "QC"),
      ...at(`${ordered}.mailing_address.country_code_2`, "XX"),
      ...at("user_id", " ", "ada\u200b@example.com"),
      ...at(`${ordered}.recipient.recipient_firstname`, " "),
      ...at(`${ordered}.recipient.recipient_lastname`, ""),
    ],
    together: [
      [
        "51 keys, quantities counted",
        {
          [`${ordered}.shipment_items`]: [25, 26].map(product_quantity => ({
            product_id: 1,
            inventory_product_id: 15,
            product_quantity,
          })),
        },
        `${ordered}.shipment_items`,
      ],
      [
        "an address to which no mail may go, and no list",
        { enrollment_contacts: undefined, [`${ordered}.recipient.recipient_email`]: "ada@elsewhere.org" },
        `${ordered}.recipient.recipient_email`,
      ],
      [
        "one address twice",
        { "enrollment_contacts.emails_to": ["ada@example.com", "ADA@example.com"] },
        "enrollment_contacts.emails_to[1]",
      ],
    ],
  },
  "POST /v1/credential-requests": {
    schema: createCredentialRequestBodyV1,
    several: { "recipient.email": "ada", "credentials[0].user_id": " ", "pin_request.entry_method": "guessed" },
    body: () => ({
      recipient: { firstname: "Ada", lastname: "Lovelace", email: newUser() },
      credentials: [{ user_id: newUser() }],
      pin_request: { min_length: 6, entry_method: "generated" },
      authenticator_name: "Desk",
      customization_id: "C1",
      enrollment_contacts: { emails_to: [newUser()] },
    }),
    worded: [
      ...at("recipient.email", "ada"),
      ...at("enrollment_contacts.emails_to[0]", "ada", "ada@elsewhere.org"),
      ...at("authenticator_name", "Schlüssel"),
      ...["recipient.firstname", "recipient.lastname"].flatMap(path => at(path, " ")),
      ...at("credentials[0].user_id", " ", "ada\u200b@example.com"),
    ],
    together: [
      [
        "one address twice",
        { "enrollment_contacts.emails_to": ["ada@example.com", "ADA@example.com"] },
        "enrollment_contacts.emails_to[1]",
      ],
    ],
  },
};

/** What the peers were asked since the test began. */
const asked = () =>
  Object.values(peers).flatMap((peer: Peer) => peer.requests().map(({ path }) => `${peer.name} ${path}`));

/** Rows and blobs, with enough of each to distinguish them. */
const stored = async () => (await storedText(host.storage)).map(line => line.slice(0, 200));

async function refusedPaths(route: string, body: Body): Promise<readonly string[]> {
  const { status, body: reply } = await host.call(route, { body });
  if (status !== 400 || reply.error_code !== "api_error") return [`answered ${status}: ${JSON.stringify(reply)}`];
  expect(reply.error_data.error_type).toBe("validation");
  return [...new Set<string>(reply.error_data.fields.map(({ path }: Body) => path))];
}

describe.each(Object.entries(creates))(
  "%s (specification section 2)",
  (route, { schema, body, worded, together, several }) => {
    let before: readonly string[];
    beforeAll(async () => {
      // What is read once, such as the vault's tokens and the IdP's keys, is read by now.
      expect(await host.call(route, { body: { ...body(), replaces: undefined } })).toMatchObject({ status: 201 });
      // The create does not wait for the rows that it leaves behind to go.
      await until(
        async () => {
          before = await stored();
          return !before.some(line => /"partitionKey":"(?:reconcile|received)"/.test(line));
        },
        () => "the create's own rows stay",
      );
    });

    it("refuses each single violation of each field with 400 naming that field, and stores and calls nothing", async () => {
      const wrong = [...violationsOf(schema), ...worded];
      expect(wrong.length).toBeGreaterThan(60);
      const unlike: string[] = [];
      for (const { path, value } of wrong) {
        const paths = await refusedPaths(route, altered(body(), { [path]: value }));
        if (paths.length !== 1 || paths[0] !== path)
          unlike.push(`${path} = ${JSON.stringify(value)}: ${paths.join(", ")}`);
      }
      expect(unlike).toEqual([]);
      expect(asked()).toEqual([]);
      expect(await stored()).toEqual(before);
    });

    it.each(together)("refuses %s, and stores and calls nothing", async (_, values, path) => {
      expect(await refusedPaths(route, altered(body(), values))).toEqual([path]);
      expect(asked()).toEqual([]);
      expect(await stored()).toEqual(before);
    });

    it("names all that is wrong at once", async () => {
      expect((await refusedPaths(route, altered(body(), several))).toSorted()).toEqual(Object.keys(several).toSorted());
    });
  },
);
