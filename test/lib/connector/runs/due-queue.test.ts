import { describe, expect, test } from "vitest";
import { dueIndex } from "../../../../lib/connector/runs/due-index.table.ts";
import { dueQueue } from "../../../../lib/connector/runs/due-queue.ts";
import { startRun } from "../../../../lib/connector/runs/run.ts";
import { minutes, plus } from "../../../../lib/platform/time.ts";
import { withTable } from "../../../support/connector/crashing.ts";
import { peersOfFile, testConnector } from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();

/** A queue with the index rows of so many requests, due one after another and named in that order. */
async function queueOf(count: number, keys: readonly string[] = ["s-01-001"]) {
  const connector = await testConnector(peers);
  const { context, deployment, now } = connector;
  const index = dueIndex(deployment.tables, { now, log: context.log });
  const names = Array.from({ length: count }, (_, n) => String(n).padStart(3, "0"));
  for (const [n, requestId] of names.entries())
    for (const keyId of keys) await index.add({ due: { queue: "key", at: plus(now(), n - count) }, requestId, keyId });
  return { ...connector, names };
}

type Queue = Awaited<ReturnType<typeof queueOf>>;

const workOf = ({ context, now }: Pick<Queue, "context" | "now">) =>
  dueQueue("key", startRun("timer", context), now(), context);

const take = async (work: ReturnType<typeof dueQueue>, count: number) =>
  (await work.take(() => count)).map(({ requestId }) => requestId);

describe("the due work of a queue", () => {
  test("is divided between runs: each takes the oldest requests that no other run has taken", async () => {
    const queue = await queueOf(7);
    const [one, other] = [workOf(queue), workOf(queue)];
    expect(await take(one, 2)).toEqual(["000", "001"]);
    expect(await take(other, 2)).toEqual(["002", "003"]);
    expect(await take(one, 2)).toEqual(["004", "005"]);
    expect(await take(one, 2)).toEqual(["006"]);
    expect(await take(other, 2)).toEqual([]);
    expect(await take(one, 2)).toEqual([]);
  });

  test("is taken up to a number of requests for each peer, so that the work at one does not delay that at the others", async () => {
    const connector = await testConnector(peers);
    const { context, deployment, now } = connector;
    const index = dueIndex(deployment.tables, { now, log: context.log });
    const peerOf = ["slow", "slow", "slow", "slow", "fast", "slow", "fast"];
    for (const [n, peer] of peerOf.entries())
      await index.add({ due: { queue: "key", at: plus(now(), n - 9), peer }, requestId: `00${n}`, keyId: "s-01-001" });
    const run = workOf(connector);
    const free = (peer: string | undefined): number => (peer === "slow" ? 2 : 8);
    const ids = async (of: typeof free) => (await run.take(of)).map(({ requestId }) => requestId);
    expect(await ids(free)).toEqual(["000", "001", "004", "006"]);
    expect(await ids(peer => (peer === "slow" ? 0 : 8))).toEqual([]);
    expect(await ids(free)).toEqual(["002", "003"]);
    expect([...(await run.rest())]).toEqual(["005"]);
    await run.release();
    expect((await connector.queue("key")).filter(({ lease }) => lease !== undefined)).toEqual([]);
  });

  test("is taken once also by runs that read the queue at the same time", async () => {
    const queue = await queueOf(6);
    const runs = [workOf(queue), workOf(queue), workOf(queue)];
    const taken = await Promise.all(runs.map(run => take(run, 2)));
    expect(taken.flat().toSorted()).toEqual(queue.names);
  });

  test("has all rows of a request for the run that takes it", async () => {
    const queue = await queueOf(3, ["s-01-001", "s-02-001"]);
    const [first] = await workOf(queue).take(() => 1);
    expect(first?.rows.map(({ keyId }) => keyId)).toEqual(["s-01-001", "s-02-001"]);
  });

  test("is taken by another run when the lease of a run that stopped has expired, and not before", async () => {
    const queue = await queueOf(3);
    expect(await take(workOf(queue), 2)).toEqual(["000", "001"]);
    queue.advance(minutes(3) - 1);
    expect(await take(workOf(queue), 3)).toEqual(["002"]);
    queue.advance(1);
    expect(await take(workOf(queue), 1)).toEqual(["000"]);
  });

  test("that a run has taken and not done is free again at its end, and what another run has taken is not", async () => {
    const queue = await queueOf(4);
    const [run, other] = [workOf(queue), workOf(queue)];
    await run.take(() => 1);
    await other.take(() => 1);
    await run.take(() => 1);
    expect([...(await run.rest())]).toEqual(["003"]);
    await run.release();
    expect(await take(workOf(queue), 4)).toEqual(["000", "002", "003"]);
  });

  test("is free again at the end of a run also if one of its rows changes at that moment", async () => {
    const queue = await queueOf(4);
    const table = queue.deployment.tables.table("due");
    let isReleasing = false;
    const { context, now } = queue.anotherInstance({
      tables: withTable("due", ({ transact }) => ({
        transact: async (partitionKey, actions) => {
          const [gone] = isReleasing ? await queue.queue("key") : [];
          isReleasing = false;
          if (gone !== undefined) await table.remove("key", `${gone.at}_${gone.requestId}_${gone.keyId}`);
          return transact(partitionKey, actions);
        },
      })),
    });
    const run = workOf({ context, now });
    await run.take(() => 3);
    isReleasing = true;
    await run.release();
    expect(await take(workOf(queue), 4)).toEqual(["001", "002", "003"]);
  });

  test("is not taken again by a run when an on-demand call finds it due at a later time", async () => {
    const queue = await queueOf(2);
    const { context, now } = queue;
    const run = dueQueue("key", startRun("on_demand", context), undefined, context);
    await run.take(() => 1);
    const index = dueIndex(queue.deployment.tables, { now, log: context.log });
    const work = { requestId: "000", keyId: "s-01-001" };
    await index.add({ ...work, due: { queue: "key", at: plus(now(), minutes(5)) } });
    // Another run makes this one read the queue again.
    await workOf(queue).take(() => 1);
    expect(await take(run, 5)).toEqual([]);
  });

  test("costs a read of the queue and, for a run that cannot start all of it at once, a write for each batch and a read at its end", async () => {
    const { counted, ...queue } = await queueOf(9);
    const paths = async (count: number) => {
      const { calls } = await counted(async () => {
        const run = workOf(queue);
        while ((await run.take(() => count)).length > 0);
        await run.release();
      });
      return calls.map(call => call.replace(/ .*\//, " "));
    };
    expect(await paths(9)).toEqual(["GET due()"]);
    expect(await paths(4)).toEqual([
      "GET due()",
      "POST $batch",
      "POST $batch",
      "POST $batch",
      "GET due()",
      "POST $batch",
    ]);
  });
});
