import pLimit from "p-limit";
import { describe, expect, test, vi } from "vitest";
import { listRequests } from "../../../../lib/connector/api/list-requests.ts";
import { listKeyOf, personList, serialList, sortKeyOf } from "../../../../lib/connector/model/request-lists.ts";
import { requestStates } from "../../../../lib/connector/model/states.ts";
import { days, hours, minutes, seconds } from "../../../../lib/platform/time.ts";
import { crashing } from "../../../support/connector/crashing.ts";
import {
  newUser,
  orderBody,
  peersOfFile,
  type TestConnector,
  testConnector,
} from "../../../support/connector/test-connector.ts";
import { altered } from "./bodies.ts";

const peers = await peersOfFile();
type RequestFilter = Parameters<typeof listRequests>[0];

/** Every page that links lead to, as ids. */
async function pagesOf({ context }: TestConnector, filter: RequestFilter = {}, top = 100): Promise<string[][]> {
  const pages: string[][] = [];
  let after: string | undefined;
  do {
    const page = await listRequests(filter, { top, after }, context);
    pages.push(page.entries.map(({ request }) => request.id));
    after = page.next;
  } while (after !== undefined);
  return pages;
}

const listed = async (connector: TestConnector, filter?: RequestFilter) => (await pagesOf(connector, filter)).flat();

/** Requests a second apart, the oldest first. */
async function ordered(connector: TestConnector, bodies: readonly unknown[]): Promise<string[]> {
  const ids: string[] = [];
  for (const body of bodies) {
    connector.advance(seconds(1));
    ids.push((await connector.order(body)).requestId);
  }
  return ids;
}

const bodyFor = (user: string) => altered(orderBody(), { "shipment.shipment_items[0].credentials[0].user_id": user });

