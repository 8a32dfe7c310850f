// What callers see while anonymous calls overload a host, compared with the quiet host before. See README.md.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Flood, FloodReport } from "./auth/flood.ts";
import type { WorkerTimes } from "./auth/host.ts";
import { machine, quantile, type Sent, table } from "./auth/load.ts";
import { password } from "./auth/password.ts";
import { startBench } from "./auth/system.ts";

const { values } = parseArgs({
  options: {
    connections: { type: "string", default: "1600" },
    seconds: { type: "string", default: "8" },
    pin: { type: "boolean", default: false },
    front: { type: "boolean", default: false },
  },
});
const durationMs = Number(values.seconds) * 1000;

const bench = await startBench({ pin: values.pin, separateFront: values.front });
const { send } = bench;
const { username } = await bench.user("known-person");
const signIn = (headers: Readonly<Record<string, string>> = {}, more: Readonly<Record<string, string>> = {}) =>
  send("/client/login", { method: "POST", headers, form: { username, password, ...more } });
const remembered = JSON.parse((await signIn({}, { remember_device: "true" })).text);
const sessionHeader = { "x-service-session": remembered.session as string };
const deviceHeader = { "x-service-device": remembered.device as string };

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms));

/** Milliseconds until a login is granted. A refused one is repeated after `Retry-After`. */
async function untilGranted(login: () => Promise<Sent>, endsAt: number): Promise<number> {
  const began = performance.now();
  for (;;) {
    const { status, retryAfterSeconds } = await login();
    if (status === 200) return performance.now() - began;
    if (performance.now() > endsAt) return Number.POSITIVE_INFINITY;
    await pause(retryAfterSeconds * 1000);
  }
}

