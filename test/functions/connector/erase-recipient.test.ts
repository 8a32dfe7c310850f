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
      body: { data: { dry_run: true, erased: 1, requests, left: [] } },
    });
    expect(await statusOf(open)).toBe(200);
  });

  it.each([
    ["nothing", {}],
    ["two names", { email: "ada@example.com", user_id: "ada" }],
    ["a blank name", { email: " " }],
    ["another field", { name: "Ada" }],
    ["a number", { user_id: 7 }],
  ])("refuses %s with 400, and does not repeat it", async (_, input) => {
    const { status, body } = await asAdmin(input);
    expect(status).toBe(400);
    expect(JSON.stringify(body)).not.toContain("ada");
  });
});
