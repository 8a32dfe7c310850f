import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newSinkSecret } from "../support/connector/event-sinks.ts";
import type { HostProcess } from "../support/host/host-process.ts";
import { type HoldRule, type PausingProxy, startPausingProxy } from "../support/host/pausing-proxy.ts";
import { startTestSystem, type TestSystem } from "../support/host/system.ts";
import { arrivals, course, firstArrivals, sinkSettings, startSending, untilDelivered } from "./events.ts";
import { newOrder, type Order, placed, processCredentialRequests, processShipments } from "./orders.ts";
import { activationCalls, fulfilled, mailCalls, outcome, untilQuiet } from "./outcome.ts";
import { writes } from "./writes.ts";

let system: TestSystem;
let proxy: PausingProxy;
let host: HostProcess;

beforeAll(async () => {
  system = await startTestSystem();
  proxy = await startPausingProxy(system.storage.tableUrl);
  host = await startHost();
});

afterAll(async () => {
  await proxy.close();
  await system.close();
});

beforeEach(() => {
  for (const peer of Object.values(system.peers)) peer.clearFaults();
});

let settings: Readonly<Record<string, string>> = {};
const startHost = () => system.startHost({ through: proxy, settings });

/** Kills the host in the middle of a job and starts another one. */
async function killedIn(job: (host: HostProcess) => Promise<void>, point: () => Promise<void>): Promise<void> {
  for (const peer of Object.values(system.peers)) peer.resetRequests();
  const ended = job(host).then(
    () => "answered",
    () => "unanswered",
  );
  await point();
  await host.kill();
  // The start of a timer is answered before the timer has ended.
  if (job !== startSending) expect(await ended).toBe("unanswered");
  host = await startHost();
}

/** The point at which the proxy pauses a write. The paused write never arrives. */
const pausedWrite = (phase: HoldRule["phase"], write: Omit<HoldRule, "phase">) => {
  const hold = proxy.hold({ phase, ...write });
  return async () => {
    await hold.untilHeld();
    hold.drop();
  };
};

/** Runs the jobs until nothing is left to do. Returns the outcome of the order. */
async function finished(order: Order, requestId: string) {
  await untilQuiet(host, system, requestId);
  return outcome(order, requestId, { hosts: [host], system });
}

describe("a host that is killed while it polls a shipment", () => {
  const killedAt = async (arrange: () => () => Promise<void>) => {
    const order = newOrder();
    const requestId = await placed(host, order);
    await killedIn(processShipments, arrange());
    return { end: await finished(order, requestId), order };
  };

  test("during a call of the delivery service: the next host completes the order", async () => {
    const { end, order } = await killedAt(() => {
      system.peers.delivery.fail({ kind: "hang", method: "GET", path: "/v1/fpr/shipments/" });
      return () => system.peers.delivery.untilHanging();
    });
    expect(end).toEqual(fulfilled);
    expect(activationCalls(order, system)).toBe(3);
    expect(mailCalls(system)).toBe(2);
  });

  test("before the result is stored: the order is fulfilled by the next host", async () => {
    const { end, order } = await killedAt(() => pausedWrite("request", writes.pollResult));
    expect(end).toEqual(fulfilled);
    expect(activationCalls(order, system)).toBe(3);
    expect(mailCalls(system)).toBe(2);
  });

  test("after the result is stored, before the index row of polling goes: the order is fulfilled and the row goes", async () => {
    const { end, order } = await killedAt(() => pausedWrite("response", writes.pollResult));
    expect(end).toEqual(fulfilled);
    expect(activationCalls(order, system)).toBe(3);
    expect(mailCalls(system)).toBe(2);
  });
});

describe("a host that is killed while it activates", () => {
  const killedAt = async (arrange: () => () => Promise<void>) => {
    const order = newOrder();
    const requestId = await placed(host, order);
    await processShipments(host);
    await killedIn(processCredentialRequests, arrange());
    return { end: await finished(order, requestId), order };
  };

  test("after the try is recorded, before the IdP is called: every credential is registered by one call", async () => {
    const { end, order } = await killedAt(() => pausedWrite("response", writes.activationTry));
    expect(end).toEqual(fulfilled);
    expect(activationCalls(order, system)).toBe(3);
    expect(mailCalls(system)).toBe(2);
  });

  test("in the call, before the IdP has done it: the credential is not found there and registered by a second call", async () => {
    const { end, order } = await killedAt(() => {
      system.peers.entra.fail({ kind: "hang", method: "POST", path: "fido2Methods$", phase: "before" });
      return () => system.peers.entra.untilHanging();
    });
    expect(end).toEqual(fulfilled);
    expect(activationCalls(order, system)).toBe(4);
  });

  test("in the call, after the IdP has done it: the credential is found there and not registered again", async () => {
    const { end, order } = await killedAt(() => {
      system.peers.entra.fail({ kind: "hang", method: "POST", path: "fido2Methods$", phase: "after" });
      return () => system.peers.entra.untilHanging();
    });
    expect(end).toEqual(fulfilled);
    expect(activationCalls(order, system)).toBe(3);
  });

  test("after the call, before its result is stored: the credential is found there and not registered again", async () => {
    const { end, order } = await killedAt(() => pausedWrite("request", writes.activation));
    expect(end).toEqual(fulfilled);
    expect(activationCalls(order, system)).toBe(3);
    expect(mailCalls(system)).toBe(2);
  });
});

