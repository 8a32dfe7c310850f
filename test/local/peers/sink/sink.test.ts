import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { type Sink, startSink } from "../../../../local/peers/sink/sink.ts";
import { newSinkSecret } from "../../../support/connector/event-sinks.ts";

const [former, next] = [newSinkSecret(), newSinkSecret()];
const body = JSON.stringify({ type: "fido-connector.request.started" });

let sink: Sink;
beforeAll(async () => {
  sink = await startSink({ secrets: () => [former, next] });
});
afterAll(() => sink.close());
beforeEach(() => sink.clearEvents());

const send = async (secret: string, { at = new Date(), content = body } = {}) => {
  const headers = {
    "webhook-id": "one",
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign("one", at, body),
  };
  return (await fetch(`${sink.url}/events`, { method: "POST", body: content, headers })).status;
};

it("accepts events that are signed by any of its secrets, and lists them until the list is emptied", async () => {
  expect([await send(former), await send(next)]).toEqual([204, 204]);
  const listed = async () => (await fetch(`${sink.url}/_control/events`)).json();
  expect(await listed()).toMatchObject([
    { at: expect.any(Number), headers: { "webhook-id": "one" }, body },
    { headers: { "webhook-id": "one" }, body },
  ]);
  expect((await fetch(`${sink.url}/_control/events`, { method: "DELETE" })).status).toBe(204);
  expect(await listed()).toEqual([]);
});

it.each([
  ["signed by an unknown secret", newSinkSecret(), {}],
  ["changed after it was signed", former, { content: `${body} ` }],
  ["older than 5 minutes", former, { at: new Date(Date.now() - 301_000) }],
])("refuses an event that is %s, and does not list it", async (_, secret, change) => {
  expect(await send(secret, change)).toBe(401);
  expect(sink.events()).toEqual([]);
});
