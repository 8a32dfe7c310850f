import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EmailClient } from "@azure/communication-email";
import { afterAll, beforeAll, expect, test } from "vitest";
import { closePeers, type Peers, startPeers } from "../../../local/peers/all.ts";
import type { PeerName } from "../../../local/peers/peer-names.ts";
import { createRequester } from "./delivery/requester.ts";
import { createRfprCaller } from "./enrollment/requester.ts";

let directory: string;
let peers: Peers;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "peers-"));
  peers = await startPeers(directory);
});
afterAll(async () => {
  await closePeers(peers);
  rmSync(directory, { recursive: true });
});

test.each<[PeerName, string]>([
  ["issuer", "tokens"],
  ["delivery", "shipments/one"],
  ["delivery", "settings"],
  ["delivery", "rotate-keys"],
  ["enrollment", "revoke-credential"],
  ["enrollment", "settings"],
  ["rfpr", "authenticator-requests/one"],
  ["rfpr", "authenticator-requests/one/enroll"],
  ["rfpr", "settings"],
  ...(["entra", "pingone", "aic"] as const).flatMap<[PeerName, string]>(idp => [
    [idp, "settings"],
    [idp, "users/one"],
  ]),
  ["mail", "outcomes"],
  ["mail", "suppressed"],
])("the control of %s at %s names a field that it does not know", async (name, path) => {
  const call = (body: string) => fetch(`${peers[name].url}/_control/${path}`, { method: "POST", body });
  const answer = await call('{"surprise":1}');
  expect(answer.status).toBe(400);
  const { problems } = (await answer.json()) as { problems: unknown };
  expect(problems).toContainEqual({ path: "surprise", reason: "unknown field" });
  expect((await call("{")).status).toBe(400);
});

test("every peer has its state again after a restart", async () => {
  const { vault, issuer, delivery, enrollment, rfpr, mail } = peers;
  const deliveryToken = vault.get("delivery-api-token");
  const exchanged = await fetch(`${enrollment.url}/v1/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: vault.get("enrollment-credential") ?? "",
      subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
    }),
  });
  const { access_token: token } = (await exchanged.json()) as { access_token: string };
  const callerOf = (of: Peers) => createRfprCaller(of.delivery, of.rfpr, () => token);
  const ids: string[] = [];
  for (let order = 0; order < 2; order++)
    ids.push((await createRequester(delivery, deliveryToken).order([{ pinLength: 6 }])).shipment.shipment_id);
  const [shipped = "", waiting = ""] = ids;
  await delivery.control(shipped, { ship: true });
  const caller = callerOf(peers);
  const [enrolled, waitingRequest, deleted] = [await caller.put(), await caller.put(), await caller.put()];
  await rfpr.enroll(enrolled.id);
  await caller.call("DELETE", deleted.id);
  vault.set("kept", "once");
  await issuer.mint({ audience: "api://local" });
  await new EmailClient(mail.connectionString, { allowInsecureConnection: true }).beginSend({
    senderAddress: "keys@example.org",
    recipients: { to: [{ address: "one@example.org" }] },
    content: { subject: "Your key", plainText: "PIN" },
  });

  const json = async (url: string) => (await fetch(url)).json();
  const stateOf = async (of: Peers) => ({
    secrets: [of.vault.get("kept"), of.vault.get("password-pepper")],
    issuer: await json(`${of.issuer.url}/discovery/v2.0/keys`),
    delivery: [await json(of.delivery.transportJwksUrl), of.delivery.attestationRoot],
    shipment: await createRequester(of.delivery, deliveryToken).read(shipped),
    isValid: of.enrollment.isValid(token),
    requests: of.rfpr.authenticatorRequests(),
    enrolled: await callerOf(of).read(enrolled.id),
    mails: of.mail.mails(),
  });
  const before = await stateOf(peers);
  await closePeers(peers);
  peers = await startPeers(directory);
  expect(await stateOf(peers)).toEqual(before);
  expect((await callerOf(peers).call("GET", deleted.id)).status).toBe(410);
  await peers.delivery.control(waiting, { ship: true });
  await peers.rfpr.enroll(waitingRequest.id);
  const serials = [
    ...(await peers.delivery.shipments()).flatMap(({ keys }) => keys.map(({ serial }) => serial)),
    ...peers.rfpr.authenticatorRequests().flatMap(({ serialNumber }) => serialNumber ?? []),
  ];
  expect(serials).toHaveLength(4);
  expect(new Set(serials).size).toBe(4);
});
