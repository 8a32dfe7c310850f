import { expect, test } from "vitest";
import { sendEventsAfterJob } from "../../../../lib/connector/events/send-events.ts";
import { connectorWith, send, sinkOfFile, typesAt } from "../../../support/connector/event-sinks.ts";
import { peersOfFile } from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();
const one = await sinkOfFile(peers.vault, 1);
const two = await sinkOfFile(peers.vault, 2);

test("each job sends events at its end and waits for it, because the platform may stop work after an invocation", async () => {
  const calls: PromiseWithResolvers<void>[] = [];
  const called = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const sendEventsAfterJob = () => {
    const call = Promise.withResolvers<void>();
    calls.push(call);
    called[calls.length - 1]?.resolve();
    return call.promise;
  };
  const connector = await connectorWith(peers, [], { ports: () => ({ sendEventsAfterJob }) });
  await connector.order();
  expect(calls).toEqual([]);
  for (const [index, run] of [connector.runShipments, connector.runCredentials].entries()) {
    let hasEnded = false;
    const job = run().then(() => (hasEnded = true));
    await called[index]?.promise;
    await new Promise(resolve => setImmediate(resolve));
    expect(hasEnded).toBe(false);
    calls[index]?.resolve();
    await job;
  }
});

test("a call that a job ends counts as no failure, and the timer repeats it at once", async () => {
  const connector = await connectorWith(peers, [one, two]);
  await connector.order();
  one.fail({ kind: "hang" });
  const ended = sendEventsAfterJob(connector.context, 2000);
  await one.untilHanging();
  await ended;
  expect(one.requests()).toMatchObject([{ status: null }]);
  expect(typesAt(two)).toEqual(["request.started"]);
  expect(connector.events("event_not_sent")).toEqual([]);
  one.clearFaults();
  expect(await send(connector)).toMatchObject({ delivered: 1, failed: 0 });
  expect(typesAt(one)).toEqual(["request.started"]);
});
