import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { resetPeers } from "../support/connector/reset-peers.ts";
import type { Answer, HostProcess } from "../support/host/host-process.ts";
import { reconcileSoon, startTestSystem, type TestSystem } from "../support/host/system.ts";
import { until } from "../support/until.ts";
import { newOrder, type Order, processAll } from "./orders.ts";
import { deliveryCalls, stepMs } from "./outcome.ts";

let system: TestSystem;
let hosts: readonly [HostProcess, HostProcess];

beforeAll(async () => {
  system = await startTestSystem();
  hosts = await Promise.all([system.startHost(), system.startHost()]);
});

afterAll(() => system.close());

beforeEach(() => resetPeers(system.peers));

const send = (host: HostProcess, { body }: Order, key: string) =>
  host.call("POST", "/v2/credential-requests", body, { "idempotency-key": key });

const idOf = ({ body }: Answer) => (body as { data?: { credential_request_id: string } }).data?.credential_request_id;

describe("one Idempotency-Key before two hosts", () => {
  test("creates one request of 50 simultaneous calls; the others get its response, or 409 with Retry-After", async () => {
    const order = newOrder([1]);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => send(hosts[n % 2 === 0 ? 0 : 1], order, "many")),
    );
    const refused = answers.filter(({ status }) => status !== 201);
    for (const { status, headers, body } of refused) {
      expect({ status, body }).toMatchObject({ status: 409, body: { error_data: { error_type: "conflict" } } });
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    }
    const [id, ...others] = new Set(answers.flatMap(answer => idOf(answer) ?? []));
    expect(others).toEqual([]);
    expect(deliveryCalls(system)).toBe(1);
    for (const host of hosts) expect(idOf(await send(host, order, "many"))).toBe(id);
    expect(deliveryCalls(system)).toBe(1);
  });

  test("creates one request where the host that began it is killed in the delivery call", async () => {
    const order = newOrder([1]);
    system.peers.delivery.fail({ kind: "hang", method: "POST", phase: "after" });
    const lost = send(hosts[0], order, "killed").then(
      ({ status }) => status,
      () => "unanswered",
    );
    await system.peers.delivery.untilHanging();
    await hosts[0].kill();
    expect(await lost).toBe("unanswered");
    // By this clock a host that has not answered soon counts as crashed. A host that is only slow must not. The heir creates nothing, so the
    // time of a create may be as short, as the settings demand.
    const hasty = { ...reconcileSoon, createMs: 1000 };
    const heir = await system.startHost({ limits: hasty });
    const statuses = new Set<number>();
    let last: Answer | undefined;
    await until(
      async () => {
        last = await send(heir, order, "killed");
        statuses.add(last.status);
        await processAll(heir);
        system.clock.advance(stepMs);
        return last.status === 201;
      },
      () => `still ${JSON.stringify(last?.body)}`,
    );
    statuses.delete(201);
    expect([...statuses]).toEqual([409]);
    expect(deliveryCalls(system)).toBe(1);
    const [shipment] = (await system.peers.delivery.shipments()).slice(-1);
    expect(last?.body).toMatchObject({ data: { shipment_id: shipment?.id } });
  });
});
