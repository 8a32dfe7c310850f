import { describe, expect, test } from "vitest";
import { hours, minutes } from "../../../../lib/time.ts";
import { crashing } from "../../../support/connector/crashing.ts";
import { connectorWith, idsAt, send, sinkOfFile, typesAt } from "../../../support/connector/event-sinks.ts";
import { orderBody, peersOfFile, type TestConnector } from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();
const sink = await sinkOfFile(peers.vault, 1);

const course = ["request.started", "key.shipped", "credential.active", "request.ended", "pin_mail.sent"];

/** Runs `work` on a host that stops at a call. */
async function stopped(
  connector: TestConnector,
  [at, phase]: readonly [string, "before" | "after"],
  work: (host: TestConnector) => Promise<unknown>,
): Promise<void> {
  const { died, options } = crashing(at, phase);
  const ports: typeof options.ports = (context, clock) => ({
    sendEventsAfterJob: async () => {},
    ...options.ports(context, clock),
  });
  const host = connector.anotherInstance({ ...options, ports });
  const ended = work(host).then(
    () => "ended",
    () => "failed",
  );
  expect(await Promise.race([died, ended])).toContain(at.split(" ")[0]);
}

/** Runs the jobs of a healthy host, after every lease, until all events are delivered. */
async function continued(connector: TestConnector): Promise<void> {
  for (let round = 0; round < 3; round++) {
    connector.advance(hours(1));
    await connector.runShipments();
    await connector.runCredentials();
    await send(connector);
  }
}

/** The types of the events in the order in which each arrived first. */
function firstArrivals(): readonly string[] {
  const ids = idsAt(sink);
  const types = typesAt(sink);
  return types.filter((_, index) => ids.indexOf(ids[index] ?? "") === index);
}

const phases = ["before", "after"] as const;
const at = (...calls: readonly string[]) => calls.flatMap(call => phases.map(phase => [call, phase] as const));

describe("a host that stops while it changes a request", () => {
  test.each(at("due.upsert", "credentialrequests.replace", "credentialrequests.transact", "due.remove"))(
    "at the first %s, %s it: each event is delivered once and in order",
    async (call, phase) => {
      const connector = await connectorWith(peers, [sink]);
      await connector.order(orderBody([1]));
      await connector.runShipments();
      await stopped(connector, [call, phase], host => host.runCredentials());
      await continued(connector);
      expect(typesAt(sink)).toEqual(course);
      const sequences = sink.events().map(({ body }) => JSON.parse(body).sequence);
      expect(sequences).toEqual(course.map((_, index) => String(index + 1).padStart(6, "0")));
    },
  );
});

describe("a host that stops while it sends events", () => {
  test.each(
    at("credentialrequests.replace", "credentialrequests.replace 2", "credentialrequests.replace 6", "due.remove"),
  )("at %s, %s it: no event is lost, and a repeated one has the same id", async (call, phase) => {
    const connector = await connectorWith(peers, [sink]);
    await connector.order(orderBody([1]));
    await connector.runShipments();
    await connector.runCredentials();
    await stopped(connector, [call, phase], send);
    expect(await send(connector)).toMatchObject({ failed: 0 });
    connector.advance(minutes(4));
    await send(connector);
    expect(firstArrivals()).toEqual(course);
    expect(sink.events().length).toBeLessThanOrEqual(course.length + 1);
  });

  test("during the call, before the sink receives the event: the event is sent after the lease", async () => {
    const connector = await connectorWith(peers, [sink]);
    await connector.order(orderBody([1]));
    sink.fail({ kind: "hang", phase: "before" });
    const sent = send(connector.anotherInstance());
    await sink.untilHanging();
    expect(await send(connector)).toMatchObject({ delivered: 0, failed: 0 });
    connector.advance(minutes(4));
    expect(await send(connector)).toMatchObject({ delivered: 1 });
    sink.clearFaults();
    await sent;
    expect(typesAt(sink)).toEqual(["request.started"]);
  });
});
