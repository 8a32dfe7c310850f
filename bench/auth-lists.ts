// Cost of a list of users that is filtered by an attribute, by the number of its hits. See README.md.
import { parseArgs } from "node:util";
import { machine, table } from "./auth/load.ts";
import { startBench } from "./auth/system.ts";

const { values } = parseArgs({
  options: { hits: { type: "string", default: "100,1000" }, rounds: { type: "string", default: "10" } },
});
const sizes = values.hits.split(",").map(Number);

const bench = await startBench();

async function core(method: "GET" | "POST", path: string, json?: object): Promise<{ readonly text: string }> {
  const sent = await bench.send(`/core${path}`, { method, headers: bench.coreHeaders, ...(json && { json }) });
  if (sent.status >= 300) throw new Error(`${path} answered ${sent.status}: ${sent.text}`);
  return sent;
}

/** A user without a password has the attribute `team`, the same for each size. */
const names = sizes
  .flatMap(hits => Array.from({ length: hits }, (_, n) => ({ name: `user-${hits}-${n}`, hits })))
  .values();
await Promise.all(
  Array.from({ length: 8 }, async () => {
    for (const { name, hits } of names) {
      await core("POST", "/users", { username: name, password: "" });
      await core("POST", `/users/${name}/attributes`, { key: "team", value: String(hits) });
    }
  }),
);

const rows: string[][] = [];
for (const hits of sizes) {
  const rounds: { readonly ms: number; readonly hostMs: number; readonly storageMs: number }[] = [];
  for (let round = -1; round < Number(values.rounds); round++) {
    const [host, storage, began] = [(await bench.usage()).cpuMs, bench.storageCpuMs(), performance.now()];
    const { text } = await core("GET", `/users?team=${hits}`);
    const ms = performance.now() - began;
    const found = (JSON.parse(text) as readonly unknown[]).length;
    if (found !== hits) throw new Error(`${found} users are listed, not ${hits}`);
    const hostMs = (await bench.usage()).cpuMs - host;
    if (round >= 0) rounds.push({ ms, hostMs, storageMs: bench.storageCpuMs() - storage });
  }
  const least = (of: (round: (typeof rounds)[number]) => number) => Math.min(...rounds.map(of));
  const perHit = (ms: number) => (ms / hits).toFixed(2);
  rows.push([
    `${hits} hits`,
    least(({ ms }) => ms).toFixed(0),
    perHit(least(({ hostMs }) => hostMs)),
    perHit(least(({ storageMs }) => storageMs)),
  ]);
}
console.log(
  `${table([["list of users by attribute", "ms", "host CPU ms a hit", "storage CPU ms a hit"], ...rows])}\n\n${machine()}`,
);
await bench.stop();
