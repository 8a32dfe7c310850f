import { describe, expect, test } from "vitest";
import { hours, minutes } from "../../../../lib/platform/time.ts";
import { crashing, withTable } from "../../../support/connector/crashing.ts";
import {
  connectorWith,
  course,
  firstArrivals,
  idsAt,
  send,
  sinkOfFile,
  typesAt,
} from "../../../support/connector/event-sinks.ts";
import { orderBody, peersOfFile, type TestConnector, withoutPins } from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();
const sink = await sinkOfFile(peers.vault, 1);

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
    await connector.runJobs();
    await send(connector);
  }
}

const phases = ["before", "after"] as const;
const at = (...calls: readonly string[]) => calls.flatMap(call => phases.map(phase => [call, phase] as const));

describe("a host that stops while it changes a request", () => {
  test.each(at("due.upsert", "credentialrequests.replace", "credentialrequests.transact", "due.remove"))(
    "at the first %s, %s it: each event is delivered once and in order",
    async (call, phase) => {
      const connector = await connectorWith(peers, [sink]);
      await connector.orderAndPoll(orderBody([1]));
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
    await connector.orderAndRun(orderBody([1]));
    await stopped(connector, [call, phase], send);
    expect(await send(connector)).toMatchObject({ failed: 0 });
    connector.advance(minutes(4));
    await send(connector);
    expect(firstArrivals(sink)).toEqual(course);
    expect(sink.events().length).toBeLessThanOrEqual(course.length + 1);
  });
});

describe("a host that loses the response to a write of a delivery", () => {
  /** A host whose write of that number is done and then fails by its own ETag, as a repeat by the storage client does. */
  const losing = (connector: TestConnector, lost: number): TestConnector => {
    let writes = 0;
    return connector.anotherInstance({
      tables: withTable("credentialrequests", table => ({
        replace: async (row, etag) => {
          const written = await table.replace(row, etag);
          return row.rowKey.startsWith("delivery:") && ++writes === lost ? undefined : written;
        },
      })),
    });
  };
  const leaseOf = async ({ context }: TestConnector, requestId: string) =>
    (await context.events.load(requestId)).deliveries.get(1)?.value.lease;

  test.each([1, 2, 5])("recognises its write %i by its lease, and sends all events in the same run", async lost => {
    const connector = await connectorWith(peers, [sink]);
    const { requestId } = await connector.orderAndRun(orderBody([1]));
    expect(await send(losing(connector, lost))).toMatchObject({ delivered: 5, failed: 0 });
    expect(typesAt(sink)).toEqual(course);
    expect(await leaseOf(connector, requestId)).toBeUndefined();
  });
});

describe("a host whose result of a call is not stored, because another host has changed the delivery,", () => {
  test.each([
    ["a success", undefined],
    ["a failure", { kind: "refuse", status: 500 }],
  ] as const)("keeps the index row after %s, so that the event is sent after the lease", async (_, fault) => {
    const connector = await connectorWith(peers, [sink]);
    await connector.order(withoutPins(orderBody([1])));
    if (fault !== undefined) sink.fail(fault);
    let writes = 0;
    const host = connector.anotherInstance({
      tables: withTable("credentialrequests", table => ({
        replace: (row, etag) =>
          row.rowKey.startsWith("delivery:") && ++writes === 2 ? Promise.resolve(undefined) : table.replace(row, etag),
      })),
    });
    await send(host);
    expect(writes).toBe(2);
    connector.advance(minutes(4));
    expect(await send(connector)).toMatchObject({ delivered: 1 });
    expect(new Set(idsAt(sink)).size).toBe(1);
  });
});
