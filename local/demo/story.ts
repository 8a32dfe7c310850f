import * as z from "zod";
import { createdV2 } from "../../lib/connector/api/read-credential-request.ts";
import { audience } from "../peers/all.ts";
import type { Facts } from "../start/run-file.ts";
import { sampleRequest } from "../start/sample-request.ts";
import { type Calls, createCalls } from "./calls.ts";
import { playLostKey } from "./lost-key.ts";
import { playOnSiteKey } from "./on-site.ts";
import type { Narrator } from "./print.ts";
import { shipments, shippedKey } from "./shipped-key.ts";
import { playSignIn } from "./sign-in.ts";
import { showStates } from "./states.ts";

const registrations = z.array(z.object({ userId: z.string(), displayName: z.string() }));
const mails = z.array(z.object({ from: z.string(), to: z.array(z.string()), subject: z.string(), text: z.string() }));

/** Plays the story on a system as soon as it is ready. Rejects if a state or response is another one than expected. */
export async function playStory({
  ready,
  narrator,
  end,
}: {
  readonly ready: Promise<Facts>;
  readonly narrator: Narrator;
  readonly end: AbortSignal;
}): Promise<void> {
  narrator.title("A hardware key, from the order to the PIN email");
  narrator.note("The peers are simulated on this machine; HTTP, storage and cryptography are real.");
  narrator.note("Starting storage, vault, token issuer, delivery service, identity providers, mail service and host …");
  const facts = await ready;
  const { token } = await mint(facts, end);
  const calls = createCalls(facts, token, narrator, end);
  narrator.note(`The host is up at ${facts.host}.`);

  const { credential_request_id: id, shipment_id: shipmentId = "" } = await order(calls, narrator);
  narrator.step(
    "The key is programmed and shipped",
    "The key maker decrypts the request, and the key makes its credential.",
  );
  const serial = await shippedKey(shipmentId, calls, narrator, end);
  await takeOver(id, calls, narrator);
  await activation(id, serial, calls, narrator);
  await mail(serial, calls, narrator);
  await playLostKey({ id, shipmentId }, calls, narrator, end);
  await playOnSiteKey(calls, narrator);
  await playSignIn(calls, narrator);
}

/** Returns a token as the customer's tenant issues it to an application that may call the connector and Core. */
async function mint({ peers }: Facts, end: AbortSignal): Promise<{ token: string }> {
  const response = await fetch(`${peers.issuer}/_control/tokens`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ audience, roles: ["Connector.Call", "Core.Admin"] }),
    signal: end,
  });
  return z.object({ token: z.string() }).parse(await response.json());
}

async function order(calls: Calls, narrator: Narrator): Promise<z.output<typeof createdV2>["data"]> {
  const [item] = sampleRequest.shipment.shipment_items;
  const { first_name, last_name } = sampleRequest.recipient;
  narrator.step(
    "A key is ordered",
    `"${item?.name}" for ${first_name} ${last_name}, with one credential and a PIN of ${item?.pin_request.length} digits.`,
  );
  const { data } = createdV2.parse(await calls.api("POST", "/v2/credential-requests", 201, sampleRequest));
  await calls.showPeerCalls();
  await showStates(data.credential_request_id, ["started", "processing", "processing"], { calls, narrator });
  return data;
}

async function takeOver(id: string, calls: Calls, narrator: Narrator): Promise<void> {
  narrator.step(
    "The key's responses come back",
    "A timer asks the delivery service once an hour. This call does not wait for the timer.",
  );
  await calls.api("GET", "/v2/operations/process-shipments", 204);
  await calls.showPeerCalls();
  await showStates(id, ["started", "processing", "activation_pending"], { calls, narrator });
}

async function activation(id: string, serial: string, calls: Calls, narrator: Narrator): Promise<void> {
  narrator.step(
    "The key is activated, and its PIN mailed",
    "The identity provider verifies the key's signature. Only then the PIN is fetched, decrypted and mailed; it is never stored.",
  );
  await calls.api("POST", "/v2/operations/process-credential-requests", 200);
  await calls.showPeerCalls();
  await showStates(id, ["complete", "complete", "active"], { calls, narrator });
  const [registered, ...others] = await calls.peer("entra", "registrations", registrations);
  if (registered === undefined || others.length > 0)
    throw new Error("there is not one registration at the identity provider.");
  if (!registered.displayName.endsWith(serial))
    throw new Error(`another key was registered: ${registered.displayName}.`);
  narrator.note(`registered at the identity provider: "${registered.displayName}" for ${registered.userId}`);
}

async function mail(serial: string, calls: Calls, narrator: Narrator): Promise<void> {
  narrator.step("The PIN email", "The enrollment contact gets it.");
  const [sent, ...others] = await calls.peer("mail", "mails", mails);
  if (sent === undefined || others.length > 0) throw new Error("there is not one email in the mailbox.");
  const [shipment] = await calls.peer("delivery", "shipments", shipments);
  const pin = shipment?.keys[0]?.pin;
  if (pin === undefined || !sent.text.includes(pin))
    throw new Error(`the email does not contain the PIN of key ${serial}.`);
  const { from, to, subject, text } = sent;
  narrator.frame([
    `From:    ${from}`,
    `To:      ${to.join(", ")}`,
    `Subject: ${subject}`,
    "",
    ...folded(text.trimEnd()),
  ]);
}

const folded = (text: string): readonly string[] =>
  text
    .split(/\r?\n/)
    .flatMap(line => (line === "" ? [""] : (line.match(/.{1,72}(?:\s|$)/g) ?? [line]).map(part => part.trimEnd())));
