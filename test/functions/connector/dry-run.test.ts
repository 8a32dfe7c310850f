import { describe, expect, it } from "vitest";
import { altered, type Body } from "../../lib/connector/api/bodies.ts";
import { shipmentBodyV1 } from "../../lib/connector/api/shipment-body-v1.ts";
import { connectorHostOfFile } from "../../support/connector/host.ts";
import { authenticator } from "../../support/connector/on-site.ts";
import { newUser, orderBody, peersOfFile } from "../../support/connector/test-connector.ts";

const peers = await peersOfFile();
const { call } = connectorHostOfFile(peers);
const create = "POST /v2/credential-requests";

/** How many requests there are. */
const countRequests = async (): Promise<number> => (await call("GET /v2/credential-requests?$top=1000")).body.length;
const ordered = () => peers.delivery.count("POST", /./);
const fields = ({ error_data }: Body) => error_data.fields.map(({ path, reason }: Body) => `${path} ${reason}`);

describe("a create with dry_run=true", () => {
  it("answers 200 with the request as it would be ordered, and that body can be sent as it is", async () => {
    const body = altered(
      { ...orderBody(), authenticators: [authenticator(1, { pin_request: {} })] },
      { "recipient.company": " ", "shipment.shipment_items[0].name": null, nonsense: 1 },
    );
    const { status, body: answer, headers } = await call(`${create}?dry_run=true`, { body });
    expect(status).toBe(200);
    expect(headers.get("location")).toBeNull();
    expect(headers.get("x-ignored-fields")).toBe("nonsense");
    const [item] = body.shipment.shipment_items;
    const credential = { idp_id: "entra", relying_party_id: "login.microsoft.com" };
    const { name: _, ...rest } = item;
    const request = {
      recipient: {
        email: body.recipient.email,
        first_name: "Ada",
        last_name: "Lovelace",
        telephone: "+15550100",
        external_id: body.recipient.email,
      },
      enrollment_contacts: body.enrollment_contacts,
      shipment: {
        delivery_type: 1,
        mailing_address: body.shipment.mailing_address,
        shipment_items: [
          {
            ...rest,
            pin_request: { length: 6, type: "generate" },
            credentials: [{ ...credential, user_id: item.credentials[0].user_id }],
          },
        ],
      },
      authenticators: [
        {
          preferred_authenticator_type: "hardware",
          pin_request: { min_length: 6, entry_method: "generated", delivery_method: "email" },
          credentials: [{ ...credential, user_id: body.authenticators[0].credentials[0].user_id }],
        },
      ],
    };
    expect(answer).toEqual({
      data: { request, warnings: [expect.objectContaining({ code: "attestation_enforced" })] },
    });
    expect(await countRequests()).toBe(0);
    expect(ordered()).toBe(0);
    expect((await call(`${create}?dry_run=true`, { body: answer.data.request })).body).toEqual(answer);
    expect((await call(create, { body: answer.data.request })).status).toBe(201);
  });

  it("uses no Idempotency-Key up, also if the request would be refused", async () => {
    const headers = { "idempotency-key": "DRY-1" };
    const bad = altered(orderBody(), { "shipment.shipment_items[0].credentials[0].user_id": "guest@example.com" });
    expect((await call(`${create}?dry_run=true`, { body: bad, headers })).status).toBe(400);
    const body = orderBody();
    expect((await call(`${create}?dry_run=true`, { body, headers })).status).toBe(200);
    expect((await call(create, { body, headers })).status).toBe(201);
    const before = ordered();
    expect((await call(`${create}?dry_run=true`, { body, headers })).status).toBe(200);
    expect(ordered()).toBe(before);
  });

  it("answers 400 with each problem, its code and what to change, and with the warnings", async () => {
    const path = "shipment.shipment_items[0].credentials[0].user_id";
    const { status, body } = await call(`${create}?dry_run=true`, {
      body: altered(orderBody(), { [path]: "guest@example.com" }),
    });
    expect(status).toBe(400);
    const reason = expect.stringMatching(/^is a guest, .* \(identity provider entra\)$/);
    expect(body).toEqual({
      error_code: "api_error",
      error_message: "The request would be refused.",
      error_data: {
        error_type: "validation",
        fields: [{ path, reason, code: "user_guest" }],
        warnings: [expect.objectContaining({ code: "attestation_enforced" })],
      },
    });
  });

  it("answers wrong fields as a create does, and asks nobody", async () => {
    const body = altered(orderBody(), {
      "recipient.email": "nobody",
      "shipment.shipment_items[0].pin_request.length": 3,
    });
    const { status, body: answer } = await call(`${create}?dry_run=true`, { body });
    expect({ status, answer }).toEqual({ status: 400, answer: (await call(create, { body })).body });
    expect(peers.entra.requests()).toEqual([]);
  });

  it.each(["dryRun=true", "dry-run=true", "dryrun", "DRY_RUN=true"])("refuses %s, which would order", async query => {
    const { status, body } = await call(`${create}?${query}`, { body: orderBody() });
    expect({ status, fields: fields(body) }).toEqual({
      status: 400,
      fields: [`${query.replace("=true", "")} is not known: the call accepts dry_run`],
    });
    expect(ordered()).toBe(0);
  });

  it.each(["POST /v1/credential-requests", "POST /v1/fpr/shipments"])(
    "is refused by %s, which has none and would order",
    async route => {
      const { status, body } = await call(`${route}?dry_run=true`, { body: {} });
      expect(status).toBe(400);
      expect(fields(body)).toContain("dry_run is not known: the call has no parameters");
    },
  );

  it.each([
    ["POST /v2/credential-requests", orderBody, "is not a field: dry_run is a query parameter, ?dry_run=true", []],
    [
      "POST /v2/credential-requests",
      () => ({ ...orderBody(), recipient: 1 }),
      "is not a field: dry_run is a query parameter, ?dry_run=true",
      ["recipient must be an object"],
    ],
    ["POST /v1/fpr/shipments", shipmentBodyV1, "is not known: only version 2 has dry_run, as a query parameter", []],
    [
      "POST /v1/credential-requests",
      () => ({}),
      "is not known: only version 2 has dry_run, as a query parameter",
      Array(4).fill(expect.stringMatching(/ is required$/)),
    ],
  ] as const)("in the body is refused by %s beside all other wrong fields", async (route, body, reason, wrong) => {
    const before = ordered();
    for (const [name, value] of Object.entries({ dry_run: true, dryRun: true, DRY_RUN: "true", "dry-run": false })) {
      const { status, body: answer } = await call(route, { body: { ...body(), [name]: value } });
      expect({ status, fields: fields(answer) }).toMatchObject({
        status: 400,
        fields: [`${name} ${reason}`, ...wrong],
      });
    }
    expect(ordered()).toBe(before);
  });

  it.each(["", "1", "yes", "TRUE"])("refuses the value %j, which would order", async value => {
    const { status, body } = await call(`${create}?dry_run=${value}`, { body: orderBody() });
    expect({ status, fields: fields(body) }).toEqual({ status: 400, fields: ["dry_run must be true or false"] });
    expect(ordered()).toBe(0);
  });

  it("orders with dry_run=false, and not beside an unknown parameter", async () => {
    expect((await call(`${create}?dry_run=false&dryrun=true`, { body: orderBody() })).status).toBe(400);
    expect((await call(`${create}?dry_run=false&code=of-a-gateway`, { body: orderBody() })).status).toBe(201);
  });
});

