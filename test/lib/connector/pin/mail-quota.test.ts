import { expect, test } from "vitest";
import { hours } from "../../../../lib/platform/time.ts";
import { orderBody, peersOfFile, testConnector } from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();

test("the mail service's quota slows the mails of many keys down and loses and doubles none", async () => {
  const connector = await testConnector(peers);
  const body = orderBody(Array<number>(7).fill(1));
  const { requestId } = await connector.orderAndPoll(body);
  const mailed: number[] = [];
  for (const sends of [3, 3, 6, 9]) {
    // The service counts by the real clock, in which all of this is one hour: what it allows anew is what the quota was raised by.
    peers.mail.quota({ sends, seconds: 3600 });
    await connector.runCredentials("timer");
    mailed.push(peers.mail.mails().length);
    // The service returns the rest of its hour as Retry-After; no call is made before.
    const calls = peers.mail.count("POST", /send/);
    await connector.runCredentials("on_demand");
    expect(peers.mail.count("POST", /send/)).toBe(calls);
    connector.advance(hours(1));
  }
  expect(mailed).toEqual([3, 3, 6, 7]);
  const texts = peers.mail.mails().map(({ text = "" }) => text);
  const users = body.shipment.shipment_items.flatMap(({ credentials }) => credentials.map(({ user_id }) => user_id));
  for (const user of users) expect(texts.filter(text => text.includes(user))).toHaveLength(1);
  expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
  expect(await connector.queue("key")).toEqual([]);
});

test("an accepted mail is looked up twice in its run, which is what the quota of look-ups allows for each mail", async () => {
  const connector = await testConnector(peers);
  const { requestId } = await connector.orderAndPoll(orderBody(Array<number>(3).fill(1)));
  peers.mail.outcome({ runningPolls: 2, times: 3 });
  await connector.runCredentials("timer");
  expect(peers.mail.count("GET", /operations/)).toBe(6);
  connector.advance(hours(1));
  await connector.runCredentials("timer");
  expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
  expect(await connector.queue("key")).toEqual([]);
});