describe("a host that is killed while it mails a PIN", () => {
  const killedAt = async (arrange: () => () => Promise<void>) => {
    const order = newOrder();
    const requestId = await placed(host, order);
    await processShipments(host);
    await killedIn(processCredentialRequests, arrange());
    const end = await finished(order, requestId);
    expect(activationCalls(order, system)).toBe(3);
    return end;
  };

  test("while the PIN is fetched: every key gets its mail", async () => {
    const end = await killedAt(() => {
      system.peers.delivery.fail({ kind: "hang", method: "GET", path: "/v1/fpr/shipments/" });
      return () => system.peers.delivery.untilHanging();
    });
    expect(end).toEqual(fulfilled);
    expect(mailCalls(system)).toBe(2);
  });

  test("after the try is recorded, before the mail service is called: every key gets its mail by one call", async () => {
    expect(await killedAt(() => pausedWrite("response", writes.mailTry))).toEqual(fulfilled);
    expect(mailCalls(system)).toBe(2);
  });

  test("in the call, before the mail service has taken it: the mail is unknown there and sent by a second call", async () => {
    const end = await killedAt(() => {
      system.peers.mail.fail({ kind: "hang", method: "POST", phase: "before" });
      return () => system.peers.mail.untilHanging();
    });
    expect(end).toEqual(fulfilled);
    expect(mailCalls(system)).toBe(3);
  });

  test("in the call, after the mail service has taken it: the mail is found there and not sent again", async () => {
    const end = await killedAt(() => {
      system.peers.mail.fail({ kind: "hang", method: "POST", phase: "after" });
      return () => system.peers.mail.untilHanging();
    });
    expect(end).toEqual(fulfilled);
    expect(mailCalls(system)).toBe(2);
  });

  test("after the mail, before `sent` is stored: the mail is found there and not sent again", async () => {
    expect(await killedAt(() => pausedWrite("request", writes.mailSent))).toEqual(fulfilled);
    expect(mailCalls(system)).toBe(2);
  });
});

describe("a host that is killed while it records or sends events", () => {
  beforeAll(async () => {
    system.peers.vault.set("event-sink-1", newSinkSecret());
    settings = sinkSettings(system);
    await host.kill();
    host = await startHost();
  });

  afterAll(() => {
    settings = {};
  });

  /** Everything that is left of an order, by the next host. */
  const finishedBy = async (requestId: string) => {
    await untilQuiet(host, system, requestId);
    await untilDelivered(host, system, requestId);
    return firstArrivals(system, requestId);
  };

  test.each([
    ["before the row of the events is stored", "request"],
    ["after the row of the events is stored", "response"],
  ] as const)("%s: the next host sends every event, in order", async (_, phase) => {
    const requestId = await placed(host, newOrder([1]));
    await killedIn(processShipments, pausedWrite(phase, writes.eventRow));
    expect(await finishedBy(requestId)).toEqual(course);
  });

  const hangingSink = (phase: "before" | "after") => () => {
    system.peers.sink.fail({ kind: "hang", phase });
    return () => system.peers.sink.untilHanging();
  };

  test.each([
    ["after its lease is stored, before the call", () => pausedWrite("response", writes.deliveryLease), 1],
    ["in the call, before the sink has the event", hangingSink("before"), 1],
    ["in the call, after the sink has the event", hangingSink("after"), 2],
    ["before the answer of the sink is stored", () => pausedWrite("request", writes.deliveryResult), 2],
    ["after the answer of the sink is stored", () => pausedWrite("response", writes.deliveryResult), 1],
  ] as const)("%s: the next host continues after the lease, with the same id", async (_, arrange, times) => {
    const requestId = await placed(host, newOrder([1]));
    await killedIn(startSending, arrange());
    await untilDelivered(host, system, requestId);
    const started = arrivals(system, requestId);
    expect(started.map(({ type }) => type)).toEqual(Array.from({ length: times }, () => "request.started"));
    expect(new Set(started.map(({ id }) => id)).size).toBe(1);
    expect(await finishedBy(requestId)).toEqual(course);
  });
});
