import { expect, test } from "vitest";
import { PeerFailure } from "../../../../lib/platform/peer-failure.ts";
import { days, minutes, plus } from "../../../../lib/platform/time.ts";
import { withPort } from "../../../support/connector/changed-peers.ts";
import { crashing } from "../../../support/connector/crashing.ts";
import {
  orderBody,
  peersOfFile,
  refusalOf,
  type TestConnector,
  testConnector,
  withoutPins,
} from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();

test("an order intent that a crash has left is looked up until the delivery service lists the order", async () => {
  let isHidden = true;
  const connector = await testConnector(peers, {
    fetch: async (url, init) =>
      isHidden && String(url).includes("search=") ? Response.json({ shipments: [] }) : fetch(url, init),
  });
  const dying = crashing("delivery.createShipment", "after");
  void connector
    .anotherInstance(dying.options)
    .order(withoutPins(orderBody()))
    .catch(() => undefined);
  await dying.died;
  const [{ requestId } = { requestId: "" }] = await connector.queue("reconcile");
  for (let hour = 0; hour < 6; hour++) {
    connector.advance(minutes(60));
    await connector.runCredentials("timer");
  }
  expect(await connector.read(requestId)).toMatchObject({
    state: "received",
    error_message: expect.stringContaining("Before you order again, search there for the customer reference."),
  });
  expect(connector.events("delivery_unanswered")).toMatchObject([{ credentialRequestId: requestId }]);
  isHidden = false;
  connector.advance(days(1));
  await connector.runCredentials("timer");
  expect(await connector.read(requestId)).toMatchObject({ state: "started" });
});

test.each([
  ["is looked up later if the job has only written its request", minutes(6), true, "reconcile", /has not confirmed/],
  ["stays linked to the shipment that the job has found", minutes(16), true, "poll", undefined],
  ["stays ended as the job has ended it", days(4), false, "clean", /never confirmed/],
] as const)("an order whose call fails after a run of the job %s", async (_, afterMs, isTaken, queue, message) => {
  const connector: TestConnector = await testConnector(peers, {
    ports: withPort("delivery", ({ createShipment }, clock) => ({
      createShipment: async order => {
        if (isTaken) await createShipment(order);
        clock.advance(afterMs);
        await connector.runCredentials();
        throw new PeerFailure("delivery service", "order", "unanswered");
      },
    })),
  });
  expect(await refusalOf(connector.order(withoutPins(orderBody())))).toMatchObject({ status: 500 });
  const [{ requestId } = { requestId: "" }] = await connector.queue(queue);
  const { due, delivery, errorMessage } = await connector.requestRow(requestId);
  if (queue === "reconcile") expect(due?.at).toBe(plus(delivery?.sentAt ?? "", minutes(15)));
  if (message === undefined) expect(errorMessage).toBeUndefined();
  else expect(errorMessage).toMatch(message);
  expect(delivery?.shipment?.tentative).toBe(queue === "poll" ? true : undefined);
});
