import { table } from "../auth/load.ts";
import { bothJobs, create, place } from "./orders.ts";
import type { Bench } from "./system.ts";

/** Many due shipments in one run. */
export async function watchMemory(bench: Bench, count: number): Promise<string> {
  // A host of its own: what creates leave behind in memory is not to hide what jobs take. It has loaded what jobs load.
  const host = await bench.another("the same storage");
  await place(1, () => create(bench.host));
  for (const [, job] of bothJobs) await job(host);
  await place(count, () => create(bench.host));
  const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(0);
  const lines: string[][] = [];
  for (const [name, job] of bothJobs) {
    const began = performance.now();
    const { idle, most, after } = await host.grown(() => job(host));
    const seconds = ((performance.now() - began) / 1000).toFixed(0);
    lines.push([name, seconds, mib(idle.rss), mib(most - idle.rss), mib(idle.heap), mib(after.heap)]);
  }
  const head = [`${count} due`, "s", "idle MiB", "grown by MiB", "live heap before MiB", "live heap after MiB"];
  return table([head, ...lines]);
}
