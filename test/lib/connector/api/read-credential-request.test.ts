import { describe, expect, it } from "vitest";
import { createBodyV2 } from "../../../../lib/connector/api/body-to-draft.ts";
import { credentialRequestV2, readV2 } from "../../../../lib/connector/api/read-credential-request.ts";
import { credentialRequestV1, readV1 } from "../../../../lib/connector/api/v1-credential-request.ts";
import type { CredentialRequest } from "../../../../lib/connector/model/request.ts";
import type { SecurityKey } from "../../../../lib/connector/model/security-key.ts";
import { omitUndefined } from "../../../../lib/platform/collections.ts";
import { forAll } from "../../../support/for-all.ts";
import { type Body, fullBodies, received } from "./bodies.ts";

const now = "2026-01-31T10:00:00.000Z";
const stored = (body: unknown) => received("r1", createBodyV2.parse(body), now);

const readKeys = (keys: Body[], id: (index: number) => string) =>
  keys.map((key, index) => ({
    id: id(index),
    name: key.name,
    state: "processing",
    credentials: key.credentials.map((credential: Body) => ({ ...credential, state: "processing" })),
  }));

const credential = { idpId: "entra", userId: "ada@example.com", state: "active" } as const;
const key: SecurityKey = {
  id: "s-01-001",
  provisioning: "shipped",
  state: "complete",
  serial: "3632071",
  credentials: [credential],
  mail: { state: "sent", number: 1 },
};
const request: CredentialRequest = {
  id: "r1",
  origin: "v2",
  state: "started",
  createdAt: now,
  recipient: {
    email: "e@x.example",
    firstName: "f",
    lastName: "l",
    company: "",
    telephone: "+1555",
    externalId: "ext-1",
  },
  emailsTo: ["pin@x.example"],
  shipment: {
    deliveryType: 1,
    mailingAddress: { streetLine1: "1 Main St", postalCode: " ", city: "Dedham", countryCode: "US" },
  },
  attempts: 0,
};

