import { expect, test } from "vitest";
import { revokeNow } from "../../../lib/connector/cancel/revoke-now.ts";
import { sendEvents } from "../../../lib/connector/events/send-events.ts";
import { minutes } from "../../../lib/platform/time.ts";
import type { Peers } from "../../../local/peers/all.ts";
import { crashing } from "../../support/connector/crashing.ts";
import { authenticator, authenticatorsOf, idAt, mixedBody, onSiteBody } from "../../support/connector/on-site.ts";
import { orderBody, type TestConnector } from "../../support/connector/test-connector.ts";
import { type Order, orderOf, submit } from "../random-faults/connector/orders.ts";
import { wrongOutcomes } from "../random-faults/connector/outcome.ts";
import { openConnector, repair } from "../random-faults/connector/system.ts";
import { faultsOf, faultyHost } from "./faulty-host.ts";

type Step = (order: Order, connector: TestConnector, peers: Peers) => Promise<unknown>;

/** Work on an order: what comes before, the work of the host with the fault, and the states in which the order may end. */
interface Flow {
  readonly name: string;
  readonly newOrder: () => Order;
  readonly before: readonly Step[];
  readonly work: Step;
  readonly ends: readonly string[];
  /** The work once more, by a healthy host: that of no timer. */
  readonly finish?: (connector: TestConnector) => Promise<unknown>;
}

/** One fault in the work on an order. */
interface Play {
  readonly name: string;
  readonly order: Order;
  /** Lets the host go on, and the late call of a dead one arrive. */
  continued(): Promise<unknown>;
}

const shippedTo = (idp: string) => () => orderOf(orderBody([1]), () => idp);
const onSite = () => orderOf(onSiteBody(), () => "pingone");
const mixed = () => orderOf(mixedBody([1], [authenticator()]), () => "entra");

const shipments: Step = (_, connector) => connector.runShipments();
const enrolled: Step = ({ requestId = "" }, _, { rfpr }) => rfpr.enroll(idAt(requestId));
const credentials: Step = (_, connector) => connector.runCredentials();
/** A create whose host dies when it has sent the authenticators. The job compensates it from now on. */
const abandoned: Step = async (order, connector) => {
  const dying = crashing("rfpr.put", "after", "all");
  void submit(order, connector.anotherInstance(dying.options)).catch(() => undefined);
  await dying.died;
  connector.advance(minutes(6));
};
const past: Step = async (order, connector) => {
  order.isErased = true;
  connector.advance(minutes(6));
};
/** Of what has ended five minutes before. */
const cleanUp = (connector: TestConnector) => connector.runCleanUp(1 / 288);
const events: Step = (_, { context }) => sendEvents(context);
const revoke: Step = ({ requestId = "" }, { context }) =>
  revokeNow({ requestId }, { kind: "api_token", application: "help-desk" }, context);

const creates = { before: [], work: submit, ends: ["complete", "failed"] };
const activates = { before: [submit, shipments], work: credentials, ends: ["complete"] };

const flows: readonly Flow[] = [
  { name: "creates a request with a shipment and an authenticator", newOrder: mixed, ...creates },
  { name: "creates a request with an authenticator", newOrder: onSite, ...creates },
  { name: "activates a credential at Entra ID", newOrder: shippedTo("entra"), ...activates },
  { name: "activates a credential at PingOne", newOrder: shippedTo("pingone"), ...activates },
  {
    name: "activates a credential at Advanced Identity Cloud",
    newOrder: shippedTo("aic"),
    ...activates,
    // What was registered cannot be looked up there, and the same response is refused a second time.
    ends: ["complete", "failed"],
  },
  {
    name: "takes over an authenticator that was enrolled",
    newOrder: onSite,
    before: [submit, enrolled],
    work: credentials,
    ends: ["complete"],
  },
  { ...activates, name: "polls a shipment", newOrder: shippedTo("entra"), before: [submit], work: shipments },
  {
    name: "compensates what a create has left",
    newOrder: onSite,
    before: [abandoned],
    work: credentials,
    ends: ["complete"],
  },
  {
    name: "cleans up",
    newOrder: onSite,
    before: [submit, enrolled, credentials, past],
    work: (_, connector) => cleanUp(connector),
    ends: [],
    finish: cleanUp,
  },
  { ...activates, name: "sends events", newOrder: shippedTo("entra"), before: [submit], work: events },
  {
    ...activates,
    name: "revokes a credential",
    newOrder: shippedTo("entra"),
    before: [submit, shipments, credentials],
    work: revoke,
  },
];

test.each(flows)(
  "a host that $name, and dies or stops at any of its calls, neither loses nor doubles anything",
  { timeout: 600_000 },
  async ({ newOrder, before, work, ends, finish = async () => {} }) => {
    // An order that is not found is looked up once.
    const { connector, peers } = await openConnector({ reconcileForMs: 0 });
    const begin = async (): Promise<Order> => {
      peers.rfpr.settings({ eager: false });
      const order = newOrder();
      for (const step of before) await step(order, connector, peers);
      return order;
    };
    const counted = faultyHost();
    const orders = [await begin()];
    await work(orders[0] as Order, connector.anotherInstance(counted.options), peers);
    expect(counted.calls.length).toBeGreaterThan(0);

    const hosts = [connector];
    const plays: Play[] = [];
    for (const [number, fault] of faultsOf(counted.calls)) {
      const order = await begin();
      const { options, met, goOn, calls } = faultyHost(fault, number);
      const host = connector.anotherInstance(options);
      const ended = work(order, host, peers).catch(() => undefined);
      await Promise.race([met, ended]);
      orders.push(order);
      hosts.push(host);
      const continued = () => (fault.startsWith("dies") ? goOn() : goOn().then(() => ended));
      plays.push({ name: `${fault}: ${calls[number]?.name.slice(0, 200)}`, order, continued });
      // What the host has not leased is no work of the next one.
      await connector.runJobs();
      await finish(connector);
    }
    const playOf = (sentence: string) => plays.find(({ order }) => sentence.includes(order.requestId ?? order.email));
    /** Lets a healthy host and the callers finish everything. Expects that each order has come to one of the ends. */
    const expectRepaired = async () => {
      await repair({ connector, peers, orders });
      await finish(connector);
      const wrong = [...(await wrongOutcomes({ orders, peers, connector, hosts }))];
      for (const { requestId = "", isErased } of orders) {
        const state = isErased ? undefined : (await connector.requestRow(requestId)).state;
        if (state !== undefined && !ends.includes(state)) wrong.push(`${requestId} is ${state}`);
        if (isErased && authenticatorsOf(peers, requestId).length > 0) wrong.push(`${requestId} left an authenticator`);
      }
      expect(wrong.map(sentence => `${sentence} (${playOf(sentence)?.name})`)).toEqual([]);
    };
    await expectRepaired();
    for (const { continued } of plays) await continued();
    await expectRepaired();
  },
);