/** What other callers see for a time: milliseconds of each of their calls, and the host's greatest memory. */
async function watch(forMs: number) {
  const endsAt = performance.now() + forMs;
  let frontRss = 0;
  const repeat = async (call: () => Promise<number>): Promise<readonly number[]> => {
    const times: number[] = [];
    while (performance.now() < endsAt) {
      times.push(await call());
      await pause(20);
    }
    return times;
  };
  const timed = (path: string, headers = {}) =>
    repeat(async () => {
      const { status, ms, text } = await send(path, { headers });
      if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`);
      return ms;
    });
  const [health, status, login, deviceLogin, memory] = await Promise.all([
    timed("/health"),
    timed("/client/status", sessionHeader),
    repeat(() => untilGranted(() => signIn(), endsAt)),
    repeat(() => untilGranted(() => signIn(deviceHeader), endsAt)),
    repeat(async () => {
      const usage = await bench.usage();
      frontRss = Math.max(frontRss, usage.frontRss ?? 0);
      return usage.rss;
    }),
  ]);
  return { health, status, login, deviceLogin, rss: Math.max(...memory), frontRss };
}

async function flooded(flood: Omit<Flood, "url" | "connections" | "durationMs">, durationMs: number) {
  const child = fork(fileURLToPath(new URL("./auth/flood.ts", import.meta.url)), { stdio: "inherit" });
  bench.pinOther(child.pid ?? 0);
  child.send({ ...flood, url: bench.url, connections: Number(values.connections), durationMs } satisfies Flood);
  await once(child, "message");
  const report = once(child, "message") as Promise<[FloodReport]>;
  const before = await bench.usage();
  child.send("start");
  // Ends before the flood does, so that the last calls meet it too.
  const seen = await watch(durationMs * 0.8);
  const [{ ...reported }] = await report;
  const calls = Object.values(reported.statuses).reduce((sum, count) => sum + count, 0);
  const loopMs = ((await bench.usage()).loopMs - before.loopMs) / calls;
  return { seen, report: reported, loopMs, inWorker: await bench.workerTimes() };
}

const floods = [
  { name: "new names, waiting for Retry-After", waits: true, names: 0 },
  { name: "20 names, waiting for Retry-After", waits: true, names: 20 },
  { name: "new names, calling again at once", waits: false, names: 0 },
];

const ms = (times: readonly number[], share: number): string => {
  const value = quantile(times, share);
  return Number.isFinite(value) ? value.toFixed(0) : "none";
};
const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(0);
type Seen = Awaited<ReturnType<typeof watch>>;

// Warms the host up: the first hashes load their package, and V8 compiles the code of refusals after some of them.
await flooded({ waits: false, names: 0 }, 2000);
await watch(2000);
const before = machine();
await bench.workerTimes();
const quiet = await watch(4000);
const quietInWorker = await bench.workerTimes();
const times = (seen: readonly number[], alone: readonly number[]) => {
  const ratio = quantile(seen, 0.99) / quantile(alone, 0.99);
  return `${ms(seen, 0.5)} / ${ms(seen, 0.99)}${seen === alone ? "" : ` (${ratio.toFixed(0)}×)`}`;
};
const memory = (rss: number, alone: number) => (rss === alone ? mib(rss) : `+${mib(rss - alone)}`);
const seenCells = ({ health, status, login, deviceLogin, rss, frontRss }: Seen) => [
  times(health, quiet.health),
  times(status, quiet.status),
  `${ms(login, 0.5)} / ${ms(login, 1)}`,
  `${ms(deviceLogin, 0.5)} / ${ms(deviceLogin, 1)}`,
  memory(rss, quiet.rss),
  ...(values.front ? [memory(frontRss, quiet.frontRss)] : []),
];
const inWorkerCells = (of: WorkerTimes, firstRefusals: number) => {
  const sinceSent = (of: WorkerTimes, call: string) => (of[call] ?? []).map(each => each.sinceSent);
  const refusals = sinceSent(of, "clientAuthenticate 503");
  const timesOf = (call: string) => {
    const alone = sinceSent(quietInWorker, call);
    return times(of === quietInWorker ? alone : sinceSent(of, call), alone);
  };
  const [first, later] = [refusals.slice(0, firstRefusals), refusals.slice(firstRefusals)];
  const received = (of["clientAuthenticate 503"] ?? []).slice(0, firstRefusals).map(each => each.sinceReceived);
  return [
    ms(first, 0.99),
    ms(received, 0.99),
    `${ms(later, 0.5)} / ${ms(later, 0.99)}`,
    timesOf("health 200"),
    timesOf("clientStatus 200"),
  ];
};
const workerRows = [["quiet", ...inWorkerCells(quietInWorker, 0)]];
const rows = [["quiet", "", "", "", "", "", ...seenCells(quiet)]];
for (const { name, ...flood } of floods) {
  const { seen, report, loopMs, inWorker } = await flooded(flood, durationMs);
  const { firstRefusalMs, firstRefusals, laterRefusals, statuses } = report;
  const counts = Object.entries(statuses).map(([status, count]) => `${count}× ${status}`);
  const later = `${ms(laterRefusals, 0.5)} / ${ms(laterRefusals, 0.99)}`;
  const refused = [ms([firstRefusalMs], 0), ms(firstRefusals, 0.99), later, (loopMs * 1000).toFixed(0)];
  workerRows.push([name, ...inWorkerCells(inWorker, firstRefusals.length)]);
  rows.push([name, counts.join(", "), ...refused, ...seenCells(seen)]);
}
const head = [
  `${values.connections} connections`,
  "answers",
  "first 503 ms",
  "first wave p99 ms",
  "later 503 p50 / p99 ms",
  "event loop µs a call",
  "/health p50 / p99 ms",
  "status p50 / p99 ms",
  "login p50 / max ms",
  "with device p50 / max ms",
  "RSS MiB",
  ...(values.front ? ["front RSS MiB"] : []),
];
console.log(table([head, ...rows]));
if (values.front) {
  const columns = [
    "first wave p99 ms",
    "since it was read p99 ms",
    "later 503 p50 / p99 ms",
    "/health p50 / p99 ms",
    "status p50 / p99 ms",
  ];
  console.log(`\n${table([["in the worker", ...columns], ...workerRows])}`);
}
console.log(`\nbefore: ${before}\nafter: ${machine()}`);
await bench.stop();
