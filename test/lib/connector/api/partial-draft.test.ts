import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { partialDraftV2 } from "../../../../lib/connector/api/body-to-draft.ts";

describe("a version 2 body that does not fit its schema", () => {
  test("is read as far as it can be, each part at its own position", () => {
    const sent = {
      enrollment_contacts: { emails_to: ["ada@example.com", 7, " bob@example.com "] },
      shipment: {
        shipment_items: [null, { credentials: [{ idp_id: 7 }, { idp_id: " main ", relying_party_id: null }] }],
      },
      authenticators: [{ credentials: "none" }, { credentials: [{ relying_party_id: "keys.example" }] }],
    };
    expect(partialDraftV2(sent)).toEqual({
      pathOf: expect.any(Function),
      emailsTo: ["ada@example.com", "", "bob@example.com"],
      keys: [
        { id: "s-01-001", provisioning: "shipped", credentials: [] },
        { id: "s-02-001", provisioning: "shipped", credentials: [{}, { idpId: "main" }] },
        { id: "a-01", provisioning: "on_site", credentials: [] },
        { id: "a-02", provisioning: "on_site", credentials: [{ relyingPartyId: "keys.example" }] },
      ],
    });
  });

  test("judges no relying party of an IdP that is not readable", () => {
    const credentials = [{ idp_id: "", relying_party_id: "other.example" }];
    expect(partialDraftV2({ authenticators: [{ credentials }] }).keys[0]?.credentials).toEqual([{}]);
  });

  test("may be anything, and nothing is read of a list that is too long", () => {
    fc.assert(fc.property(fc.anything(), body => void partialDraftV2(body)));
    const items = (keys: number, credentials: number) => Array(keys).fill({ credentials: Array(credentials).fill({}) });
    const read = (keys: number, credentials: number) =>
      partialDraftV2({ shipment: { shipment_items: items(keys, credentials) } }).keys.flatMap(key => key.credentials)
        .length;
    expect([read(50, 20), read(51, 20), read(50, 21)]).toEqual([1000, 0, 0]);
  });
});
