// OTP keys that are imported a second, one in a call and 100 in a call, in turns. See README.md.
import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { machine, table } from "./auth/load.ts";
import { startBench } from "./auth/system.ts";

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "5" }, keys: { type: "string", default: "400" } },
});
const count = Number(values.keys);

const bench = await startBench();
let prefixes = 0;
const newKey = () => ({
  prefix: `bench${String(prefixes++).padStart(7, "0")}`,
  kind: "hotp",
  secret: randomBytes(20).toString("hex"),
});
type Key = ReturnType<typeof newKey>;

async function post(path: string, json: object): Promise<string> {
  const { status, text } = await bench.send(`/core${path}`, { method: "POST", headers: bench.coreHeaders, json });
  if (status >= 300) throw new Error(`${path} answered ${status}: ${text}`);
  return text;
}

/** Sends the keys in calls of so many, so many calls at once. */
async function send(keys: readonly Key[], batch: number, parallel: number): Promise<void> {
  const calls = Array.from({ length: Math.ceil(keys.length / batch) }, (_, n) =>
    keys.slice(n * batch, (n + 1) * batch),
  );
  const queue = calls.values();
  const work = async () => {
    for (const otpkeys of queue) {
      const [key] = otpkeys;
      if (batch === 1 && key !== undefined) await post("/otpkeys", key);
      else await sendBatch(otpkeys);
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
}

async function sendBatch(otpkeys: readonly Key[]): Promise<void> {
  const text = await post("/otpkeys/batch", { otpkeys });
  const { results } = JSON.parse(text) as { results: readonly { status: number }[] };
  if (results.some(({ status }) => status > 201)) throw new Error(text);
}

interface Round {
  readonly rate: number;
  readonly hostMs: number;
  readonly storageMs: number;
}

/** The calls of each case: OTP keys in a call, calls at once, and whether the keys are there already. */
const cases = {
  "one in a call, 8 at once": [1, 8, false],
  "100 in a call, 4 at once": [100, 4, false],
  "one in a call, 8 at once, again": [1, 8, true],
  "100 in a call, 4 at once, again": [100, 4, true],
} as const;

const rounds = new Map<string, Round[]>(Object.keys(cases).map(name => [name, []]));
for (let round = -1; round < Number(values.rounds); round++) {
  for (const [name, [batch, parallel, isKnown]] of Object.entries(cases)) {
    const keys = Array.from({ length: round < 0 ? 100 : count }, newKey);
    if (isKnown) await send(keys, 100, 4);
    const [host, storage, began] = [(await bench.usage()).cpuMs, bench.storageCpuMs(), performance.now()];
    await send(keys, batch, parallel);
    const seconds = (performance.now() - began) / 1000;
    const per = (ms: number) => ms / keys.length;
    const hostMs = per((await bench.usage()).cpuMs - host);
    // The first round loads code.
    if (round >= 0)
      rounds.get(name)?.push({ rate: keys.length / seconds, hostMs, storageMs: per(bench.storageCpuMs() - storage) });
  }
}

const rows = [...rounds].map(([name, all]) => {
  const least = (of: (round: Round) => number) => Math.min(...all.map(of)).toFixed(2);
  const rate = Math.max(...all.map(each => each.rate));
  return [name, rate.toFixed(0), least(each => each.hostMs), least(each => each.storageMs)];
});
const head = ["import of OTP keys", "a second", "host CPU ms", "storage CPU ms"];
console.log(`${table([head, ...rows])}\n\n${machine()}`);
await bench.stop();
