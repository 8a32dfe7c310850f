import { cancelRequest } from "../../../../lib/connector/cancel/cancel-request.ts";
import { revokeNow } from "../../../../lib/connector/cancel/revoke-now.ts";
import { sendEvents } from "../../../../lib/connector/events/send-events.ts";
import { resendPin } from "../../../../lib/connector/pin/resend-pin.ts";
import { hours, minutes, seconds } from "../../../../lib/platform/time.ts";
import type { Peers } from "../../../../local/peers/all.ts";
import type { TestConnector } from "../../../support/connector/test-connector.ts";
import type { Faults } from "../faults.ts";
import type { Random } from "../random.ts";
import type { RandomRun } from "../random-run.ts";
import { isAnswered, newOrder, type Order, submit } from "./orders.ts";

export interface StepContext {
  readonly random: Random;
  readonly run: RandomRun;
  readonly faults: Faults;
  readonly connector: TestConnector;
  readonly hosts: readonly TestConnector[];
  readonly peers: Peers;
  readonly orders: Order[];
}

/** Takes one random step: a call of a caller, a job, a change of a peer, or an advance of the clock. */
export async function takeStep({ random, run, faults, connector, hosts, peers, orders }: StepContext): Promise<void> {
  const host = random.pick(hosts);
  const hostName = `host ${hosts.indexOf(host)}`;
  const mode = random.chance(0.7) ? "timer" : "on_demand";
  const unanswered = orders.filter(order => !isAnswered(order));
  const answered = orders.filter(({ requestId }) => requestId !== undefined);
  const order = answered.length === 0 ? undefined : random.pick(answered);
  const id = order?.requestId ?? "";
  switch (random.weighted(weights)) {
    case "order": {
      if (orders.length >= 6) return;
      const added = newOrder(random);
      orders.push(added);
      return run.start(`${hostName}: ${added.idempotencyKey}`, () => submit(added, host));
    }
    case "repeat": {
      if (unanswered.length === 0) return;
      const repeated = random.pick(unanswered);
      return run.start(`${hostName}: ${repeated.idempotencyKey} again`, () => submit(repeated, host));
    }
    case "time": {
      const ms = random.pick([seconds(20), minutes(1), minutes(7), minutes(20), hours(1), hours(3)]);
      run.log(`${ms / 1000} s later`);
      return connector.advance(ms);
    }
    case "shipments":
      return run.start(`${hostName}: process-shipments`, () => host.runShipments(mode));
    case "credentials":
      return run.start(`${hostName}: process-credential-requests`, () => host.runCredentials(mode));
    case "events":
      return run.start(`${hostName}: send events`, () => sendEvents(host.context));
    case "cancel":
      return order && run.start(`${hostName}: cancel ${id}`, () => cancelRequest(id, host.context));
    case "revoke":
      return (
        order && run.start(`${hostName}: revoke ${id}`, () => revokeNow({ requestId: id }, helpDesk, host.context))
      );
    case "resend":
      if (order === undefined) return;
      order.resends++;
      return run.start(`${hostName}: resend PINs of ${id}`, () => resendPin(id, host.context));
    case "mail": {
      const kind = random.pick(["refuse", "drop", "cut", "nonsense"] as const);
      run.log(`the next mail call: ${kind}`);
      return peers.mail.fail({ kind, phase: random.pick(["before", "after"]), times: random.pick([1, 3]) });
    }
    case "delivery":
      return peers.delivery.settings({ shipAfterMs: random.pick([0, 0, hours(2), hours(30)]) });
    case "shipment": {
      const shipments = await peers.delivery.shipments();
      if (shipments.length === 0) return;
      const change = random.pick(shipmentChanges)(random);
      const { id: shipmentId } = random.pick(shipments);
      run.log(`shipment ${shipmentId}: ${JSON.stringify(change)}`);
      await peers.delivery.control(shipmentId, change);
      return;
    }
    case "rotation":
      run.log("the key maker rotates its keys");
      return peers.delivery.rotateKeys();
    case "agent":
      return peers.rfpr.settings({ eager: random.chance(0.7) });
    case "continue":
      return faults.continueOne();
  }
}

const helpDesk = { kind: "api_token", application: "help-desk" } as const;

/** What the delivery service does with a shipment: it moves it to any state, also backwards, or returns wrong responses. */
const shipmentChanges: readonly ((random: Random) => Parameters<Peers["delivery"]["control"]>[1])[] = [
  random => ({ state: random.pick([1, 6, 8, 99, 101, 102, 104, 105, 106]) }),
  () => ({ ship: true }),
  random => ({ sabotage: random.pick(["wrong-signature", "wrong-key", "other-request", "garbage", null]) }),
];

const weights = {
  order: 12,
  repeat: 8,
  time: 20,
  shipments: 20,
  credentials: 20,
  events: 5,
  cancel: 3,
  revoke: 10,
  resend: 4,
  mail: 1,
  delivery: 1,
  shipment: 6,
  rotation: 1,
  agent: 1,
  continue: 5,
};
