import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { HostProcess } from "../support/host/host-process.ts";
import type { HoldRule } from "../support/host/pausing-proxy.ts";
import { systemOfFile } from "../support/host/system.ts";
import { atWrite, inCall, killAt, longLimits, type Point, pastLongLimitsMs } from "./kill-points.ts";
import { newOrder, type Order, placed, processAll } from "./orders.ts";
import { fulfilledKey, outcome, untilQuiet } from "./outcome.ts";
import { ofRequest, writes } from "./writes.ts";

const { system, proxy } = await systemOfFile();

/** A fulfilled order of one key. */
interface Case {
  readonly order: Order;
  readonly requestId: string;
}

type Arrange = (of: Case) => Point;

const write =
  (phase: HoldRule["phase"], rule: Omit<HoldRule, "phase">): Arrange =>
  ({ requestId }) =>
    atWrite(proxy, phase, ofRequest(requestId, rule));
const entraCall =
  (method: string, path: string, phase: "before" | "after" = "before"): Arrange =>
  ({ order }) =>
    inCall(system.peers.entra, { method, path: `/(${order.users.join("|")})/.*${path}`, phase });

const revoke = (host: HostProcess, { requestId }: Case) =>
  host.call("POST", `/v2/credential-requests/${requestId}/revoke`);
const removals = ({ order }: Case) =>
  system.peers.entra
    .requests()
    .filter(({ method, path }) => method === "DELETE" && order.users.some(user => path.includes(`/${user}/`))).length;

async function revocationOf({ requestId }: Case): Promise<string | undefined> {
  const loaded = await system.store.load(requestId);
  return loaded?.keys[0]?.value.credentials[0]?.revocation?.state;
}

const removal = "fido2Methods/[^/]+$";

describe("a host that is killed while it revokes a credential", () => {
  /** Removals at the IdP that follow from the point; the last number is whether the call has stored the revocation. */
  const points: readonly (readonly [name: string, arrange: Arrange, removals: number, isStored: boolean])[] = [
    ["before the revocation is stored: the credential stays", write("request", writes.revocation), 0, false],
    ["after the revocation is stored, before the IdP is called", write("response", writes.revocation), 1, true],
    ["while it reads the user's keys", entraCall("GET", "fido2Methods$"), 1, true],
    ["in the call, before the IdP has done it", entraCall("DELETE", removal), 2, true],
    [
      "in the call, after the IdP has done it: the key is not in the list",
      entraCall("DELETE", removal, "after"),
      1,
      true,
    ],
    ["after the call, before its result is stored", write("request", writes.revoked), 1, true],
    ["after the result is stored, before its index row goes", write("response", writes.revoked), 1, true],
  ];
  const cases = new Map<string, Case>();
  const untouched: Case[] = [];
  let next: HostProcess;

  beforeAll(async () => {
    const victim = await system.startHost({ through: proxy, limits: longLimits });
    const fulfilled = async (): Promise<Case> => {
      const order = newOrder([1]);
      const requestId = await placed(victim, order);
      await processAll(victim);
      return { order, requestId };
    };
    for (const [name] of points) cases.set(name, await fulfilled());
    untouched.push(await fulfilled());
    await killAt(
      victim,
      points.map(([name, arrange]) => ({
        name,
        work: host => revoke(host, cases.get(name) as Case),
        arrange: () => arrange(cases.get(name) as Case),
      })),
    );
    for (const peer of Object.values(system.peers)) peer.clearFaults();
    system.clock.advance(pastLongLimitsMs);
    next = await system.startHost();
    await untilQuiet(next, system, ...[...cases.values()].map(({ requestId }) => requestId));
  });
  afterAll(() => next.kill());

  test.each(points)("%s: removes it once in the end", async (name, _, expected, isStored) => {
    const one = cases.get(name) as Case;
    expect(await revocationOf(one)).toBe(isStored ? "revoked" : undefined);
    expect(removals(one)).toBe(expected);
    const found = await outcome(one.order, one.requestId, { hosts: [next], system });
    expect(found).toEqual({ ...fulfilledKey, registrations: [isStored ? 0 : 1] });
    // The caller got no answer and repeats the call.
    expect(await revoke(next, one)).toMatchObject({ status: 200 });
    expect(await outcome(one.order, one.requestId, { hosts: [next], system })).toEqual({
      ...fulfilledKey,
      registrations: [0],
    });
    expect(removals(one)).toBe(isStored ? expected : 1);
  });

  test("leaves the credentials of others", async () => {
    for (const { order, requestId } of untouched)
      expect(await outcome(order, requestId, { hosts: [next], system })).toEqual(fulfilledKey);
  });
});
