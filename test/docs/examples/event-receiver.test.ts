import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, it } from "vitest";
import { cloudEventOf } from "../../../lib/connector/events/cloud-event.ts";
import { eventExamples } from "../../../local/generate/asyncapi/examples.ts";
import { type Program, startProgram } from "./auth-program.ts";

const newSecret = () => `whsec_${randomBytes(32).toString("base64")}`;
const [secret, nextSecret] = [newSecret(), newSecret()];
const events = Object.values(eventExamples).sort((a, b) => a.sequence - b.sequence);

let receiver: Program;
let url: string;
beforeAll(async () => {
  receiver = start();
  url = await receiver.started;
});
afterAll(() => receiver.child.kill());

function start(env: Readonly<Record<string, string>> = {}): Program {
  return startProgram("event-receiver.mjs", { EVENT_SECRETS: secret, PORT: "0", ...env });
}

let requests = 0;
/** Returns an event of a new request, as it is sent. */
const newEvent = (index = 0) => textOf(index, `request-${++requests}`);
const textOf = (index: number, requestId: string) =>
  JSON.stringify(cloudEventOf({ ...(events[index] as (typeof events)[number]), requestId }));
const idOf = (body: string): string => JSON.parse(body).id;

/** Signs by the library of Standard Webhooks. */
const headersOf = (body: string, { by = secret, at = new Date(), id = idOf(body) } = {}) => ({
  "webhook-id": id,
  "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
  "webhook-signature": new Webhook(by).sign(id, at, body),
});

const send = async (body: string, headers: Readonly<Record<string, string>> = headersOf(body), to = url) =>
  (await fetch(to, { method: "POST", body, headers })).status;

/** Returns what a receiver with these settings printed about the events that `act` sends to it. */
async function linesOf(env: Readonly<Record<string, string>>, act: (to: string) => Promise<void>) {
  const program = start(env);
  try {
    await act(await program.started);
  } finally {
    program.child.kill();
  }
  return (await program.ended).out.split("\n").slice(1, -1);
}

it("accepts every event of a request in order and prints each once, also if it is repeated", async () => {
  const bodies = events.map((_, index) => textOf(index, "ada"));
  const lines = await linesOf({}, async to => {
    for (const body of [...bodies, ...bodies]) expect(await send(body, headersOf(body), to)).toBe(204);
  });
  expect(lines).toEqual([
    "fido-connector.request.started ada 000001 started",
    "fido-connector.key.shipped ada 000002 s-01-001",
    "fido-connector.credential.active ada 000003 s-01-001 active",
    "fido-connector.credential.failed ada 000004 s-01-001 failed",
    "fido-connector.request.ended ada 000005 partial",
    "fido-connector.pin_mail.given_up ada 000006 s-01-001",
    "fido-connector.pin_mail.sent ada 000007 s-01-001",
    "fido-connector.key.delivery_failed ada 000008 s-01-001 exception",
    "fido-connector.key.delivered ada 000009 s-01-001 delivered",
    "fido-connector.credential.revoked ada 000010 s-01-001",
  ]);
});

it("marks an event that arrives after newer ones of its request, and no event of another request", async () => {
  const lines = await linesOf({}, async to => {
    for (const body of [textOf(0, "ada"), textOf(4, "ada"), textOf(3, "ada"), textOf(5, "ada"), textOf(0, "bob")])
      expect(await send(body, headersOf(body), to)).toBe(204);
  });
  expect(lines.map(line => line.split(" ").slice(1).join(" "))).toEqual([
    "ada 000001 started",
    "ada 000005 partial",
    "ada 000004 s-01-001 failed late",
    "ada 000006 s-01-001",
    "bob 000001 started",
  ]);
});

it("keeps a limited number of ids, and drops the events with the latest ones", async () => {
  const bodies = [textOf(0, "ada"), textOf(1, "ada"), textOf(2, "ada")];
  const lines = await linesOf({ KEPT_IDS: "2" }, async to => {
    for (const body of [...bodies, ...bodies.slice(1), ...bodies.slice(0, 1)]) await send(body, headersOf(body), to);
  });
  expect(lines.map(line => line.split(" ")[2])).toEqual(["000001", "000002", "000003", "000001"]);
});

it("refuses forged events", async () => {
  const body = newEvent();
  const good = headersOf(body);
  const forged = [
    headersOf(body, { by: newSecret() }),
    { ...good, "webhook-id": "another" },
    { ...good, "webhook-timestamp": String(Number(good["webhook-timestamp"]) + 1) },
    { ...good, "webhook-signature": "" },
    { ...good, "webhook-signature": "v1," },
    { ...good, "webhook-signature": `v1,${Buffer.alloc(32).toString("base64")}` },
    { ...good, "webhook-signature": good["webhook-signature"].replace("v1,", "v1a,") },
    { ...good, "webhook-signature": good["webhook-signature"].replace("v1,", "") },
    {},
  ];
  for (const headers of forged) expect(await send(body, headers)).toBe(401);
  expect(await send(`${body} `, good)).toBe(401);
  expect(await send(body, good)).toBe(204);
});

it.each([
  ["6 minutes old", -360, 401],
  ["4 minutes old", -240, 204],
  ["4 minutes early", 240, 204],
  ["6 minutes early", 360, 401],
])("responds to a delivery that is %s: by %s seconds, %i", async (_, seconds, status) => {
  const body = newEvent();
  expect(await send(body, headersOf(body, { at: new Date(Date.now() + seconds * 1000) }))).toBe(status);
});

it("refuses a timestamp that is not a number", async () => {
  const body = newEvent();
  const id = idOf(body);
  const signature = new Webhook(secret).sign(id, new Date(Number.NaN), body);
  const headers = { "webhook-id": id, "webhook-timestamp": "NaN", "webhook-signature": signature };
  expect(await send(body, headers)).toBe(401);
});

it("accepts an event if one of several signatures is right, in any position", async () => {
  for (const isFirst of [true, false]) {
    const body = newEvent();
    const [own, other] = [headersOf(body), headersOf(body, { by: newSecret() })].map(
      headers => headers["webhook-signature"],
    );
    const signatures = isFirst ? `${own} v2,x ${other}` : `v2,x ${other} ${own}`;
    expect(await send(body, { ...headersOf(body), "webhook-signature": signatures })).toBe(204);
  }
});

it("accepts both secrets during a rotation, and no third one", async () => {
  const lines = await linesOf({ EVENT_SECRETS: `${secret}, ${nextSecret}` }, async to => {
    for (const by of [secret, nextSecret]) {
      const body = newEvent();
      expect(await send(body, headersOf(body, { by }), to)).toBe(204);
    }
    const body = newEvent();
    expect(await send(body, headersOf(body, { by: newSecret() }), to)).toBe(401);
  });
  expect(lines).toHaveLength(2);
});

it("responds to an event that it cannot read so that it is repeated, and continues", async () => {
  expect(await send("no JSON", headersOf("no JSON", { id: "an-id" }))).toBe(500);
  expect(await send(newEvent())).toBe(204);
});

it("refuses other methods, and a body that is too large", async () => {
  expect((await fetch(url)).status).toBe(405);
  const large = JSON.stringify({ text: "x".repeat(65_536) });
  expect(await send(large, headersOf(large, { id: "an-id" }))).toBe(413);
});

it.each(["", "whsec_", "whsec_c2hvcnQ=", `${secret},`])("does not start with the secret %j", async EVENT_SECRETS => {
  const { code, error } = await start({ EVENT_SECRETS }).ended;
  expect([code, error]).toEqual([1, expect.stringContaining("EVENT_SECRETS needs whsec_")]);
});
