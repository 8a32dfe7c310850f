import { describe, expect, test } from "vitest";
import { cancelRequest } from "../../../../lib/connector/cancel/cancel-request.ts";
import type { Due } from "../../../../lib/connector/model/request.ts";
import { between, hours, minutes, seconds } from "../../../../lib/platform/time.ts";
import type { FaultRule, Peer } from "../../../../local/peers/peer.ts";
import { leaseElsewhere, unanswered } from "../../../support/connector/in-a-state.ts";
import { mixedBody, onSiteBody } from "../../../support/connector/on-site.ts";
import {
  peersOfFile,
  refusalOf,
  type TestConnector,
  testConnector,
} from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();

/** Work of a job on one item, and the call of a peer that it makes. */
interface Work {
  readonly queue: Due["queue"];
  /** Creates a request whose item is due now. Returns its id. */
  readonly arrange: (connector: TestConnector) => Promise<string>;
  readonly job: "runShipments" | "runCredentials";
  readonly peer: Peer;
  readonly call: { readonly method: string; readonly path: string };
  /** Minutes that each attempt waits after the one before. */
  readonly waits: readonly number[];
  /** Whether attempts wait for the result of a call that is not refused. */
  readonly isPolling?: boolean;
}

const retries = [1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360];
const polls = [60, 120, 240, 360, 360];

const work: Record<string, Work> = {
  "the poll of a shipment": {
    queue: "poll",
    arrange: async connector => {
      const { requestId, shipmentId = "" } = await connector.order();
      await peers.delivery.control(shipmentId, { state: 101 });
      connector.advance(hours(1));
      return requestId;
    },
    job: "runShipments",
    peer: peers.delivery,
    call: { method: "GET", path: "/shipments/[^/]+$" },
    waits: polls,
    isPolling: true,
  },
  "the look at a shipment on its way": {
    queue: "track",
    arrange: async connector => {
      const { requestId } = await connector.orderAndRun();
      connector.advance(hours(1));
      return requestId;
    },
    job: "runShipments",
    peer: peers.delivery,
    call: { method: "GET", path: "/shipments/[^/]+$" },
    waits: polls,
    isPolling: true,
  },
  "the poll of an authenticator": {
    queue: "key",
    arrange: async connector => {
      const { requestId } = await connector.order(onSiteBody());
      connector.advance(minutes(5));
      return requestId;
    },
    job: "runCredentials",
    peer: peers.rfpr,
    call: { method: "GET", path: "/authenticator-requests/[^/]+$" },
    waits: [5, 10, 20, 40, 60, 60],
    isPolling: true,
  },
  "an activation": {
    queue: "key",
    arrange: async connector => (await connector.orderAndPoll()).requestId,
    job: "runCredentials",
    peer: peers.entra,
    call: { method: "POST", path: "/fido2Methods$" },
    waits: retries,
  },
  "a PIN email": {
    queue: "key",
    arrange: async connector => {
      const { requestId } = await connector.orderAndPoll();
      peers.mail.fail({ kind: "throttle", method: "POST", retryAfter: 60 });
      await connector.runCredentials();
      connector.advance(minutes(1));
      return requestId;
    },
    job: "runCredentials",
    peer: peers.mail,
    call: { method: "POST", path: "/emails:send$" },
    waits: retries,
  },
  "the look-up of an order": {
    queue: "reconcile",
    arrange: async connector => {
      const requestId = await unanswered(connector, peers);
      connector.advance(minutes(15));
      return requestId;
    },
    job: "runCredentials",
    peer: peers.delivery,
    call: { method: "GET", path: "/shipments$" },
    waits: retries,
  },
  "a compensation": {
    queue: "reconcile",
    arrange: async connector => {
      peers.delivery.fail({ kind: "refuse", status: 400, method: "POST", body: { code: "blocked", message: "No." } });
      peers.rfpr.fail({ kind: "drop", method: "DELETE", times: 3 });
      await refusalOf(connector.order(mixedBody()));
      peers.rfpr.clearFaults();
      connector.advance(minutes(5));
      return (await connector.queue("reconcile"))[0]?.requestId ?? "";
    },
    job: "runCredentials",
    peer: peers.rfpr,
    call: { method: "DELETE", path: "/authenticator-requests/[^/]+$" },
    waits: retries,
  },
  "a cancel": {
    queue: "reconcile",
    arrange: async connector => {
      const { requestId } = await connector.order(onSiteBody());
      peers.rfpr.fail({ kind: "throttle", path: "/cancel$", retryAfter: 60, times: 3 });
      await refusalOf(cancelRequest(requestId, connector.context));
      peers.rfpr.clearFaults();
      connector.advance(minutes(1));
      return requestId;
    },
    job: "runCredentials",
    peer: peers.rfpr,
    call: { method: "POST", path: "/cancel$" },
    // After the attempt that the cancel itself made.
    waits: retries.slice(1),
  },
};

describe.each(Object.entries(work))("%s", (_, { queue, arrange, job, peer, call, waits, isPolling = false }) => {
  const calls = () => peer.count(call.method, new RegExp(call.path));
  const failing = (rule: FaultRule) => peer.fail({ ...call, times: 1000, ...rule });
  const due = async () => {
    const connector = await testConnector(peers);
    const requestId = await arrange(connector);
    peer.resetRequests();
    return { connector, requestId };
  };

  test("waits while another host has the lease, until that has expired", async () => {
    const { connector, requestId } = await due();
    const until = await leaseElsewhere(connector, requestId);
    connector.advance(between(connector.now(), until) - 1);
    await connector[job]();
    expect(calls()).toBe(0);
    connector.advance(1);
    await connector[job]();
    expect(calls()).toBe(1);
  });

  test("is done again with back-off, by the timer not before", async () => {
    const { connector, requestId } = await due();
    if (!isPolling) failing({ kind: "refuse", status: 500 });
    const waited: number[] = [];
    for (const _ of waits) {
      await connector[job]("timer");
      const [next] = (await connector.queue(queue)).filter(entry => entry.requestId === requestId);
      const ms = between(connector.now(), next?.at ?? "");
      waited.push(ms / minutes(1));
      connector.advance(ms - 1);
      const before = calls();
      await connector[job]("timer");
      expect(calls()).toBe(before);
      connector.advance(1);
    }
    expect(waited).toEqual(waits);
  });

  test("is done after the peer's Retry-After, on demand not before", async () => {
    const { connector } = await due();
    failing({ kind: "throttle", retryAfter: 7200 });
    await connector[job]();
    expect(calls()).toBe(1);
    connector.advance(seconds(7200) - 1);
    await connector[job]();
    expect(calls()).toBe(1);
    connector.advance(1);
    await connector[job]();
    expect(calls()).toBe(2);
  });
});
