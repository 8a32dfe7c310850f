import { expect, test } from "vitest";
import { runSoon } from "../../../../lib/connector/webhooks/run-soon.ts";
import { peersOfFile } from "../../../support/connector.ts";
import { connectorWith } from "../../../support/event-sinks.ts";

const peers = await peersOfFile();

test("calls during a run start the work once more after its end, also if it failed", async () => {
  const runs: PromiseWithResolvers<void>[] = [];
  const started = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const failures: unknown[] = [];
  const soon = runSoon(
    () => {
      const run = Promise.withResolvers<void>();
      runs.push(run);
      started[runs.length - 1]?.resolve();
      return run.promise;
    },
    error => failures.push(error),
  );
  soon();
  await started[0].promise;
  soon();
  soon();
  expect(runs).toHaveLength(1);
  runs[0]?.reject(new Error("storage is away"));
  await started[1].promise;
  expect(failures).toMatchObject([{ message: "storage is away" }]);
  runs[1]?.resolve();
  await new Promise(resolve => setImmediate(resolve));
  expect(runs).toHaveLength(2);
});

test("each job asks for the events to be sent when it ends", async () => {
  let asked = 0;
  const ports = () => ({ sendEventsSoon: () => void asked++ });
  const connector = await connectorWith(peers, [], { ports });
  await connector.runShipments();
  expect(asked).toBe(1);
  await connector.runCredentials();
  expect(asked).toBe(2);
  await connector.order();
  expect(asked).toBe(2);
});
