import { describe, expect, test } from "vitest";
import { createBodyV2 } from "../../../../lib/connector/api/body-to-draft.ts";
import { deliveryLimitViolations } from "../../../../lib/connector/create/check-request.ts";
import { authenticator, mixedBody, onSiteBody } from "../../../support/connector/on-site.ts";
import { idpsOf, orderBody, peersOfFile, refusalOf, testConnector } from "../../../support/connector/test-connector.ts";
import { altered, type Body } from "../api/bodies.ts";

const peers = await peersOfFile();

describe("what a create is checked against besides its own tables", () => {
  const refused = async (body: Body) => {
    const connector = await testConnector(peers, {
      settings: { PIN_MAIL_DOMAINS: "example.com" },
      ports: context => ({ idps: idpsOf(context, () => ({ defaultRelyingPartyId: "keys.example" })) }),
    });
    const { status, body: response } = await refusalOf(connector.order(body));
    expect(status).toBe(400);
    expect(await connector.queue("reconcile")).toEqual([]);
    expect(peers.entra.requests()).toEqual([]);
    return (response as Body).error_data.fields;
  };

  test("a relying party that is not the IdP's, an IdP that is none and an address out of bounds are named where they stand", async () => {
    const body = altered(mixedBody([1, 2], [authenticator(1), authenticator(2)]), {
      "shipment.shipment_items[1].credentials[1].relying_party_id": "other.example",
      "authenticators[1].credentials[0].idp_id": "nobody",
      "authenticators[1].credentials[0].relying_party_id": "other.example",
      "authenticators[0].credentials[0].relying_party_id": "keys.example",
      "enrollment_contacts.emails_to": ["ada@example.com", "ada@EXAMPLE.com.org"],
    });
    expect(await refused(body)).toEqual([
      {
        path: "shipment.shipment_items[1].credentials[1].relying_party_id",
        reason: "is not the identity provider's relying party",
      },
      { path: "authenticators[1].credentials[0].idp_id", reason: "is not a configured identity provider" },
      { path: "enrollment_contacts.emails_to[1]", reason: "is not in a domain that PIN emails may go to" },
    ]);
  });

  test("a second credential of a user at one IdP on one key, which would overwrite the first, is refused by its field", async () => {
    const user = { user_id: "ada@example.com" };
    const body = altered(mixedBody([3], [authenticator(2)]), {
      "shipment.shipment_items[0].credentials[0]": user,
      "shipment.shipment_items[0].credentials[2]": { idp_id: "entra", user_id: "ADA@example.com" },
      "authenticators[0].credentials": [user, user],
    });
    const reason = "has a credential on this key already, which this one would overwrite";
    expect(await refused(body)).toEqual([
      { path: "shipment.shipment_items[0].credentials[2].user_id", reason },
      { path: "authenticators[0].credentials[1].user_id", reason },
    ]);
  });

  test("a user may have credentials at two IdPs on one key, and one on each of two keys", async () => {
    const user = { user_id: "ada@example.com" };
    const connector = await testConnector(peers, {
      ports: ({ idps }) => ({ idps: { ...idps, get: () => idps.get(idps.defaultId) } }),
    });
    const body = altered(orderBody([2, 1]), {
      "shipment.shipment_items[0].credentials": [user, { ...user, idp_id: "pingone" }],
      "shipment.shipment_items[1].credentials": [user],
    });
    const { requestId } = await connector.order(body);
    expect(await connector.read(requestId)).toMatchObject({ state: "started" });
  });

  test("a PIN that is shorter than PIN_MIN_LENGTH is refused by its field, also if the length is the default, and no PIN is not", async () => {
    const connector = await testConnector(peers, { settings: { PIN_MIN_LENGTH: "8" } });
    const body = altered(mixedBody([1, 1, 1], [authenticator(), authenticator(), authenticator()]), {
      "shipment.shipment_items[1].pin_request": { length: 8 },
      "shipment.shipment_items[2].pin_request": {},
      "authenticators[1].pin_request.min_length": 7,
      "authenticators[2].pin_request": undefined,
    });
    const { status, body: response } = await refusalOf(connector.order(body));
    expect(status).toBe(400);
    const reason = "must be at least 8, the shortest PIN of this deployment";
    expect((response as Body).error_data.fields).toEqual(
      [
        "shipment.shipment_items[0].pin_request.length",
        "shipment.shipment_items[2].pin_request.length",
        "authenticators[0].pin_request.min_length",
        "authenticators[1].pin_request.min_length",
      ].map(path => ({ path, reason })),
    );
    expect(await connector.queue("reconcile")).toEqual([]);
    expect(
      (await connector.order(onSiteBody([authenticator(1, { pin_request: { min_length: 8 } })]))).requestId,
    ).toBeTruthy();
  });
});

describe("the delivery service's own limits", () => {
  const { body: _, ...draft } = createBodyV2.parse(orderBody());
  const name = (of: Body) => ({ recipient: { ...draft.recipient, ...of } });
  const order = (of: Body) => ({ shipment: { ...draft.shipment, ...of } });
  const address = (of: Body) => order({ mailingAddress: { ...draft.shipment?.mailingAddress, ...of } });
  const violations = (change: Body) => deliveryLimitViolations({ ...draft, ...change });

  test.each<[string, number, (value: string) => Body]>([
    ["first name", 15, firstName => name({ firstName })],
    ["last name", 20, lastName => name({ lastName })],
    ["company", 20, company => name({ company })],
    ["email", 80, email => name({ email })],
    ["first street line", 60, streetLine1 => address({ streetLine1 })],
    ["second street line", 60, streetLine2 => address({ streetLine2 })],
    ["city", 60, city => address({ city })],
    ["customer reference", 50, customerReference => order({ customerReference })],
  ])("%s: %i characters pass, one more is refused as the service would", (what, most, changed) => {
    // What people call characters, outside the basic plane too.
    expect(violations(changed("𠮷".repeat(most)))).toEqual([]);
    expect(violations(changed("𠮷".repeat(most + 1)))).toMatchObject([
      { code: "validation_error", message: `The ${what} must have at most ${most} characters, not ${most + 1}.` },
    ]);
  });

  test("are all named that are exceeded, each with its field, and bind no request without a shipment", () => {
    const { recipient } = name({ firstName: "x".repeat(99), lastName: "x".repeat(99), company: "x".repeat(99) });
    const fields = ["recipient.first_name", "recipient.last_name", "recipient.company"];
    expect(violations({ recipient }).map(({ path }) => path)).toEqual(fields);
    expect(deliveryLimitViolations({ recipient })).toEqual([]);
  });
});
