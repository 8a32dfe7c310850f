import { describe, expect, it } from "vitest";
import { createCredentialRequestBodyV1 } from "../../../../lib/connector/api/v1-credential-request.ts";
import { createRequest } from "../../../../lib/connector/create/create-request.ts";
import { authenticatorsOf } from "../../../support/connector/on-site.ts";
import { caller, newUser, peersOfFile, refusalOf, testConnector } from "../../../support/connector/test-connector.ts";
import type { Body } from "./bodies.ts";

const peers = await peersOfFile();

const least = (): Body => ({
  recipient: { firstname: "Ada", lastname: "Lovelace", email: "ada@example.com" },
  credentials: [{ user_id: newUser() }],
  pin_request: {},
  enrollment_contacts: { emails_to: ["ada@example.com"] },
});

const full = (): Body => ({
  ...least(),
  credentials: [{ user_id: newUser() }, { user_id: newUser() }],
  pin_request: { min_length: 8, entry_method: "user_entered" },
  authenticator_name: "Desk 4",
  customization_id: "C-1",
});

// test/functions/connector/violations.test.ts has what is refused.
describe("the version 1 credential request body", () => {
  it("becomes one on-site authenticator, with version 2's defaults", () => {
    const { recipient, emailsTo, keys, shipment } = createCredentialRequestBodyV1.parse(least());
    expect(shipment).toBeUndefined();
    expect(recipient).toMatchObject({ email: "ada@example.com", externalId: "ada@example.com", company: "" });
    expect(emailsTo).toEqual(["ada@example.com"]);
    expect(keys).toEqual([
      {
        id: "a-01",
        provisioning: "on_site",
        preferredAuthenticatorType: "hardware",
        pinRequest: { length: 6, entryMethod: "generated", deliveryMethod: "email" },
        credentials: [{ userId: expect.any(String) }],
      },
    ]);
  });

  it.each([
    ["credentials[1].user_id", "idp"],
    ["credentials[0].user_id", "relyingParty"],
  ] as const)("has no field for the IdP, so %s names its %s", (path, field) => {
    const index = Number(path[12]);
    const draft = createCredentialRequestBodyV1.parse(full());
    expect(draft.pathOf({ field, keyId: "a-01", index })).toBe(path);
  });
});

describe("a version 1 credential request", () => {
  const order = (context: Parameters<typeof createRequest>[2], body = least()) =>
    createRequest(createCredentialRequestBodyV1.parse(body), { caller }, context);

  it("goes to the default IdP and to the pre-registration API, and ships nothing", async () => {
    const { context, read } = await testConnector(peers);
    const body = full();
    const { requestId, shipmentId } = await order(context, body);
    expect([shipmentId, peers.delivery.count("POST", /shipments/)]).toEqual([undefined, 0]);
    expect(authenticatorsOf(peers, requestId)).toMatchObject([
      {
        name: "Desk 4",
        customizationId: "C-1",
        pin: { minLength: 8, entryMethod: "user_entered" },
        recipient: { external_id: "ada@example.com", first_name: "Ada", last_name: "Lovelace" },
      },
    ]);
    expect((await read(requestId)).authenticators?.[0]?.credentials).toMatchObject(
      body.credentials.map(({ user_id }: Body) => ({ user_id, idp_id: "entra", state: "processing" })),
    );
  });

  it("is refused with version 1 field names without an enrollment service, or if its mail domain or PIN length is not allowed", async () => {
    const { context } = await testConnector(peers, {
      settings: {
        ENROLLMENT_SERVICE_API_BASE_URL: "",
        RFPR_API_BASE_URL: "",
        PIN_MAIL_DOMAINS: "example.org",
        PIN_MIN_LENGTH: "63",
      },
    });
    const { status, body } = await refusalOf(order(context));
    const paths = (body as Body).error_data.fields.map(({ path }: Body) => path);
    expect([status, paths]).toEqual([
      400,
      ["credentials", "pin_request.min_length", "enrollment_contacts.emails_to[0]"],
    ]);
  });
});
