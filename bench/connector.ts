// Creates and jobs of the connector, beside the cryptography and peer calls that they cannot avoid. See README.md.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { machine, quantile, table } from "./auth-load.ts";
import { addHistory, partitionQueryMs } from "./connector-history.ts";
import {
  type Bare,
  create,
  createBare,
  place,
  processBare,
  processCredentialRequests,
  processShipments,
} from "./connector-orders.ts";
import { type Bench, type BenchHost, startBench } from "./connector-system.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "3" },
    /** Requests that a measured job works through. */
    items: { type: "string", default: "100" },
    due: { type: "string", default: "500" },
    history: { type: "string", default: "20000" },
    shipments: { type: "string", default: "2000" },
    /** `bare`, `history`, `memory`; all where missing. */
    only: { type: "string" },
    profile: { type: "string" },
    /** Arguments of the host's Node, apart by blanks. */
    node: { type: "string", default: "" },
  },
});
const [rounds, items] = [Number(values.rounds), Number(values.items)];
if (values.profile !== undefined) mkdirSync(values.profile, { recursive: true });

/** What a case came to in each round: pieces of work a second, and the host's CPU of each; times of all calls. */
interface Tally {
  readonly rates: number[];
  readonly cpuMs: number[];
  readonly times: number[];
}

const tallies = new Map<string, Tally>();

/** Measures one round of a case. @param work answers how many pieces it did, and the milliseconds of each call */
async function measured(
  name: string,
  host: BenchHost,
  work: () => Promise<{ count: number; times: readonly number[] }>,
) {
  const [before, began] = [await host.usage(), performance.now()];
  const { count, times } = await work();
  const seconds = (performance.now() - began) / 1000;
  const cpuMs = (await host.usage()).cpuMs - before.cpuMs;
  const tally: Tally = tallies.get(name) ?? { rates: [], cpuMs: [], times: [] };
  tally.rates.push(count / seconds);
  tally.cpuMs.push(cpuMs / count);
  tally.times.push(...times);
  tallies.set(name, tally);
  return { seconds, cpuMs };
}

/** Calls again and again, each connection after its own answer, until the time is over. */
async function load(connections: number, call: () => Promise<number>) {
  const end = performance.now() + Number(values.seconds) * 1000;
  const times: number[] = [];
  const work = async () => {
    do times.push(await call());
    while (performance.now() < end);
  };
  await Promise.all(Array.from({ length: connections }, work));
  return { count: times.length, times };
}

const once = async (count: number, call: () => Promise<number>) => {
  await call();
  return { count, times: [] };
};

const ways: readonly Bare[] = ["bare", "bare/stored"];
const titles = { bare: "crypto and peers", "bare/stored": "crypto, peers, storage" };

async function compareWithBare(host: BenchHost): Promise<void> {
  const jobs = async (): Promise<void> => {
    for (const how of ["", ...ways] as const) {
      const name = how === "" ? "" : `, ${titles[how]}`;
      await place(items, () => (how === "" ? create(host) : createBare(how, host)));
      const first = how === "" ? processShipments : processBare("process-shipments", how);
      const second = how === "" ? processCredentialRequests : processBare("process-credential-requests", how);
      await measured(`process-shipments, a shipment${name}`, host, () => once(items, () => first(host)));
      await measured(`process-credential-requests, a key${name}`, host, () => once(items, () => second(host)));
    }
  };
  const creates = async (): Promise<void> => {
    for (const [title, connections, shape] of [
      ["create, 1 item, 1 credential", 4, [1, 1]],
      ["create, 10 items, 3 credentials", 2, [10, 3]],
    ] as const) {
      await measured(title, host, () => load(connections, () => create(host, ...shape)));
      for (const how of ways) {
        const call = () => createBare(how, host, ...shape);
        await measured(`${title}, ${titles[how]}`, host, () => load(connections, call));
      }
    }
  };
  // The first round warms up; jobs come first, as creates leave what they would work on, too.
  for (let each = 0; each <= rounds; each++) {
    await jobs();
    if (each === 0) tallies.clear();
  }
  for (let each = 0; each < rounds; each++) await creates();
  if (values.profile === undefined) return;
  const to = (name: string) => join(values.profile ?? "", `${name}.cpuprofile`);
  await host.profiled(to("create"), () => load(4, () => create(host)));
  await host.profiled(to("process-shipments"), () => processShipments(host));
  await host.profiled(to("process-credential-requests"), () => processCredentialRequests(host));
}

function report(): string {
  const best = ({ rates }: Tally) => Math.max(...rates);
  const least = ({ cpuMs }: Tally) => Math.min(...cpuMs);
  const share = (one: Tally, other: Tally | undefined) =>
    other === undefined ? "" : `${(best(one) / best(other)).toFixed(2)} / ${(least(other) / least(one)).toFixed(2)}`;
  const lines = [...tallies]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, tally]) => {
      const time = (at: number) => (tally.times.length === 0 ? "" : quantile(tally.times, at).toFixed(0));
      const shares = ways.map(how => share(tally, tallies.get(`${name}, ${titles[how]}`)));
      return [name, best(tally).toFixed(1), time(0.5), time(0.99), least(tally).toFixed(1), ...shares];
    });
  const compared = ways.map(how => `to ${titles[how]}`);
  return table([["", "a second", "p50 ms", "p99 ms", "host CPU ms", ...compared], ...lines]);
}

const bothJobs = [
  ["process-shipments", processShipments],
  ["process-credential-requests", processCredentialRequests],
] as const;

/** Due work beside history, by turns with as much on an account that has none. */
async function compareWithHistory(bench: Bench): Promise<string> {
  const due = Number(values.due);
  const alone = await bench.another("empty storage");
  const beside = await bench.another("empty storage");
  for (const host of [alone, beside]) {
    await place(1, () => create(host));
    for (const [, job] of bothJobs) await job(host);
  }
  await addHistory(Number(values.history), beside);
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
        const now = await measured(name, host, () => once(due, () => job(host)));
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
  return table([[`${due} due`, "alone", `beside ${values.history} rows`, "times"], ...lines]);
}

/** Many due shipments in one run. */
async function watchMemory(bench: Bench): Promise<string> {
  const count = Number(values.shipments);
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

const bench = await startBench(values.node.split(" ").filter(Boolean));
const wanted = (name: string) => values.only === undefined || values.only === name;
console.log(machine());
// Memory first: what has worked before has grown before.
if (wanted("memory")) console.log(`\n${await watchMemory(bench)}`);
if (wanted("history")) console.log(`\n${await compareWithHistory(bench)}`);
if (wanted("bare")) {
  tallies.clear();
  await compareWithBare(bench.host);
  console.log(`\n${report()}`);
}
console.log(`\n${machine()}`);
await bench.stop();
