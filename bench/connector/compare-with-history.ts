import { table } from "../auth/load.ts";
import { addHistory, partitionQueryMs } from "./history.ts";
import { measure, once } from "./measure.ts";
import { bothJobs, create, createBare, place, processBare } from "./orders.ts";
import type { Bench } from "./system.ts";

/** Due work beside history, by turns with as much on an account that has none. */
export async function compareWithHistory(bench: Bench, { due, rows }: { due: number; rows: number }): Promise<string> {
  const alone = await bench.another("empty storage");
  const beside = await bench.another("empty storage");
  for (const host of [alone, beside]) {
    await place(1, () => create(host));
    for (const [, job] of bothJobs) await job(host);
  }
  await addHistory(rows, beside);
  const jobs = [
    ...bothJobs,
    // The same calls of storage by hand: what they take longer is the storage's.
    ...bothJobs.map(([name]) => [`${name}, by hand`, processBare(name, "bare/stored")] as const),
  ];
  const least = new Map<string, { seconds: number; cpuMs: number }>();
  for (let round = 0; round < 2; round++) {
    for (const host of [alone, beside]) {
      await place(due, () => create(host));
      await place(due, () => createBare("bare/stored", host));
    }
    for (const [name, job] of jobs) {
      for (const host of round === 0 ? [alone, beside] : [beside, alone]) {
        const now = await measure(host, () => once(due, () => job(host)));
        const key = `${name} ${host === alone}`;
        const before = least.get(key) ?? now;
        least.set(key, {
          seconds: Math.min(now.seconds, before.seconds),
          cpuMs: Math.min(now.cpuMs, before.cpuMs),
        });
      }
    }
  }
  const line = (name: string, one: number, other: number, digits: number) => [
    name,
    one.toFixed(digits),
    other.toFixed(digits),
    (other / one).toFixed(2),
  ];
  const lines = jobs.flatMap(([name]) => {
    const [one, other] = [least.get(`${name} true`), least.get(`${name} false`)];
    if (one === undefined || other === undefined) throw new Error("nothing was measured");
    return [line(`${name}, host CPU ms`, one.cpuMs, other.cpuMs, 0), line(`${name}, s`, one.seconds, other.seconds, 1)];
  });
  lines.push(
    line("Azurite: a query of one partition, ms", await partitionQueryMs(alone), await partitionQueryMs(beside), 1),
  );
  return table([[`${due} due`, "alone", `beside ${rows} rows`, "times"], ...lines]);
}
