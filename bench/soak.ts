// The memory of a host under steady work on all paths: its live heap after a collection must stay the same. See README.md.
import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { machine, table } from "./auth/load.ts";
import { password } from "./auth/password.ts";
import { create, processCredentialRequests, processShipments } from "./connector/orders.ts";
import { startBench } from "./connector/system.ts";

const { values } = parseArgs({
  options: {
    /** Measured minutes, after the first half of a minute, in which the host loads its modules and fills its caches. */
    minutes: { type: "string", default: "1" },
    /** Names of paths, with commas between; all where missing. */
    only: { type: "string", default: "" },
    /** Arguments of the host's Node, apart by blanks. */
    node: { type: "string", default: "" },
  },
});
const durationMs = Number(values.minutes) * 60_000;
const warmUpMs = Math.max(30_000, durationMs / 4);
/** The live heap may differ by so much between the start and any later time. */
const tolerance = 0.05;

const bench = await startBench({
  hasSink: true,
  nodeArguments: values.node.split(" ").filter(Boolean),
  settings: { SERVICE_APIS: "core,client,connector", EVENT_SINK_ALLOW_PRIVATE: "true" },
});
const { host, tokens } = bench;

async function send(path: string, init: RequestInit = {}): Promise<string> {
  const response = await fetch(host.url + path, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
  return text;
}
const form = (fields: Readonly<Record<string, string>>) => ({ method: "POST", body: new URLSearchParams(fields) });
const core = (path: string, init: RequestInit = {}) =>
  send(`/core${path}`, { ...init, headers: { authorization: `Bearer ${tokens.core}` } });
const connector = (path: string) => send(path, { headers: { authorization: `Bearer ${tokens.connector}` } });

const username = "soak";
await core("/users", form({ username, password }));
const signIn = async (): Promise<string> =>
  JSON.parse(await send("/client/login", form({ username, password }))).session;
let session = await signIn();
let prefixes = 0;
const newPrefix = () =>
  `c${String(prefixes++).padStart(11, "0")}`.replaceAll(/\d/g, digit => "cbdefghijk"[Number(digit)] ?? "");

/** What each worker does again and again. */
const paths: Readonly<Record<string, () => Promise<unknown>>> = {
  "sign-ins": async () => {
    session = await signIn();
  },
  status: () => send("/client/status", { headers: { "x-service-session": session } }),
  import: async () => {
    const prefix = newPrefix();
    await core("/otpkeys", form({ prefix, kind: "hotp", secret: randomBytes(20).toString("hex") }));
    await core(`/otpkeys/${prefix}`, { method: "DELETE" });
  },
  lists: async () => {
    await Promise.all([core("/users"), core("/otpkeys"), connector("/v2/credential-requests?$top=100")]);
  },
  orders: () => create(host),
  // With their events, which are sent at the end of a job.
  jobs: async () => {
    await processShipments(host);
    await processCredentialRequests(host);
  },
};
const names = values.only === "" ? Object.keys(paths) : values.only.split(",");
const counts = new Map<string, number>(names.map(name => [name, 0]));

/** Works on all paths for a time. Each has its own worker. */
async function work(ms: number): Promise<void> {
  const end = performance.now() + ms;
  const worker = async (name: string) => {
    while (performance.now() < end) {
      await paths[name]?.();
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  };
  await Promise.all(names.map(worker));
}

const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(1);
const lines: string[][] = [];
const heaps: number[] = [];
let mostRss = 0;
for (const [name, ms] of [
  ["start", warmUpMs],
  ["middle", durationMs / 2],
  ["end", durationMs / 2],
] as const) {
  const { most, after } = await host.grown(() => work(ms));
  mostRss = Math.max(mostRss, most);
  heaps.push(after.heap);
  const all = [...counts].map(([path, count]) => `${path} ${count}`).join(", ");
  lines.push([name, mib(after.heap), (after.heap / (heaps[0] ?? 1)).toFixed(3), mib(after.rss), mib(most), all]);
}
await bench.stop();
const head = ["", "live heap MiB", "to start", "resident MiB", "most MiB", "done since the beginning"];
console.log(`${machine()}\n\n${table([head, ...lines])}`);
const [start = 0, ...later] = heaps;
if (later.some(heap => heap > start * (1 + tolerance))) {
  console.error(`The live heap grew by more than ${tolerance * 100} %.`);
  process.exitCode = 1;
}