describe("the version 2 read model (specification section 2)", () => {
  it("says that a cancel is in progress only of an open request, beside a problem of the delivery", () => {
    const delivery = {
      sentAt: now,
      shipment: { id: "U89bvfKKCtQfhnqaFBrAZW", stateId: 106, message: "No such street" },
    };
    const of = (more: Partial<CredentialRequest>) =>
      readV2({ ...request, delivery, cancelling: {}, ...more }, [key]).error_message;
    expect(of({})).toBe(
      "The request is being cancelled; a job continues a cancel that was interrupted. " +
        "The delivery service reports: No such street",
    );
    expect(of({ state: "failed", errorMessage: "It was refused." })).toBe("It was refused.");
  });

  it("shows what was created: names, keys and credentials in order, and the address", () => {
    forAll(fullBodies, body => {
      const { request, keys } = stored(body);
      const read = readV2(request, keys);
      expect(read).toStrictEqual({
        credential_request_id: "r1",
        ...(body.recipient.external_id !== body.recipient.email && { external_id: body.recipient.external_id }),
        state: "received",
        replaces: { ...body.replaces },
        authenticators: readKeys(body.authenticators, index => `a-0${index + 1}`),
        shipment: {
          customer_reference: body.shipment.customer_reference,
          shipment_items: readKeys(body.shipment.shipment_items, index => `s-0${index + 1}-001`),
          mailing_address: body.shipment.mailing_address,
        },
      });
      expect(credentialRequestV2.parse(read)).toStrictEqual(read);
    });
  });

  it("has no other fields, with any content of the rows", () => {
    const everything: SecurityKey = {
      ...key,
      name: "Work key",
      firmware: "5.7.4",
      pinResponseKey: "sealed",
      responses: "blob",
      credentials: [
        {
          ...credential,
          state: "activation_pending",
          relyingPartyId: "login.example",
          retryableUntil: "2026-02-14T10:00:00.000Z",
          idpState: "secret",
          responseKey: "sealed",
          credentialId: "abc",
          retry: { attempts: 1, nextAt: now, notBefore: now, lastError: "The identity provider is not responding." },
        },
      ],
    };
    const tracking = { number: "JD0146000030", link: "https://carrier.example/JD0146000030" };
    const shipped = { id: "U89bvfKKCtQfhnqaFBrAZW", stateId: 103, message: "Shipped", tracking, shippedAt: now };
    const delivery = { sentAt: now, shipment: shipped };
    expect(readV2({ ...request, delivery, errorMessage: "It is being looked up." }, [everything])).toStrictEqual({
      credential_request_id: "r1",
      external_id: "ext-1",
      state: "started",
      error_message: "It is being looked up.",
      shipment: {
        shipment_id: "U89bvfKKCtQfhnqaFBrAZW",
        tracking,
        delivery: { state: "in_transit", shipped_at: now },
        shipment_items: [
          {
            id: "s-01-001",
            name: "Work key",
            serial_number: "3632071",
            state: "complete",
            credentials: [
              {
                idp_id: "entra",
                relying_party_id: "login.example",
                user_id: "ada@example.com",
                state: "activation_pending",
                retryable_until: "2026-02-14T10:00:00.000Z",
                error_message: "The identity provider is not responding.",
              },
            ],
          },
        ],
        mailing_address: { street_line1: "1 Main St", postal_code: " ", city: "Dedham", country_code: "US" },
      },
    });
  });

  it("never shows the recipient, the contacts, or an email in place of an identifier", () => {
    const recipient = { ...request.recipient, externalId: request.recipient.email };
    const text = JSON.stringify(readV2({ ...request, recipient }, [key]));
    for (const hidden of ["e@x.example", "+1555", "pin@x.example"]) expect(text).not.toContain(hidden);
  });

  it.each(["revoking", "revoked", "revoke_failed"] as const)(
    "shows the state %s of a revocation as that of its credential, in both versions",
    state => {
      const retry = { attempts: 1, nextAt: now, lastError: "The identity provider is not responding." };
      const revocation = { state, reason: "lost", requestedAt: now, retry } as const;
      const keys = [{ ...key, credentials: [{ ...credential, revocation }] }];
      const read = readV2({ ...request, state: "complete" }, keys);
      expect(read).toMatchObject({ state: "complete" });
      const item = read.shipment?.shipment_items[0];
      expect(item).toMatchObject({ state: "complete", credentials: [{ state, revocation: { reason: "lost" } }] });
      expect(credentialRequestV2.parse(read)).toStrictEqual(read);
      const former = readV1(request, keys);
      expect(credentialRequestV1.parse(former).credentials).toMatchObject([{ credential_state: state }]);
    },
  );

  it("calls a key without a name Pre-Reg Key, without its serial", () => {
    expect(readV2(request, [key]).shipment?.shipment_items[0]?.name).toBe("Pre-Reg Key");
    expect(readV2(request, [{ ...key, provisioning: "on_site" }]).authenticators?.[0]?.name).toBe("Pre-Reg Key");
  });

  it("says until when activation is tried again only while it is", () => {
    const retryableUntil = "2026-02-14T10:00:00.000Z";
    for (const [state, shown] of [
      ["activation_pending", retryableUntil],
      ["active", undefined],
      ["failed", undefined],
    ] as const) {
      const read = readV2(request, [{ ...key, credentials: [{ ...credential, state, retryableUntil }] }]);
      expect(read.shipment?.shipment_items[0]?.credentials[0]?.retryable_until, state).toBe(shown);
    }
  });

  it("reports a failing PIN email with the active credentials of its key", () => {
    const failed = { ...credential, state: "failed", errorMessage: "The user is gone." } as const;
    const mail = {
      ...key.mail,
      state: "due",
      retry: { attempts: 1, nextAt: now, lastError: "The PIN email could not be sent." },
    } as const;
    const read = readV2(request, [{ ...key, state: "partial", credentials: [credential, failed], mail }]);
    expect(read.shipment?.shipment_items[0]?.credentials.map(({ error_message }) => error_message)).toEqual([
      "The PIN email could not be sent.",
      "The user is gone.",
    ]);
    const waiting = { ...credential, state: "activation_pending" } as const;
    const pending = readV2(request, [{ ...key, state: "processing", credentials: [waiting], mail }]);
    expect(pending.shipment?.shipment_items[0]?.credentials[0]).not.toHaveProperty("error_message");
  });

  it("shows why an enrollment could not be read, only with the credentials that wait for it", () => {
    const enrollment = { attempts: 1, nextAt: now, lastError: "The enrollment could not be read." };
    const waiting = { ...credential, state: "processing" } as const;
    const unusable = { ...waiting, errorMessage: "The response cannot be used." } as const;
    const credentials = [waiting, unusable, credential];
    const read = readV2(request, [{ ...key, provisioning: "on_site", state: "processing", credentials, enrollment }]);
    expect(read.authenticators?.[0]?.credentials.map(({ error_message }) => error_message)).toEqual([
      "The enrollment could not be read.",
      "The response cannot be used.",
      undefined,
    ]);
  });

  it("reads a request that version 1 made", () => {
    const keys = [key, { ...key, id: "s-01-002" }];
    const read = readV2({ ...request, origin: "v1_shipment" }, keys);
    expect(read.shipment?.shipment_items.map(({ id }) => id)).toEqual(["s-01-001", "s-01-002"]);
  });

  it("shows no tracking number and no delivery of a shipment that may belong to another request", () => {
    const shipment = { id: "U89", tentative: true, shippedAt: now, tracking: { number: "JD0146000030" } };
    const read = readV2({ ...request, delivery: { shipment } }, [key]).shipment;
    expect(read).not.toHaveProperty("tracking");
    expect(read).not.toHaveProperty("delivery");
  });

  it.each([
    [103, undefined, { state: "in_transit" }],
    [103, now, { state: "unknown", ended_at: now }],
    [104, now, { state: "delivered", ended_at: now }],
    [105, now, { state: "lost", error_message: "The delivery service reports: Lost", ended_at: now }],
    [106, now, { state: "exception", error_message: "The delivery service reports: Lost", ended_at: now }],
  ])("shows the delivery of a shipment in state %i that ended %s", (stateId, endedAt, delivery) => {
    const shipment = { id: "U89", stateId, shippedAt: now, ...(endedAt && { endedAt }), message: "Lost" };
    const read = readV2({ ...request, state: "complete", delivery: { shipment } }, [key]);
    expect(read.shipment?.delivery).toEqual({ ...delivery, shipped_at: now });
    expect(credentialRequestV2.parse(read)).toStrictEqual(read);
    expect(read).not.toHaveProperty("error_message");
  });
});

describe("records without what is absent", () => {
  it("keep every other value", () => {
    expect(omitUndefined({ a: undefined, b: null, c: 0, d: "", e: false })).toStrictEqual({
      b: null,
      c: 0,
      d: "",
      e: false,
    });
  });
});
