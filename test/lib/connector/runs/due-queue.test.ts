import { expect, test } from "vitest";
import { dueQueue } from "../../../../lib/connector/runs/due-queue.ts";
import { startRun } from "../../../../lib/connector/runs/run.ts";
import { dueRow } from "../../../../lib/connector/storage/due-index.table.ts";
import { indexWriter } from "../../../../lib/connector/storage/index-writer.table.ts";
import { minutes, plus } from "../../../../lib/platform/time.ts";
import { peersOfFile, testConnector } from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();

/** A row for a security key of each request, which calls this peer, due one after another; requests are named `000`, `001`, … */
async function queueOf(peerOf: readonly (string | undefined)[], keys: readonly string[] = ["s-01-001"]) {
  const connector = await testConnector(peers);
  const { deployment, now, context } = connector;
  const index = indexWriter(deployment.tables, now);
  for (const [n, peer] of peerOf.entries())
    for (const keyId of keys) {
      const due = { queue: "key", at: plus(now(), n - peerOf.length), ...(peer && { peer }) } as const;
      await index.put([dueRow({ due, requestId: String(n).padStart(3, "0"), keyId })]);
    }
  return { connector, index };
}

test("a run takes so many requests for each peer, oldest first, so that the work at one does not delay that at the others", async () => {
  const { connector } = await queueOf(["slow", "slow", "slow", "slow", "fast", "slow", "fast"]);
  const { context, now } = connector;
  const run = dueQueue("key", startRun("timer", context), now(), context);
  const free = (peer: string | undefined): number => (peer === "slow" ? 2 : 8);
  const ids = async (of: typeof free) => (await run.take(of)).map(({ requestId }) => requestId);
  const { calls } = await connector.counted(async () => {
    expect(await ids(free)).toEqual(["000", "001", "004", "006"]);
    expect(await ids(peer => (peer === "slow" ? 0 : 8))).toEqual([]);
    expect(await ids(free)).toEqual(["002", "003"]);
    expect([...(await run.rest())]).toEqual(["005"]);
  });
  expect(calls).toEqual([expect.stringMatching(/^GET .*due\(\)$/)]);
});

test("a run takes all rows of a request at once, for no peer if they call several", async () => {
  const { connector, index } = await queueOf(["one", "one"], ["s-01-001", "s-02-001"]);
  const { context, now } = connector;
  await index.put([dueRow({ due: { queue: "key", at: now(), peer: "other" }, requestId: "001", keyId: "s-03-001" })]);
  const taken = await dueQueue("key", startRun("timer", context), now(), context).take(() => 8);
  expect(taken.map(({ rows, peer }) => [rows.length, peer])).toEqual([
    [2, "one"],
    [3, undefined],
  ]);
});

test("an on-demand run takes no work that its own work has made due again", async () => {
  // More than the page that is read ahead.
  const { connector, index } = await queueOf(Array<undefined>(1001).fill(undefined));
  const { context, now } = connector;
  const run = dueQueue("key", startRun("on_demand", context), undefined, context);
  expect(await run.take(() => 1)).toMatchObject([{ requestId: "000" }]);
  const work = { requestId: "000", keyId: "s-01-001" };
  await index.put([dueRow({ ...work, due: { queue: "key", at: plus(now(), minutes(5)) } })]);
  const rest = await run.rest();
  expect([rest.size, rest.has("000")]).toEqual([1000, false]);
});
