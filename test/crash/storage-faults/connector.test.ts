import { afterAll, beforeAll, expect, test } from "vitest";
import { createBodyV2 } from "../../../lib/connector/api/body-to-draft.ts";
import { cancelRequest } from "../../../lib/connector/cancel/cancel-request.ts";
import { createRequest } from "../../../lib/connector/create/create-request.ts";
import { resendPin } from "../../../lib/connector/pin/resend-pin.ts";
import { openTables } from "../../../lib/platform/azure/tables.ts";
import { days, minutes } from "../../../lib/platform/time.ts";
import {
  newUser,
  orderBody,
  peersOfFile,
  type TestConnector,
  testConnector,
} from "../../support/connector/test-connector.ts";
import { storageTimeoutMs } from "../../support/storage/fresh-storage.ts";
import { type FaultProxy, playsOf, startFaultProxy } from "./fault-proxy.ts";

const peers = await peersOfFile();
/** The connector whose storage has the faults, and another one on the same storage. */
let faulty: TestConnector;
let healthy: TestConnector;
let proxy: FaultProxy;

beforeAll(async () => {
  healthy = await testConnector(peers);
  proxy = await startFaultProxy(healthy.storage.tableUrl);
  const connectionString = proxy.through(healthy.storage.connectionString);
  const tables = openTables({ connectionString, timeoutMs: storageTimeoutMs });
  faulty = healthy.anotherInstance({ tables: () => tables });
});
afterAll(() => proxy.close());

/** An order of one key for one person. */
interface Order {
  readonly email: string;
  readonly body: ReturnType<typeof orderBody>;
  requestId: string;
}

const create = ({ context }: TestConnector, { body, email }: Order) =>
  createRequest(
    createBodyV2.parse(body),
    { caller: { kind: "tenant", application: "app" }, idempotencyKey: email },
    context,
  );

const placed = async (connector: TestConnector, order: Order) => {
  order.requestId = (await create(connector, order)).requestId;
};

/** Work on an order: what comes before, and the work that meets the fault. */
interface Flow {
  readonly name: string;
  readonly before: readonly ((connector: TestConnector, order: Order) => Promise<unknown>)[];
  readonly work: (connector: TestConnector, order: Order) => Promise<unknown>;
  /** Where it does not end with a key that works and one email: the state of the request. */
  readonly end?: "cancelled" | "deleted";
  /** Emails with the PIN. */
  readonly emails?: number;
}

const shipments = (connector: TestConnector) => connector.runShipments();
const credentials = (connector: TestConnector) => connector.runCredentials();

const flows: readonly Flow[] = [
  { name: "create", before: [], work: placed },
  { name: "process-shipments", before: [placed], work: shipments },
  { name: "process-credential-requests", before: [placed, shipments], work: credentials },
  {
    name: "cancel",
    before: [async () => peers.delivery.settings({ shipAfterMs: days(1) }), placed],
    work: ({ context }, { requestId }) => cancelRequest(requestId, context),
    end: "cancelled",
  },
  {
    name: "resend a PIN",
    before: [placed, shipments, credentials],
    work: ({ context }, { requestId }) => resendPin(requestId, context),
    emails: 2,
  },
  {
    name: "clean-up",
    before: [placed, shipments, credentials, async connector => connector.advance(minutes(10))],
    work: connector => connector.runCleanUp(1 / 288),
    end: "deleted",
  },
];

/** Runs jobs until nothing of the request is due but its clean-up. */
async function untilQuiet(requestId: string): Promise<void> {
  for (let n = 0; n < 10; n++) {
    const loaded = await healthy.context.requests.load(requestId);
    const dues = loaded === undefined ? [] : [loaded.request.due, ...loaded.keys.map(key => key.due)];
    if (dues.every(due => due === undefined || due.queue === "clean" || due.queue === "purge")) return;
    healthy.advance(minutes(20));
    await healthy.runJobs();
  }
}

/** A sentence for all that is not as it must be at the end. */
async function wrongAtEnd(
  { email, requestId, body }: Order,
  { end, emails = end === "cancelled" ? 0 : 1 }: Flow,
): Promise<string[]> {
  const wrong: string[] = [];
  const check = (what: string, got: unknown, wanted: unknown) => {
    if (JSON.stringify(got) !== JSON.stringify(wanted))
      wrong.push(`${what}: ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`);
  };
  const users = body.shipment.shipment_items.flatMap(item => item.credentials.map(({ user_id }) => user_id));
  const loaded = await healthy.context.requests.load(requestId);
  const state = end === "deleted" ? undefined : (end ?? "complete");
  check("state", loaded?.request.state, state);
  const shipped = (await peers.delivery.shipments()).filter(({ customerReference }) => customerReference === requestId);
  check("shipments", shipped.length, end === "cancelled" ? 0 : 1);
  const registrations = peers.entra.registrations().filter(({ userId }) => users.includes(userId));
  check("registrations", registrations.length, end === "cancelled" ? 0 : 1);
  check("emails", peers.mail.mails().filter(({ to }) => to.includes(email)).length, emails);
  for (const { lease, mail, credentials } of loaded?.keys ?? []) {
    check("the lease", lease, undefined);
    check("the attempts", [mail.triedAt, ...credentials.map(({ triedAt }) => triedAt)], [undefined, undefined]);
  }
  check("the lease of the request", loaded?.request.lease, undefined);
  return wrong;
}

test.each(flows)(
  "$name: a storage call that is lost, unanswered, repeated or late neither loses nor doubles anything",
  { timeout: 300_000 },
  async flow => {
    const { name, before, work } = flow;
    const start = async (): Promise<Order> => {
      peers.delivery.settings({ shipAfterMs: 0 });
      const email = newUser();
      const order = { email, body: orderBody([1], email), requestId: "" };
      for (const step of before) await step(healthy, order);
      return order;
    };
    await work(faulty, await start());
    const counted = await start();
    proxy.arm();
    await work(faulty, counted);
    const calls = proxy.calls();
    expect(calls.length).toBeGreaterThan(0);

    const wrong: string[] = [];
    for (const [number, fault] of playsOf(calls)) {
      const order = await start();
      proxy.arm(fault, number);
      const failure = await work(faulty, order).then(
        () => undefined,
        (error: unknown) => error,
      );
      proxy.arm();
      await proxy.settled();
      if (failure !== undefined) wrong.push(`${name}, call ${number + 1} ${fault}: ${String(failure)}`);
      await untilQuiet(order.requestId);
      wrong.push(...(await wrongAtEnd(order, flow)).map(each => `${name}, call ${number + 1} ${fault}: ${each}`));
    }
    expect(wrong).toEqual([]);
  },
);