describe("the list of credential requests", () => {
  test("contains every request once, in the order of creation, in every state, on pages of any length", async () => {
    const connector = await testConnector(peers);
    expect(await pagesOf(connector)).toEqual([[]]);
    const early = await ordered(
      connector,
      Array.from({ length: 4 }, () => orderBody()),
    );
    await connector.runJobs();
    connector.advance(seconds(1));
    peers.delivery.fail({ kind: "drop", method: "POST" });
    await connector.order().catch(() => {});
    const late = await ordered(
      connector,
      Array.from({ length: 3 }, () => orderBody()),
    );
    const all = (await pagesOf(connector)).flat();
    expect(all).toHaveLength(8);
    expect([...all.slice(0, 4), ...all.slice(5)]).toEqual([...early, ...late]);
    for (const top of [1, 2, 3, 7, 8, 9]) {
      const pages = await pagesOf(connector, {}, top);
      expect(pages.flat()).toEqual(all);
      expect(pages.map(page => page.length)).toEqual(
        Array.from({ length: Math.ceil(8 / top) }, (_, n) => Math.min(top, 8 - n * top)),
      );
    }
  });

  test("contains the requests of a state as they enter and leave it", async () => {
    const connector = await testConnector(peers);
    const byState = async () =>
      Object.fromEntries(
        await Promise.all(requestStates.map(async state => [state, await listed(connector, { state })])),
      );
    const none = Object.fromEntries(requestStates.map(state => [state, []]));
    const [id] = await ordered(connector, [orderBody()]);
    expect(await byState()).toEqual({ ...none, started: [id] });
    await connector.runJobs();
    expect(await byState()).toEqual({ ...none, complete: [id] });
    peers.delivery.fail({ kind: "drop", method: "POST" });
    await connector.order().catch(() => {});
    const [stuck] = await listed(connector, { state: "received" });
    expect(stuck).toBeDefined();
    connector.advance(days(4));
    await connector.runCredentials();
    expect(await byState()).toEqual({ ...none, complete: [id], failed: [stuck] });
  });

  test("reads at most 200 requests for a page if few match, and continues by its link", async () => {
    const connector = await testConnector(peers);
    const user = newUser();
    const [id = ""] = await ordered(connector, [bodyFor(user)]);
    const { requests } = connector.context;
    const { request, keys } = await connector.load(id);
    const limit = pLimit(16);
    const fill = (from: number, count: number, state: "started" | "failed") =>
      Promise.all(
        Array.from({ length: count }, (_, n) =>
          limit(async () => {
            const numbered = `00000000-0000-4000-8000-${String(from + n).padStart(12, "0")}`;
            const value = { ...request, id: numbered, state };
            await requests.insert(value, keys);
          }),
        ),
      );
    await fill(0, 230, "started");
    await fill(230, 1, "failed");
    const first = await connector.counted(() =>
      listRequests({ user_id: user, state: "failed" }, { top: 1 }, connector.context),
    );
    expect(first.result.entries).toEqual([]);
    expect(first.total).toBeLessThanOrEqual(200 + 200 / 50);
    expect(await listed(connector, { user_id: user, state: "failed" })).toEqual([
      "00000000-0000-4000-8000-000000000230",
    ]);
    // A state's own list names nothing else.
    const ofState = await connector.counted(() => listRequests({ state: "failed" }, { top: 100 }, connector.context));
    expect(ofState).toMatchObject({ total: 2 });
    const page = await connector.counted(() => listRequests({}, { top: 10 }, connector.context));
    expect(page.result.entries).toHaveLength(10);
    expect(page.total).toBe(requestStates.length + 10);
  });

  test("misses no request that changes its state while the list is read", async () => {
    const connector = await testConnector(peers);
    const [id = ""] = await ordered(connector, [orderBody()]);
    await connector.runShipments();
    const overtaking = connector.anotherInstance({
      ports: ({ requests }) => ({
        requests: {
          ...requests,
          entries: async (list, range) => {
            const entries = await requests.entries(list, range);
            if ("state" in list && list.state === "received") await connector.runCredentials();
            return entries;
          },
        },
      }),
    });
    expect(await listed(overtaking)).toEqual([id]);
    expect(await connector.read(id)).toMatchObject({ state: "complete" });
  });

  test("contains a request that is in two lists once, and removes an old row that a crash left", async () => {
    const connector = await testConnector(peers);
    const [id = ""] = await ordered(connector, [orderBody()]);
    await connector.runShipments();
    const dying = crashing("requestlists.remove", "before");
    const ended = connector.anotherInstance(dying.options).runCredentials();
    await Promise.race([dying.died, ended]);
    const started = () => connector.context.requests.entries({ state: "started" }, { top: 10 });
    expect(await started()).toHaveLength(1);
    expect(await listed(connector)).toEqual([id]);
    expect(await listed(connector, { state: "started" })).toEqual([]);
    expect(await started()).toHaveLength(1);
    connector.advance(minutes(10) + 1);
    expect(await listed(connector, { state: "started" })).toEqual([]);
    expect(await started()).toEqual([]);
    expect(await listed(connector, { state: "complete" })).toEqual([id]);
  });

  test("removes a row only after a concurrent writer has got a conflict", async () => {
    const connector = await testConnector(peers);
    const [id = ""] = await ordered(connector, [orderBody()]);
    await connector.runShipments();
    const late = crashing("requestlists.upsert", "after");
    const ending = connector.anotherInstance(late.options).runCredentials();
    await late.died;
    connector.advance(minutes(10) + 1);
    const stale = await connector.context.requests.entries({ state: "complete" }, { top: 1 });
    expect(stale).toHaveLength(1);
    expect(await listed(connector, { state: "complete" })).toEqual([]);
    late.goOn();
    await ending;
    // The writer that ended it has added its entry again.
    connector.advance(minutes(10));
    await connector.runCredentials();
    expect(await connector.read(id)).toMatchObject({ state: "complete" });
    expect(await listed(connector, { state: "complete" })).toEqual([id]);
  });

  test("removes the rows of a request that was never stored after an hour, from every list", async () => {
    const connector = await testConnector(peers);
    const user = newUser();
    const dying = crashing("credentialrequests.transact", "before");
    const lost = connector.anotherInstance(dying.options).order(bodyFor(user));
    await Promise.race([dying.died, lost]);
    const { requests } = connector.context;
    const rows = async () => [
      ...(await requests.entries({ state: "received" }, { top: 9 })),
      ...(await requests.entries(personList(user), { top: 9 })),
    ];
    expect(await rows()).toHaveLength(2);
    connector.advance(hours(1));
    expect(await listed(connector)).toEqual([]);
    expect(await rows()).toHaveLength(2);
    connector.advance(1);
    expect(await listed(connector)).toEqual([]);
    expect(await listed(connector, { user_id: user })).toEqual([]);
    expect(await rows()).toEqual([]);
  });

  test("finds an order by every name that people know, in any letter case", async () => {
    const connector = await testConnector(peers);
    const user = newUser();
    const body = altered(bodyFor(user), {
      "recipient.email": "Ada.Order@Example.com",
      "recipient.external_id": "Emp-4711",
      "shipment.customer_reference": "INC0012345",
    });
    const [id] = await ordered(connector, [body, orderBody(), orderBody()]);
    const names: RequestFilter = {
      email: "ada.order@example.COM",
      external_id: "emp-4711",
      customer_reference: "inc0012345",
      user_id: user.toUpperCase(),
    };
    for (const [filter, name] of Object.entries(names)) {
      expect(await listed(connector, { [filter]: name })).toEqual([id]);
      expect(await listed(connector, { ...names, [filter]: `${name}.` })).toEqual([]);
    }
    expect(await listed(connector, { ...names, state: "started" })).toEqual([id]);
    expect(await listed(connector, { ...names, state: "complete" })).toEqual([]);
    // A name of one kind does not find a request that has it as a name of another kind.
    expect(await listed(connector, { external_id: "ada.order@example.com" })).toEqual([]);
    expect(await listed(connector, { customer_reference: "emp-4711" })).toEqual([]);
  });

  test("finds an order by the serial number of a security key from its responses to its removal", async () => {
    const connector = await testConnector(peers);
    const { requestId } = await connector.order();
    await connector.order();
    await connector.runJobs();
    const serial = (await connector.load(requestId)).keys[0]?.serial ?? "";
    expect(serial).not.toBe("");
    expect(await listed(connector, { serial_number: serial })).toEqual([requestId]);
    await connector.context.requests.remove(await connector.load(requestId));
    expect(await connector.context.requests.entries(serialList(serial), { top: 9 })).toEqual([]);
  });

  test("reads as many requests as match, however many others there are", async () => {
    const connector = await testConnector(peers);
    const body = altered(orderBody(), { "shipment.customer_reference": "INC-7" });
    await ordered(connector, [...Array.from({ length: 5 }, () => orderBody()), body]);
    const loads = vi.spyOn(connector.context.requests, "load");
    expect(await listed(connector, { customer_reference: "INC-7" })).toHaveLength(1);
    expect(loads).toHaveBeenCalledTimes(1);
  });

  test("continues after a request that was deleted meanwhile", async () => {
    const connector = await testConnector(peers);
    const ids = await ordered(
      connector,
      Array.from({ length: 3 }, () => orderBody()),
    );
    const { next = "" } = await listRequests({}, { top: 2 }, connector.context);
    expect(next).toBe(sortKeyOf(listKeyOf(await connector.requestRow(ids[1] ?? ""))));
    await connector.context.requests.remove(await connector.load(ids[1] ?? ""));
    const { entries } = await listRequests({}, { top: 2, after: next }, connector.context);
    expect(entries.map(({ request }) => request.id)).toEqual([ids[2]]);
  });
});
