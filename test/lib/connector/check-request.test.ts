import { describe, expect, test } from "vitest";
import { idpsOf, orderBody, peersOfFile, refusalOf, testConnector } from "../../support/connector.ts";
import { authenticator, mixedBody } from "../../support/on-site.ts";
import { altered, type Body } from "./wire-v2-bodies.ts";

const peers = await peersOfFile();

describe("what a create is held against beside its own tables (decisions C5, C13, C14)", () => {
  const refused = async (body: Body) => {
    const connector = await testConnector(peers, {
      settings: { PIN_MAIL_DOMAINS: "example.com" },
      ports: context => ({ idps: idpsOf(context, () => ({ defaultRelyingPartyId: "keys.example" })) }),
    });
    const { status, body: told } = await refusalOf(connector.order(body));
    expect(status).toBe(400);
    expect(await connector.queue("settle")).toEqual([]);
    expect(peers.entra.requests()).toEqual([]);
    return (told as Body).error_data.fields;
  };

  test("a relying party that is not the IdP's, an IdP that is none and an address out of bounds are named where they stand", async () => {
    const body = altered(mixedBody([1, 2], [authenticator(1), authenticator(2)]), {
      "shipment.shipment_items[1].credentials[1].relying_party_id": "other.example",
      "authenticators[1].credentials[0].idp_id": "nobody",
      "authenticators[0].credentials[0].relying_party_id": "keys.example",
      "enrollment_contacts.emails_to": ["ada@example.com", "ada@EXAMPLE.com.org"],
    });
    expect(await refused(body)).toEqual([
      {
        path: "shipment.shipment_items[1].credentials[1].relying_party_id",
        reason: "is not the identity provider's relying party",
      },
      { path: "authenticators[1].credentials[0].idp_id", reason: "is not a configured identity provider" },
      { path: "enrollment_contacts.emails_to[1]", reason: "is not in a domain that PIN mails may go to" },
    ]);
  });

  test("of an IdP that is none no relying party is judged", async () => {
    const at = "shipment.shipment_items[0].credentials[0]";
    const body = altered(orderBody(), { [`${at}.idp_id`]: "nobody", [`${at}.relying_party_id`]: "other.example" });
    expect(await refused(body)).toMatchObject([{ path: `${at}.idp_id` }]);
  });
});
