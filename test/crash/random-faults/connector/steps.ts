import { cancelRequest } from "../../../../lib/connector/cancel/cancel-request.ts";
import { resendPin } from "../../../../lib/connector/pin/resend-pin.ts";
import { sendEvents } from "../../../../lib/connector/webhooks/send-events.ts";
import { hours, minutes, seconds } from "../../../../lib/time.ts";
import type { Peers } from "../../../../local/peers/all.ts";
import type { TestConnector } from "../../../support/connector/test-connector.ts";
import type { Draw } from "../draw.ts";
import type { Faults } from "../faults.ts";
import type { Play } from "../play.ts";
import { isAnswered, newOrder, type Order, submit } from "./orders.ts";

export interface Stage {
  readonly draw: Draw;
  readonly play: Play;
  readonly faults: Faults;
  readonly connector: TestConnector;
  readonly hosts: readonly TestConnector[];
  readonly peers: Peers;
  readonly orders: Order[];
}

/** One random step of a caller, a timer, a peer, or of time. */
export async function takeStep({ draw, play, faults, connector, hosts, peers, orders }: Stage): Promise<void> {
  const host = draw.pick(hosts);
  const at = `host ${hosts.indexOf(host)}`;
  const mode = draw.chance(0.7) ? "timer" : "on_demand";
  const open = orders.filter(order => !isAnswered(order));
  const known = orders.filter(({ requestId }) => requestId !== undefined);
  const order = known.length === 0 ? undefined : draw.pick(known);
  const id = order?.requestId ?? "";
  switch (draw.weighted(weights)) {
    case "order": {
      if (orders.length >= 6) return;
      const made = newOrder(draw);
      orders.push(made);
      return play.start(`${at}: ${made.idempotencyKey}`, () => submit(made, host));
    }
    case "repeat": {
      if (open.length === 0) return;
      const repeated = draw.pick(open);
      return play.start(`${at}: ${repeated.idempotencyKey} again`, () => submit(repeated, host));
    }
    case "time": {
      const ms = draw.pick([seconds(20), minutes(1), minutes(7), minutes(20), hours(1), hours(3)]);
      play.note(`${ms / 1000} s later`);
      return connector.advance(ms);
    }
    case "shipments":
      return play.start(`${at}: process-shipments`, () => host.runShipments(mode));
    case "credentials":
      return play.start(`${at}: process-credential-requests`, () => host.runCredentials(mode));
    case "events":
      return play.start(`${at}: send events`, () => sendEvents(host.context));
    case "cancel":
      return order && play.start(`${at}: cancel ${id}`, () => cancelRequest(id, host.context));
    case "resend":
      if (order === undefined) return;
      order.resends++;
      return play.start(`${at}: resend PINs of ${id}`, () => resendPin(id, host.context));
    case "mail": {
      const kind = draw.pick(["refuse", "drop", "cut", "nonsense"] as const);
      play.note(`the next mail call: ${kind}`);
      return peers.mail.fail({ kind, phase: draw.pick(["before", "after"]), times: draw.pick([1, 3]) });
    }
    case "delivery":
      return peers.delivery.settings({ shipAfterMs: draw.pick([0, 0, hours(2), hours(30)]) });
    case "agent":
      return peers.rfpr.settings({ eager: draw.chance(0.7) });
    case "continue":
      return faults.continueOne();
  }
}

const weights = {
  order: 12,
  repeat: 8,
  time: 20,
  shipments: 20,
  credentials: 20,
  events: 5,
  cancel: 3,
  resend: 4,
  mail: 1,
  delivery: 1,
  agent: 1,
  continue: 5,
};
