// Requests per second and times of the authentication server, compared with their parts. See README.md.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { load, machine, quantile, type Sent, table } from "./auth/load.ts";
import { password } from "./auth/password.ts";
import { type BenchUser, startBench } from "./auth/system.ts";

const { values } = parseArgs({
  options: {
    connections: { type: "string", default: "8" },
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "1" },
    profile: { type: "string" },
    pin: { type: "boolean", default: false },
    only: { type: "string", default: "" },
  },
});
if (values.profile !== undefined) mkdirSync(values.profile, { recursive: true });
const connections = Number(values.connections);
const durationMs = Number(values.seconds) * 1000;

/** What one case came to: every call's milliseconds, and what each round came to. */
interface Tally {
  readonly times: number[];
  readonly rates: number[];
  readonly cpuMs: number[];
}

const bench = await startBench({ pin: values.pin });
const { send } = bench;

/** One user a connection and case, so that no two calls meet in a row. */
async function usersFor(name: string, kind?: "hotp" | "yubico"): Promise<readonly BenchUser[]> {
  const users: BenchUser[] = [];
  for (let index = 0; index < connections; index++) {
    const letters = String(index).replaceAll(/\d/g, digit => "cbdefghijk"[Number(digit)] ?? "");
    const prefix = kind && `ccccc${name.replace("-", "")}${letters}`;
    users.push(await bench.user(`${name}-${index}`, prefix, kind));
  }
  return users;
}

type Case = (connection: number) => Promise<Sent>;

const post = (path: string, users: readonly BenchUser[], withOtp = false): Case => {
  return connection => {
    const user = users[connection] as BenchUser;
    const otp = withOtp ? { otp: user.otp() } : {};
    return send(path, { method: "POST", form: { username: user.username, password, ...otp } });
  };
};

/** The throttle's row is there from the second attempt on. */
async function signedIn(users: readonly BenchUser[], withOtp = false): Promise<readonly string[]> {
  const login = post("/client/login", users, withOtp);
  const answers = await Promise.all(users.map((_, index) => login(index)));
  return answers.map(({ text }) => JSON.parse(text).session as string);
}

async function prepare(): Promise<Readonly<Record<string, Case>>> {
  const [plain, bare] = [await usersFor("plain"), await usersFor("bare")];
  const [keyed, bareKeyed] = [await usersFor("keyed", "hotp"), await usersFor("bare-keyed", "hotp")];
  const [yubico, bareYubico] = [await usersFor("cnr", "yubico"), await usersFor("bnr", "yubico")];
  const sessions = await signedIn(plain);
  for (const users of [bare, keyed, bareKeyed]) await signedIn(users, users !== bare);
  const status =
    (path: string): Case =>
    connection =>
      send(path, { headers: { "x-service-session": sessions[connection] ?? "" } });
  const validate =
    (users: readonly BenchUser[], path: (username: string) => string): Case =>
    connection => {
      const user = users[connection] as BenchUser;
      return send(path(user.username), { method: "POST", headers: bench.coreHeaders, form: { otp: user.otp() } });
    };
  return {
    "Core user": connection => send(`/core/users/${plain[connection]?.username}`, { headers: bench.coreHeaders }),
    "Core user, bare": connection => send(`/bare/user?username=${bare[connection]?.username}`),
    "Core validate": validate(yubico, username => `/core/users/${username}/validate`),
    "Core validate, bare": validate(bareYubico, username => `/bare/validate?username=${username}`),
    status: status("/client/status"),
    "status, bare": status("/bare/status"),
    authenticate: post("/client/authenticate", plain),
    "authenticate, bare": post("/bare/authenticate", bare),
    "login with password": post("/client/login", plain),
    "login with password, bare": post("/bare/login", bare),
    "login with HOTP": post("/client/login", keyed, true),
    "login with HOTP, bare": post("/bare/login", bareKeyed, true),
  };
}

const hashes = "argon2id, raw";

async function run(cases: Readonly<Record<string, Case>>): Promise<ReadonlyMap<string, Tally>> {
  const tallies = new Map<string, Tally>();
  const note = (name: string, times: readonly number[], began: number, cpuMs: number) => {
    const tally: Tally = tallies.get(name) ?? { times: [], rates: [], cpuMs: [] };
    tally.times.push(...times);
    tally.rates.push(times.length / ((performance.now() - began) / 1000));
    tally.cpuMs.push(cpuMs / times.length);
    tallies.set(name, tally);
  };
  const measured = async (name: string, call: Case) => {
    const [before, began] = [await bench.usage(), performance.now()];
    const times = await load(connections, durationMs, call);
    note(name, times, began, (await bench.usage()).cpuMs - before.cpuMs);
  };
  const names = Object.keys(cases).filter(name => name.startsWith(values.only));
  for (const name of names) await load(connections, 500, cases[name] as Case);
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const name of names) await measured(name, cases[name] as Case);
    const began = performance.now();
    const { times, cpuMs } = await bench.hash(durationMs, 4);
    note(hashes, times, began, cpuMs);
  }
  if (values.profile !== undefined) {
    for (const name of names) {
      const file = join(values.profile, `${name.replaceAll(/\W+/g, "-")}.cpuprofile`);
      console.error(
        name,
        (await bench.profiled(file, () => load(connections, 2 * durationMs, cases[name] as Case))).length,
      );
    }
  }
  return tallies;
}

/** Of the best round: other work on the machine can only make it worse. */
const bestRate = ({ rates }: Tally) => Math.max(...rates);
const leastCpu = ({ cpuMs }: Tally) => Math.min(...cpuMs);

/** Requests a second and the host's CPU, as shares of what it is compared with. */
function ratio(tallies: ReadonlyMap<string, Tally>, name: string, other: string): string {
  const [one, two] = [tallies.get(name), tallies.get(other)];
  if (one === undefined || two === undefined || name === other) return "";
  return `${(bestRate(one) / bestRate(two)).toFixed(2)} / ${(leastCpu(two) / leastCpu(one)).toFixed(2)}`;
}

function report(tallies: ReadonlyMap<string, Tally>): string {
  const rows = [...tallies].map(([name, tally]) => [
    name,
    bestRate(tally).toFixed(0),
    quantile(tally.times, 0.5).toFixed(1),
    quantile(tally.times, 0.99).toFixed(1),
    leastCpu(tally).toFixed(2),
    ratio(tallies, name, `${name}, bare`),
    /status|Core/.test(name) ? "" : ratio(tallies, name, hashes),
  ]);
  const head = ["", "a second", "p50 ms", "p99 ms", "host CPU ms", "to bare: rate / CPU", "to argon2id: rate / CPU"];
  return table([head, ...rows]);
}

const before = machine();
console.log(`${report(await run(await prepare()))}\n\nbefore: ${before}\nafter: ${machine()}`);
await bench.stop();
