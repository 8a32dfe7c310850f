import { beforeAll } from "vitest";
import type { HostProcess } from "../../support/host/host-process.ts";
import type { Point } from "../kill-points.ts";
import {
  newOrder,
  type Order,
  placed,
  processCredentialRequests,
  processShipments,
  requestOf,
  send,
} from "../orders.ts";
import { type Outcome, outcome, untilQuiet } from "../outcome.ts";
import type { Lane } from "./idp-lanes.ts";

/**
 * Where a host is killed that works on an order of one key: no other call of the host meets the point of the next
 * order. `credentials` of the key is 1 where missing.
 */
export interface KillPoint {
  readonly arrange: (lane: Lane, requestId: string, host: HostProcess) => Point | Promise<Point>;
  readonly credentials?: number;
}

/** Points by their names. One host is killed at all of them. */
export type KillPoints = Readonly<Record<string, KillPoint["arrange"] | KillPoint>>;

/** The orders of the tests of one group, by the names of their points. */
export interface KilledOrders {
  readonly names: readonly string[];
  lane(): Lane;
  /** What became of an order by the work of the next host. */
  outcome(name: string): Promise<Outcome>;
}

interface Killed {
  readonly name: string;
  readonly arrange: KillPoint["arrange"];
  readonly order: Order;
  requestId: string;
}

/** Kills the hosts before the tests of a group. @param next the host that finishes the orders */
function killedOrders(
  laneNow: () => Lane,
  groups: readonly KillPoints[],
  next: "host" | "reconciler",
  kill: (lane: Lane, orders: readonly Killed[]) => Promise<void>,
): KilledOrders {
  const killed = groups.map(points =>
    Object.entries(points).map(([name, point]): Killed => {
      const { arrange, credentials = 1 } = typeof point === "function" ? { arrange: point } : point;
      return { name, arrange, order: newOrder([credentials]), requestId: "" };
    }),
  );
  let lane: Lane;
  beforeAll(async () => {
    lane = laneNow();
    for (const orders of killed) {
      await kill(lane, orders);
      await untilQuiet(await lane[next](), lane.system, ...orders.map(({ requestId }) => requestId));
    }
  });
  return {
    names: killed.flat().map(({ name }) => name),
    lane: () => lane,
    outcome: async name => {
      const { order, requestId } = killed.flat().find(each => each.name === name) as Killed;
      return outcome(order, requestId, { hosts: [await lane[next]()], system: lane.system });
    },
  };
}

/** Orders of which the create was interrupted, one killed host for each group of points. */
export const killedInCreate = (laneNow: () => Lane, ...groups: readonly KillPoints[]): KilledOrders =>
  killedOrders(laneNow, groups, "reconciler", async (lane, orders) => {
    const host = await lane.host();
    await lane.killed(
      orders.map(({ name, arrange, order }) => ({
        name,
        arrange: () => arrange(lane, "", host),
        work: victim => send(victim, order),
      })),
    );
    for (const killed of orders) killed.requestId = await requestOf(killed.order, lane.system);
  });

/** Orders of which the activation was interrupted, one killed host for each group of points. */
export const killedInActivation = (laneNow: () => Lane, ...groups: readonly KillPoints[]): KilledOrders =>
  killedOrders(laneNow, groups, "host", async (lane, orders) => {
    const host = await lane.host();
    await lane.killed(
      orders.map(killed => ({
        name: killed.name,
        work: processCredentialRequests,
        arrange: async () => {
          killed.requestId = await placed(host, killed.order);
          await processShipments(host);
          return killed.arrange(lane, killed.requestId, host);
        },
      })),
    );
  });
