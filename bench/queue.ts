// One job on several hosts at once, and on one: the time by the clock, and the calls to storage and to the IdP. See
// README.md.
import { parseArgs } from "node:util";
import { machine, table } from "./auth/load.ts";
import { create, place, processCredentialRequests, processShipments } from "./connector/orders.ts";
import { type BenchHost, startBench } from "./connector/system.ts";

const { values } = parseArgs({
  options: {
    due: { type: "string", default: "120" },
    hosts: { type: "string", default: "3" },
    rounds: { type: "string", default: "3" },
    /** Milliseconds in which the IdP answers a registration. */
    latency: { type: "string", default: "200" },
    /** The highest number of requests that a job works on at once, on every host. By default the app's. */
    concurrency: { type: "string" },
  },
});
const [due, most, rounds] = [Number(values.due), Number(values.hosts), Number(values.rounds)];
const bench = await startBench({
  idpMs: Number(values.latency),
  callsAtOnce: values.concurrency === undefined ? undefined : Number(values.concurrency),
});

/** A round with so many hosts. */
interface Round {
  readonly seconds: number;
  readonly storageCalls: number;
  readonly cpuMs: number;
  readonly throttled: number;
}

async function run(hosts: readonly BenchHost[], count = due): Promise<Round> {
  await place(count, () => create(bench.host));
  await processShipments(bench.host);
  await bench.registrations();
  const before = await Promise.all(hosts.map(host => host.usage()));
  const began = performance.now();
  await Promise.all(hosts.map(processCredentialRequests));
  const seconds = (performance.now() - began) / 1000;
  const after = await Promise.all(hosts.map(host => host.usage()));
  const { calls, throttled } = await bench.registrations();
  if (calls - throttled !== count) throw new Error(`${calls} registrations of ${count}`);
  const grown = (name: "storageCalls" | "cpuMs") =>
    after.reduce((sum, usage, index) => sum + usage[name] - (before[index]?.[name] ?? 0), 0);
  return { seconds, storageCalls: grown("storageCalls"), cpuMs: grown("cpuMs"), throttled };
}

const hosts = [bench.host];
while (hosts.length < most) hosts.push(await bench.another());
// The first round of each host loads its modules.
for (const host of hosts) await run([host], 10);
const all: Round[][] = hosts.map(() => []);
for (let round = 0; round < rounds; round++)
  for (let count = 1; count <= most; count++) all[count - 1]?.push(await run(hosts.slice(0, count)));
await bench.stop();

const median = (rounds: readonly Round[], name: keyof Round): number =>
  rounds.map(round => round[name]).toSorted((a, b) => a - b)[rounds.length >> 1] ?? 0;
const [alone = []] = all;
const ratio = (a: number, b: number) => (a / b).toFixed(2);
const lines = all.map((each, index) => [
  String(index + 1),
  median(each, "seconds").toFixed(1),
  ratio(median(alone, "seconds"), median(each, "seconds")),
  String(median(each, "storageCalls")),
  ratio(median(each, "storageCalls"), median(alone, "storageCalls")),
  median(each, "cpuMs").toFixed(0),
  String(each.reduce((sum, { throttled }) => sum + throttled, 0)),
]);
const head = ["hosts", "s", "times faster", "storage calls", "to one host", "host CPU ms", "429"];
console.log(`${machine()}\n\n${due} due, IdP of ${values.latency} ms\n\n${table([head, ...lines])}`);
