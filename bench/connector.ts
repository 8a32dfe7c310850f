// Creates and jobs of the connector: how many a second, and the host's CPU of each. See README.md.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { machine, quantile, table } from "./auth/load.ts";
import { create, place, processCredentialRequests, processShipments } from "./connector/orders.ts";
import { startBench } from "./connector/system.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "3" },
    /** Requests that a measured job works through. */
    items: { type: "string", default: "100" },
    profile: { type: "string" },
  },
});
const [rounds, items, durationMs] = [Number(values.rounds), Number(values.items), Number(values.seconds) * 1000];
if (values.profile !== undefined) mkdirSync(values.profile, { recursive: true });

/** What a case came to in each round: pieces of work a second, and the host's CPU of each; times of all calls. */
interface Tally {
  readonly rates: number[];
  readonly cpuMs: number[];
  readonly times: number[];
}

const { host, stop } = await startBench();
const tallies = new Map<string, Tally>();

/** @param work returns the milliseconds of its calls. @param count pieces of work, where they are no calls */
async function measured(name: string, work: () => Promise<readonly number[]>, count?: number): Promise<void> {
  const [before, began] = [await host.usage(), performance.now()];
  const times = await work();
  const seconds = (performance.now() - began) / 1000;
  const { cpuMs } = await host.usage();
  const tally: Tally = tallies.get(name) ?? { rates: [], cpuMs: [], times: [] };
  tally.rates.push((count ?? times.length) / seconds);
  tally.cpuMs.push((cpuMs - before.cpuMs) / (count ?? times.length));
  if (count === undefined) tally.times.push(...times);
  tallies.set(name, tally);
}

/** Calls again and again, each connection after its own answer, until the time is over. Returns the milliseconds of the calls. */
async function load(connections: number, call: () => Promise<number>): Promise<readonly number[]> {
  const end = performance.now() + durationMs;
  const times: number[] = [];
  const work = async () => {
    do times.push(await call());
    while (performance.now() < end);
  };
  await Promise.all(Array.from({ length: connections }, work));
  return times;
}

const jobs = [
  ["process-shipments, a shipment", processShipments],
  ["process-credential-requests, a key", processCredentialRequests],
] as const;
const creates = [
  ["create, 1 item, 1 credential", 4, () => create(host)],
  ["create, 10 items, 3 credentials", 2, () => create(host, 10, 3)],
] as const;

// The first round warms up; jobs come first, as creates leave what they would work on, too.
for (let round = 0; round <= rounds; round++) {
  await place(items, () => create(host));
  for (const [name, job] of jobs) await measured(name, async () => [await job(host)], items);
  if (round === 0) tallies.clear();
}
for (let round = 0; round < rounds; round++)
  for (const [name, connections, call] of creates) await measured(name, () => load(connections, call));

if (values.profile !== undefined) {
  const to = (name: string) => join(values.profile ?? "", `${name}.cpuprofile`);
  await host.profiled(to("create"), () => load(4, () => create(host)));
  await host.profiled(to("process-shipments"), () => processShipments(host));
  await host.profiled(to("process-credential-requests"), () => processCredentialRequests(host));
}
await stop();

const rows = [...tallies].map(([name, { rates, cpuMs, times }]) => [
  name,
  Math.max(...rates).toFixed(1),
  ...[0.5, 0.99].map(at => (times.length === 0 ? "" : quantile(times, at).toFixed(0))),
  Math.min(...cpuMs).toFixed(1),
]);
console.log(`${machine()}\n\n${table([["", "a second", "p50 ms", "p99 ms", "host CPU ms"], ...rows])}`);
