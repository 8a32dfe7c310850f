import { expect, test } from "vitest";
import type { LoadedRequest } from "../../../../lib/connector/model/loaded-request.ts";
import { forEachDue } from "../../../../lib/connector/runs/queue.ts";
import { startRun } from "../../../../lib/connector/runs/run.ts";
import { type DueItem, dueRow } from "../../../../lib/connector/storage/due-index.table.ts";
import { indexWriter } from "../../../../lib/connector/storage/index-rows.table.ts";
import { minutes, plus } from "../../../../lib/platform/time.ts";
import { peersOfFile, testConnector } from "../../../support/connector/test-connector.ts";
import { until } from "../../../support/until.ts";

const peers = await peersOfFile();
const item = (requestId: string, keyId: string, at: string, peer?: string): DueItem => ({
  due: { queue: "key", at, ...(peer && { peer }) },
  requestId,
  keyId,
});

/** A queue of security keys, due one after another; each is of a request, named `000`, `001`, …, and calls this peer. */
async function queueOf(callsAtOnce: number, peerOf: readonly (string | undefined)[], more: readonly DueItem[] = []) {
  const connector = await testConnector(peers, { limits: { callsAtOnce } });
  const { deployment, now, context } = connector;
  const index = indexWriter(deployment.tables, now);
  const items = peerOf.map((peer, n) =>
    item(String(n).padStart(3, "0"), "s-01-001", plus(now(), n - peerOf.length), peer),
  );
  await index.put([...items, ...more].map(dueRow));
  const load = async (id: string) => {
    const keys = [...items, ...more].filter(({ requestId }) => requestId === id);
    return { request: { id }, keys: keys.map(({ keyId, due }) => ({ id: keyId, due })) } as unknown as LoadedRequest;
  };
  const deps = { ...context, requests: { ...context.requests, load } };
  return { connector, index, deps };
}

test("a run works on so many requests for each peer, oldest first, so that the work at one does not delay that at the others", async () => {
  const { connector, deps } = await queueOf(2, ["slow", "slow", "slow", "slow", "fast", "slow", "fast"]);
  const begun: string[] = [];
  const answer = Promise.withResolvers<void>();
  const { calls } = await connector.counted(async () => {
    const ended = forEachDue("key", startRun("timer", deps), async ({ request: { id } }, [row]) => {
      begun.push(id);
      if (row?.peer === "slow") await answer.promise;
      return id === "005";
    });
    await until(
      () => begun.length === 4,
      () => `begun: ${begun}`,
    );
    expect(begun).toEqual(["000", "001", "004", "006"]);
    answer.resolve();
    expect(await ended).toBe(1);
    expect(begun.slice(4)).toEqual(["002", "003", "005"]);
  });
  expect(calls).toEqual([expect.stringMatching(/^GET .*due\(\)$/)]);
});

test("a run works on all rows of a request at once, also while one of several peers that they call is busy", async () => {
  const others = ["s-02-001", "s-03-001"] as const;
  const at = "2026-01-01T00:00:00.000Z";
  const more = [...others.map(id => item("000", id, at, "one")), ...others.map(id => item("001", id, at, "other"))];
  const { deps } = await queueOf(1, ["one", "one"], more);
  const begun: unknown[] = [];
  await forEachDue("key", startRun("timer", deps), async ({ request: { id } }, rows) => {
    begun.push([id, rows.length]);
    if (id === "000")
      await until(
        () => begun.length === 2,
        () => `begun: ${begun}`,
      );
    return false;
  });
  expect(begun).toEqual([
    ["000", 3],
    ["001", 3],
  ]);
});

test("an on-demand run takes no work that its own work has made due again", async () => {
  // More than the page that is read ahead.
  const { connector, index, deps } = await queueOf(1, Array<undefined>(1001).fill(undefined));
  const begun: string[] = [];
  await forEachDue("key", startRun("on_demand", deps), async ({ request: { id } }) => {
    if (begun.push(id) === 1) await index.put([dueRow(item(id, "s-01-001", plus(connector.now(), minutes(5))))]);
    return false;
  });
  expect([begun.length, new Set(begun).size]).toEqual([1001, 1001]);
});