describe("an offboarding", () => {
  it.each([
    ["a misspelt dry_run", "", { dryRun: true }, ["dryRun is not a known field"]],
    ["a dry_run in the query", "?dry_run=true", {}, ["dry_run is not known: the call has no parameters"]],
    [
      "several unknown fields",
      "",
      { userid: "ada", Email: 1 },
      ["userid is not a known field", "Email is not a known field"],
    ],
  ])("refuses %s, which would revoke, by name", async (_, query, more, problems) => {
    const body = { user_id: "ada@example.com", ...more };
    const { status, body: answer } = await call(`POST /v2/people/offboard${query}`, { body });
    expect(status).toBe(400);
    expect(fields(answer)).toEqual(problems);
  });

  it.each([
    ["of a user of whom nothing is known", { user_id: newUser() }],
    ["of a recipient of whom nothing is known", { email: newUser() }],
  ])("%s is complete, and says that nothing was matched", async (_, body) => {
    expect(await call("POST /v2/people/offboard", { body })).toMatchObject({
      status: 200,
      body: { data: { is_complete: true, matched: 0, credentials: [] } },
    });
  });

  it("refuses an IdP that is not configured by its field, where it would find nothing", async () => {
    const { status, body } = await call("POST /v2/people/offboard", { body: { user_id: newUser(), idp_id: "entry" } });
    expect({ status, fields: fields(body) }).toEqual({
      status: 400,
      fields: ["idp_id is not a configured identity provider, and no order has a credential of this user there"],
    });
  });

  it("counts the credentials of the person, and not those of others in the recipient's request", async () => {
    const email = newUser();
    const body = altered(orderBody([2], email), { "shipment.shipment_items[0].credentials[0].user_id": email });
    await call(create, { body });
    expect(await call("POST /v2/people/offboard", { body: { email, dry_run: true } })).toMatchObject({
      body: { data: { is_complete: false, matched: 1, credentials: [{ user_id: email }, {}] } },
    });
  });
});
