import { describe, expect, it } from "vitest";
import { audience } from "../../../local/peers/all.ts";
import { connectorHostOfFile } from "../../support/connector/host.ts";
import { newUser, orderBody, peersOfFile } from "../../support/connector/test-connector.ts";

const peers = await peersOfFile();
const host = connectorHostOfFile(peers);
const erase = "POST /maintenance/connector/erase";

const asAdmin = (body: object) => host.call(erase, { body, headers: { "x-functions-key": host.masterKey } });

async function ordered(email: string, state: number): Promise<string> {
  const { body } = await host.call("POST /v2/credential-requests", { body: orderBody([1], email) });
  await peers.delivery.control(body.data.shipment_id, { state });
  return body.data.credential_request_id;
}

const statusOf = async (id: string) => (await host.call(`GET /v2/credential-requests/${id}`)).status;

describe("a request", () => {
  it("names the addresses of its PIN emails to the roles that may resend them, and not after its erasure", async () => {
    const email = newUser();
    const { body } = await host.call("POST /v2/credential-requests", {
      body: { ...orderBody([1], email), enrollment_contacts: { emails_to: ["pins@example.com", email] } },
    });
    await peers.delivery.control(body.data.shipment_id, { state: 101 });
    const id = body.data.credential_request_id;
    const shownTo = async (role: string, route = `GET /v2/credential-requests/${id}`) => {
      const token = await peers.issuer.mint({ audience, roles: [`Connector.${role}`] });
      const { status, body } = await host.call(route, { token });
      return [status, body.data?.enrollment_contacts];
    };
    const contacts = { emails_to: ["pins@example.com", email] };
    expect(await shownTo("Read")).toEqual([200, undefined]);
    expect(await shownTo("Support")).toEqual([200, contacts]);
    expect(await shownTo("Call")).toEqual([200, contacts]);
    const list = await host.call(`GET /v2/credential-requests?email=${email}`);
    expect(list.body).toMatchObject([{ credential_request_id: id }]);
    expect(list.body[0]).not.toHaveProperty("enrollment_contacts");
    expect(await shownTo("Support", `POST /v2/credential-requests/${id}/cancel`)).toEqual([200, contacts]);
    await asAdmin({ email });
    expect(await shownTo("Call")).toEqual([404, undefined]);
  });
});

describe("the maintenance function that erases a recipient", () => {
  it("requires the host's master key, and refuses a caller's token", async () => {
    expect((await host.call(erase, { body: { email: newUser() } })).status).toBe(401);
  });

  it("removes what can be removed, and names what is left and why", async () => {
    const email = newUser();
    const [open, locked] = [await ordered(email, 101), await ordered(email, 102)];
    expect(await asAdmin({ email })).toMatchObject({
      status: 200,
      body: {
        data: {
          dry_run: false,
          matched: 2,
          erased: 1,
          requests: [{ credential_request_id: open, state: "started", other_users: 1 }],
          left: [{ credential_request_id: locked, reason: expect.stringContaining("can no longer delete") }],
        },
      },
    });
    expect([await statusOf(open), await statusOf(locked)]).toEqual([404, 200]);
  });

  it("says what it would remove in a dry run, and removes nothing", async () => {
    const email = newUser();
    const open = await ordered(email, 101);
    const requests = [{ credential_request_id: open, state: "started", other_users: 1 }];
    expect(await asAdmin({ email, dry_run: true })).toEqual({
      status: 200,
      headers: expect.anything(),
      body: { data: { dry_run: true, matched: 1, erased: 1, requests, left: [] } },
    });
    expect(await statusOf(open)).toBe(200);
  });

  it("leaves active credentials until they are revoked, or if the input says so", async () => {
    const email = newUser();
    const { body } = await host.call("POST /v2/credential-requests", { body: orderBody([1], email) });
    await peers.delivery.control(body.data.shipment_id, { ship: true });
    await host.call("GET /v2/operations/process-shipments");
    await host.call("POST /v2/operations/process-credential-requests");
    const id = body.data.credential_request_id;
    const left = [
      {
        credential_request_id: id,
        reason: "The request has active credentials: revoke them or offboard the person first.",
      },
    ];
    for (const dry_run of [true, false])
      expect((await asAdmin({ email, dry_run })).body.data).toEqual({
        dry_run,
        matched: 1,
        erased: 0,
        requests: [],
        left,
      });
    expect((await asAdmin({ email, leave_active_credentials: true })).body.data).toMatchObject({ erased: 1, left: [] });
    expect(await statusOf(id)).toBe(404);
  });

  it("finds names as orders store them, without invisible characters", async () => {
    const [email, plain] = [newUser(), `E${Date.now()}`];
    const written = `${plain.slice(0, 1)}\u200B${plain.slice(1)}`;
    const order = orderBody([1], email);
    const { body } = await host.call("POST /v2/credential-requests", {
      body: {
        ...order,
        recipient: { ...order.recipient, external_id: written },
        shipment: { ...order.shipment, customer_reference: `R${written}` },
      },
    });
    await peers.delivery.control(body.data.shipment_id, { state: 101 });
    const found = [{ credential_request_id: body.data.credential_request_id }];
    for (const query of [
      `external_id=${encodeURIComponent(written)}`,
      `customer_reference=R${encodeURIComponent(written)}`,
      `email=${encodeURIComponent(`\u2060${email}`)}`,
    ])
      expect((await host.call(`GET /v2/credential-requests?${query}`)).body, query).toMatchObject(found);
    expect((await asAdmin({ email: `\u200B${email}`, dry_run: true })).body.data).toMatchObject({ matched: 1 });
    expect((await asAdmin({ external_id: written })).body.data).toMatchObject({ matched: 1, erased: 1 });
  });

  it("is not started with a query parameter, such as dry_run", async () => {
    const email = newUser();
    const open = await ordered(email, 101);
    const headers = { "x-functions-key": host.masterKey };
    expect(await host.call(`${erase}?dry_run=true`, { body: { email }, headers })).toMatchObject({
      status: 400,
      body: { fields: [{ path: "dry_run", reason: "is not known: the call has no parameters" }] },
    });
    expect(await statusOf(open)).toBe(200);
  });

  it.each([
    ["nothing", {}],
    ["two names", { email: "ada@example.com", user_id: "ada" }],
    ["a blank name", { external_id: " " }],
    ["an email that is none", { email: "ada" }],
    ["a user with an invisible character, who could be another one", { user_id: "ad\u200Ba" }],
    ["another field", { name: "Ada" }],
    ["a number", { user_id: 7 }],
  ])("refuses %s with 400, and does not repeat it", async (_, input) => {
    const { status, body } = await asAdmin(input);
    expect(status).toBe(400);
    expect(JSON.stringify(body)).not.toContain("ada");
  });
});

describe("the maintenance function that resumes events", () => {
  it("answers 404 for an event sink that is not configured", async () => {
    const headers = { "x-functions-key": host.masterKey };
    const sent = { body: { sink: 7 }, headers };
    expect(await host.call("POST /maintenance/connector/resume-events", sent)).toMatchObject({ status: 404 });
  });
});
