import pLimit from "p-limit";
import { describe, expect, test } from "vitest";
import { getShipment } from "../../../../functions/connector/version-1.ts";
import type { CredentialRequest } from "../../../../lib/connector/model/request.ts";
import type { SecurityKey } from "../../../../lib/connector/model/security-key.ts";
import { hours, plus } from "../../../../lib/platform/time.ts";
import { authenticator, idAt, mixedBody, onSiteBody } from "../../../support/connector/on-site.ts";
import {
  orderBody,
  peersOfFile,
  type TestConnector,
  testConnector,
} from "../../../support/connector/test-connector.ts";
import type { CallCounts } from "../../../support/storage/call-counter.ts";

const peers = await peersOfFile();

describe("sequential round trips to storage", () => {
  test.each([
    ["one key with one credential", [1]],
    ["10 items with 3 credentials each", Array<number>(10).fill(3)],
  ])("of a create with a shipment alone are at most 5: %s", async (_, shape) => {
    const connector = await testConnector(peers);
    await connector.order();
    const { sequential, total } = await connector.counted(() => connector.order(orderBody(shape)));
    expect(sequential).toBe(5);
    // Beside those: the reconcile row is deleted, both states' list rows, people in one transaction.
    expect(total).toBeLessThanOrEqual(11);
  });

  const many = Array.from({ length: 10 }, () => authenticator(3));
  test.each([
    ["one authenticator alone", onSiteBody()],
    ["10 authenticators with 3 credentials each", onSiteBody(many)],
    ["a shipment beside one", mixedBody()],
    ["10 items beside 10, with 3 credentials each", mixedBody(Array<number>(10).fill(3), many)],
  ])("of a create with authenticators are at most 6: %s", async (_, body) => {
    const connector = await testConnector(peers);
    await connector.order();
    const { sequential, total } = await connector.counted(() => connector.order(body));
    expect(sequential).toBe(6);
    // Beside those, for any number of authenticators: rows of due work and of lists, one call for each partition.
    expect(total).toBeLessThanOrEqual(14);
  });

  test.each([[[1]], [[2, 1, 3]]])("of a read are 1, for any size of the request: %j", async shape => {
    const connector = await testConnector(peers);
    const { requestId } = await connector.order(orderBody(shape));
    const { sequential, total } = await connector.counted(() => connector.context.requests.load(requestId));
    expect([sequential, total]).toEqual([1, 1]);
  });

  test("of a read by shipment id are 2", async () => {
    const connector = await testConnector(peers);
    const { shipmentId = "" } = await connector.order(orderBody([1, 2]));
    const input = { params: { shipment_id: shipmentId }, query: {}, body: undefined };
    const url = new URL(`http://localhost/v1/fpr/shipments/${shipmentId}`);
    const body = new Uint8Array();
    const call = { method: "GET", url, params: {}, headers: new Headers(), invocationId: "", body };
    const by = { call, caller: { kind: "api_token", application: "one" } as const, requestId: "" };
    const { sequential, total, result } = await connector.counted(() => getShipment.run(input, connector.context, by));
    expect(result).toMatchObject({ status: 200, body: { shipment_id: shipmentId } });
    expect([sequential, total]).toEqual([2, 2]);
  });

  test("of a poll that brings nothing are 5", async () => {
    const connector = await testConnector(peers);
    const { shipmentId = "" } = await connector.order(orderBody([2, 1]));
    await peers.delivery.control(shipmentId, { state: 101 });
    connector.advance(hours(1));
    const { sequential, total } = withoutLookingForWork(await connector.counted(() => connector.runShipments()));
    // Load, claim, new index row, rows, old index row.
    expect([sequential, total]).toEqual([5, 5]);
  });

  test("of a poll that brings responses are one more a key, for its blob, and no more for the rest", async () => {
    const connector = await testConnector(peers);
    await connector.order(orderBody([2, 1, 3]));
    const { sequential, total } = withoutLookingForWork(await connector.counted(() => connector.runShipments()));
    // Load, claim, three blobs, index rows of the keys, of the tracking and the serial numbers side by side, rows, old index row.
    expect([sequential, total]).toEqual([8, 10]);
  });

  test("of a poll of an authenticator that waits are 5", async () => {
    const connector = await testConnector(peers);
    await connector.order(onSiteBody());
    connector.advance(hours(1));
    const { sequential, total } = withoutLookingForWork(await connector.counted(() => connector.runCredentials()));
    // Load, claim, new index row, row, old index row.
    expect([sequential, total]).toEqual([5, 5]);
  });

  test("of an authenticator that is enrolled are 4 more than of a key that is activated and mailed", async () => {
    const connector = await testConnector(peers);
    const { requestId } = await connector.order(onSiteBody());
    await peers.rfpr.enroll(idAt(requestId));
    const counted = await connector.counted(() => connector.runCredentials());
    expect(counted.result).toMatchObject({ activated: 1 });
    // Claim, blob, the serial number's list, responses.
    expect(withoutLookingForWork(counted).sequential).toBe(10 + 4);
  });

  test("of a key that is activated and mailed are 9, 2 for each further credential, and one where its request ends", async () => {
    const cost = async (credentials: number) => {
      const connector = await testConnector(peers);
      await connector.orderAndPoll(orderBody([credentials]));
      const counted = await connector.counted(() => connector.runCredentials());
      expect(counted.result).toMatchObject({ activated: credentials });
      return withoutLookingForWork(counted).sequential;
    };
    const one = await cost(1);
    expect(one).toBe(9 + 1);
    expect(await cost(3)).toBe(one + 3 * 2);
  });
});

/** What an item costs: a job reads each queue once, before it begins with any. */
function withoutLookingForWork({ calls, total, sequential }: CallCounts): { total: number; sequential: number } {
  const queues = calls.filter(call => call.endsWith("/due()")).length;
  return { total: total - queues, sequential: sequential - queues };
}

/** Requests that have ended, as they lie in storage for years. */
async function history(connector: TestConnector, count: number): Promise<void> {
  const { requests } = connector.context;
  const { request, keys } = await connector.load((await connector.order()).requestId);
  const ended = (n: number): [CredentialRequest, SecurityKey[]] => {
    const id = `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
    const terminalAt = plus(connector.now(), -hours(n));
    const due = { queue: "clean", at: terminalAt } as const;
    return [{ ...request, id, state: "complete", terminalAt, due }, keys.map(key => ({ ...key, state: "complete" }))];
  };
  const limit = pLimit(16);
  await Promise.all(
    Array.from({ length: count }, (_, n) =>
      limit(async () => {
        const [past, pastKeys] = ended(n);
        await requests.insert(past, pastKeys);
      }),
    ),
  );
}

test("a job with 5 due items makes as many calls with 20 ended requests as without", async () => {
  const cost = async (ended: number) => {
    const connector = await testConnector(peers);
    await history(connector, ended);
    for (let n = 0; n < 4; n++) await connector.order();
    const shipments = await connector.counted(() => connector.runShipments());
    const credentials = await connector.counted(() => connector.runCredentials());
    expect(shipments.result).toMatchObject({ answered: 5 });
    expect(credentials.result).toMatchObject({ activated: 5 });
    const idle = await connector.counted(() => connector.runCredentials("timer"));
    return [shipments.total, credentials.total, idle.total];
  };
  expect(await cost(20)).toEqual(await cost(0));
});
