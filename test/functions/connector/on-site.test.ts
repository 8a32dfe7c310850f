import { expect, it } from "vitest";
import type { Body } from "../../lib/connector/api/bodies.ts";
import { connectorHostOfFile } from "../../support/connector/host.ts";
import { authenticator, idAt, mixedBody, onSiteBody } from "../../support/connector/on-site.ts";
import { newUser, peersOfFile } from "../../support/connector/test-connector.ts";

const peers = await peersOfFile();
const { call } = connectorHostOfFile(peers);

const process = () => call("POST /v2/operations/process-credential-requests");
const mailsTo = (to: string) => peers.mail.mails().filter(mail => mail.to.includes(to));

it("version 2: authenticators are requested, read, enrolled, activated and their PINs resent", async () => {
  const body = onSiteBody([authenticator(2, { name: "Desk 4" }), authenticator(1, { pin_request: undefined })]);
  const created = await call("POST /v2/credential-requests", { body });
  expect(created).toMatchObject({ status: 201 });
  const requestId: string = created.body.data.credential_request_id;
  expect(created.body).toEqual({ data: { credential_request_id: requestId } });

  const credential = (position: number, index: number) => ({
    idp_id: "entra",
    relying_party_id: "login.microsoft.com",
    user_id: body.authenticators[position]?.credentials[index]?.user_id,
    state: "processing",
  });
  const read = () => call(`GET /v2/credential-requests/${requestId}`);
  expect((await read()).body).toEqual({
    data: {
      credential_request_id: requestId,
      state: "started",
      enrollment_contacts: body.enrollment_contacts,
      authenticators: [
        { id: "a-01", name: "Desk 4", state: "processing", credentials: [credential(0, 0), credential(0, 1)] },
        { id: "a-02", name: "Pre-Reg Key", state: "processing", credentials: [credential(1, 0)] },
      ],
    },
  });
  const early = await call(`POST /v2/credential-requests/${requestId}/resend-pin`);
  expect(early).toMatchObject({ status: 409, body: { error_data: { error_type: "conflict" } } });

  await peers.rfpr.enroll(idAt(requestId, 0));
  expect((await process()).body).toEqual({ data: { processed: 3, activated: 2, failed: 0, pending: 1 } });
  await peers.rfpr.enroll(idAt(requestId, 1));
  expect((await process()).body).toEqual({ data: { processed: 1, activated: 1, failed: 0, pending: 0 } });
  expect((await read()).body.data).toMatchObject({
    state: "complete",
    authenticators: [{ state: "complete" }, { state: "complete" }],
  });
  const resent = await call(`POST /v2/credential-requests/${requestId}/resend-pin`);
  expect(resent).toMatchObject({ status: 200, body: { data: { sent: 1 } } });
  expect(mailsTo(body.recipient.email)).toHaveLength(2);
});

it("version 1: a credential request is taken, read and its PIN resent, with the user ids as a comma-separated list", async () => {
  const [first, second, to] = [newUser(), newUser(), newUser()];
  const body = {
    recipient: { firstname: "Ada", lastname: "Lovelace", email: to },
    credentials: [{ user_id: first }, { user_id: second }],
    pin_request: { min_length: 8 },
    authenticator_name: "Desk 5",
    enrollment_contacts: { emails_to: [to] },
  };
  const created = await call("POST /v1/credential-requests", { body });
  const requestId: string = created.body.data.credential_request_id;
  expect([created.status, created.body]).toEqual([201, { data: { credential_request_id: requestId } }]);
  const read = async () => (await call(`GET /v1/credential-requests/${requestId}`)).body;
  const credentials = (credential_state: string) =>
    [first, second].map(user_id => ({
      user_id,
      relying_party_id: "login.microsoft.com",
      idp_id: "entra",
      credential_state,
    }));
  expect(await read()).toEqual({
    credential_request_id: requestId,
    credential_request_state: "started",
    credentials: credentials("processing"),
  });
  await peers.rfpr.enroll(idAt(requestId));
  expect(await call("POST /v1/operations/process-credential-requests")).toMatchObject({ status: 204 });
  expect(await read()).toMatchObject({ credential_request_state: "complete", credentials: credentials("active") });
  expect(await call(`POST /v1/credential-requests/${requestId}/resend-pin`)).toMatchObject({ status: 204 });
  const mails = mailsTo(to);
  expect(mails.map(({ text }) => text?.includes(`${first}, ${second}`))).toEqual([true, true]);
  // Either version reads what the other made.
  expect((await call(`GET /v2/credential-requests/${requestId}`)).body.data).toMatchObject({
    state: "complete",
    authenticators: [{ id: "a-01", name: "Desk 5" }],
  });
});

it("a mixed request has both ids, and each job does its part of it", async () => {
  const body = mixedBody([1], [authenticator()]);
  const created = await call("POST /v2/credential-requests", { body });
  const { credential_request_id: requestId, shipment_id: shipmentId } = created.body.data;
  expect([created.status, typeof shipmentId]).toEqual([201, "string"]);
  await peers.rfpr.enroll(idAt(requestId));
  const states = async () => {
    const { data } = (await call(`GET /v2/credential-requests/${requestId}`)).body;
    return [data.state, data.shipment.shipment_items[0].state, data.authenticators[0].state];
  };
  await process();
  expect(await states()).toEqual(["started", "processing", "complete"]);
  expect(await call("GET /v2/operations/process-shipments")).toMatchObject({ status: 204 });
  await process();
  expect(await states()).toEqual(["complete", "complete", "complete"]);
  const users = (await call(`GET /v1/credential-requests/${requestId}`)).body.credentials.map(
    ({ user_id }: Body) => user_id,
  );
  const asked = [...body.shipment.shipment_items, ...body.authenticators].flatMap(each => each.credentials);
  expect(users.toSorted()).toEqual(asked.map(({ user_id }) => user_id).toSorted());
  // The shipment's id names the shipped keys, the request's id all of them.
  const mailsAfter = async (target: string) => {
    const before = mailsTo(body.recipient.email).length;
    expect(await call(target)).toMatchObject({ status: 204 });
    return mailsTo(body.recipient.email).length - before;
  };
  expect(await mailsAfter(`GET /v1/operations/resend-pin/${shipmentId}`)).toBe(1);
  expect(await mailsAfter(`POST /v1/credential-requests/${requestId}/resend-pin`)).toBe(2);
});

it("version 2: revokes only the credential whose position is written as in events", async () => {
  const created = await call("POST /v2/credential-requests", { body: onSiteBody([authenticator(1)]) });
  const requestId: string = created.body.data.credential_request_id;
  await peers.rfpr.enroll(idAt(requestId, 0));
  expect((await process()).body).toMatchObject({ data: { activated: 1 } });
  const revoke = (credential: string, body?: object) =>
    call(`POST /v2/credential-requests/${requestId}/security-keys/a-01/credentials/${credential}/revoke`, { body });
  for (const text of ["1e0", "01", "1.0", "+1", "%201", "0x1", "0", "2", "10000"])
    expect([text, (await revoke(text)).status]).toEqual([text, 404]);
  expect((await revoke("1", { not_registered: true })).status).toBe(409);
  expect((await revoke("1")).status).toBe(200);
  expect((await revoke("1", { not_registered: true })).status).toBe(200);
});
