// Creates and jobs of the connector, compared with the cryptography and peer calls that they cannot avoid. See
// README.md.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { machine, quantile, table } from "./auth/load.ts";
import { compareWithHistory } from "./connector/compare-with-history.ts";
import { type Done, measure, once } from "./connector/measure.ts";
import { watchMemory } from "./connector/memory.ts";
import {
  type Bare,
  create,
  createBare,
  place,
  processBare,
  processCredentialRequests,
  processShipments,
} from "./connector/orders.ts";
import { type BenchHost, startBench } from "./connector/system.ts";

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

async function measured(name: string, host: BenchHost, work: () => Promise<Done>): Promise<void> {
  const { count, times, seconds, cpuMs } = await measure(host, work);
  const tally: Tally = tallies.get(name) ?? { rates: [], cpuMs: [], times: [] };
  tally.rates.push(count / seconds);
  tally.cpuMs.push(cpuMs / count);
  tally.times.push(...times);
  tallies.set(name, tally);
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

const bench = await startBench({ nodeArguments: values.node.split(" ").filter(Boolean) });
const wanted = (name: string) => values.only === undefined || values.only === name;
console.log(machine());
// Memory first: what has worked before has grown before.
if (wanted("memory")) console.log(`\n${await watchMemory(bench, Number(values.shipments))}`);
if (wanted("history"))
  console.log(`\n${await compareWithHistory(bench, { due: Number(values.due), rows: Number(values.history) })}`);
if (wanted("bare")) {
  tallies.clear();
  await compareWithBare(bench.host);
  console.log(`\n${report()}`);
}
console.log(`\n${machine()}`);
await bench.stop();
