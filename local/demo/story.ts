import { setTimeout as wait } from "node:timers/promises";
import * as z from "zod";
import { createdV2 } from "../../lib/connector/api/v2/read-credential-request.ts";
import { audience } from "../peers/all.ts";
import type { Facts } from "../start/run-file.ts";
import { sampleRequest } from "../start/sample-request.ts";
import { type Calls, createCalls } from "./calls.ts";
import { tellOnSite } from "./on-site.ts";
import type { Teller } from "./print.ts";
import { tellStates } from "./states.ts";

const shipments = z.array(
  z.object({ id: z.string(), state: z.number(), keys: z.array(z.object({ serial: z.string(), pin: z.string() })) }),
);
const registrations = z.array(z.object({ userId: z.string(), displayName: z.string() }));
const mails = z.array(z.object({ from: z.string(), to: z.array(z.string()), subject: z.string(), text: z.string() }));

/** The delivery service's own numbers (decision C10). */
const shipmentStates: Readonly<Record<number, string>> = {
  101: "received",
  102: "in production",
  103: "programmed and shipped",
};

/** Plays the story on a system as soon as it is up. Rejects where something is not as it should be. */
export async function tellStory({
  ready,
  teller,
  end,
}: {
  readonly ready: Promise<Facts>;
  readonly teller: Teller;
  readonly end: AbortSignal;
}): Promise<void> {
  teller.title("A hardware key, from the order to the PIN mail");
  teller.note("The peers are simulated on this machine; HTTP, storage and cryptography are real.");
  teller.note("Starting storage, vault, token issuer, delivery service, identity providers, mail service and host …");
  const facts = await ready;
  const { token } = await mint(facts, end);
  const calls = createCalls(facts, token, teller, end);
  teller.note(`The host is up at ${facts.host}.`);

  const id = await order(calls, teller);
  const serial = await programming(calls, teller, end);
  await takeOver(id, calls, teller);
  await activation(id, serial, calls, teller);
  await mail(serial, calls, teller);
  await tellOnSite(calls, teller);
}

/** A token as the customer's tenant gives it to the application that calls the connector (decision G3). */
async function mint({ peers }: Facts, end: AbortSignal): Promise<{ token: string }> {
  const response = await fetch(`${peers.issuer}/_control/tokens`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ audience, roles: ["Connector.Call"] }),
    signal: end,
  });
  return z.object({ token: z.string() }).parse(await response.json());
}

async function order(calls: Calls, teller: Teller): Promise<string> {
  const [item] = sampleRequest.shipment.shipment_items;
  const { first_name, last_name } = sampleRequest.recipient;
  teller.step(
    "A key is ordered",
    `"${item?.name}" for ${first_name} ${last_name}, with one credential and a PIN of ${item?.pin_request.length} digits.`,
  );
  const answer = createdV2.parse(await calls.api("POST", "/v2/credential-requests", 201, sampleRequest));
  await calls.tellPeerCalls();
  const id = answer.data.credential_request_id;
  await tellStates(id, ["started", "processing", "processing"], { calls, teller });
  return id;
}

/** Follows the shipment until the key is made. Returns the key's serial number. */
async function programming(calls: Calls, teller: Teller, end: AbortSignal): Promise<string> {
  teller.step(
    "The key is programmed and shipped",
    "The key maker decrypts the request, and the key makes its credential.",
  );
  let told: number | undefined;
  for (;;) {
    const [shipment] = await calls.peer("delivery", "shipments", shipments);
    if (shipment === undefined) throw new Error("the delivery service has no shipment.");
    if (shipment.state !== told) teller.note(`shipment ${shipmentStates[shipment.state] ?? shipment.state}`);
    told = shipment.state;
    const [key] = shipment.keys;
    if (told === 103 && key !== undefined) return key.serial;
    await wait(100, undefined, { signal: end });
  }
}

async function takeOver(id: string, calls: Calls, teller: Teller): Promise<void> {
  teller.step(
    "The key's answer comes back",
    "A timer asks for it once an hour. This call does not wait for the timer.",
  );
  await calls.api("GET", "/v2/operations/process-shipments", 204);
  await calls.tellPeerCalls();
  await tellStates(id, ["started", "processing", "activation_pending"], { calls, teller });
}

async function activation(id: string, serial: string, calls: Calls, teller: Teller): Promise<void> {
  teller.step(
    "The key is activated, and its PIN mailed",
    "The identity provider verifies what the key has signed. Only then the PIN is fetched, opened, mailed and forgotten.",
  );
  await calls.api("POST", "/v2/operations/process-credential-requests", 200);
  await calls.tellPeerCalls();
  await tellStates(id, ["complete", "complete", "active"], { calls, teller });
  const [registered, ...others] = await calls.peer("entra", "registrations", registrations);
  if (registered === undefined || others.length > 0)
    throw new Error("there is not one registration at the identity provider.");
  if (!registered.displayName.endsWith(serial))
    throw new Error(`another key was registered: ${registered.displayName}.`);
  teller.note(`registered at the identity provider: "${registered.displayName}" for ${registered.userId}`);
}

async function mail(serial: string, calls: Calls, teller: Teller): Promise<void> {
  teller.step("The PIN mail", "What the enrollment contact finds in the mailbox.");
  const [sent, ...others] = await calls.peer("mail", "mails", mails);
  if (sent === undefined || others.length > 0) throw new Error("there is not one mail in the mailbox.");
  const [shipment] = await calls.peer("delivery", "shipments", shipments);
  const pin = shipment?.keys[0]?.pin;
  if (pin === undefined || !sent.text.includes(pin))
    throw new Error(`the mail does not hold the PIN of key ${serial}.`);
  const { from, to, subject, text } = sent;
  teller.frame([`From:    ${from}`, `To:      ${to.join(", ")}`, `Subject: ${subject}`, "", ...folded(text.trimEnd())]);
}

const folded = (text: string): readonly string[] =>
  text
    .split(/\r?\n/)
    .flatMap(line => (line === "" ? [""] : (line.match(/.{1,72}(?:\s|$)/g) ?? [line]).map(part => part.trimEnd())));
