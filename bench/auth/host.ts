// A host for benches, started by them: the service and its baseline.
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";
import { hash, verify } from "@node-rs/argon2";
import { start } from "../../functions/start.ts";
import { defaultCost } from "../../lib/auth/passwords/password-hash.ts";
import { installFunctionsCore } from "../../local/host/functions-core.ts";
import { startHost } from "../../local/host/host.ts";
import { createInvoke } from "../../local/host/invoke.ts";
import { servedFunctions } from "../../local/host/served-functions.ts";
import type { ToFront, ToWorker } from "./front.ts";
import { password } from "./password.ts";

/** What the process has used since its start, in milliseconds, and its memory now, in bytes. */
export interface Usage {
  readonly cpuMs: number;
  /** Of the event loop alone: hashes and name look-ups run in other threads. */
  readonly loopMs: number;
  readonly rss: number;
  /** Memory of the front, if it is a process of its own. */
  readonly frontRss?: number;
}

/** The first message of a host: its address, and the front if that is a process of its own. */
export interface Started {
  readonly url: string;
  readonly frontPid?: number | undefined;
}

/** Raw hashes: how many, the milliseconds of each, and the CPU time of all. */
export interface Hashed {
  readonly times: readonly number[];
  readonly cpuMs: number;
}

/** The time of a call until its response, in milliseconds. */
export interface WorkerTime {
  /** Since the front has sent it. */
  readonly sinceSent: number;
  /** Since this process has read it. */
  readonly sinceReceived: number;
}

/** By function and status, as in `clientStatus 200`. */
export type WorkerTimes = Readonly<Record<string, readonly WorkerTime[]>>;

export type Command =
  | "usage"
  | "workerTimes"
  | "stop"
  /** From now on, or until now into that file. */
  | "profile"
  | { readonly profileTo: string }
  | { readonly hashMs: number; readonly inFlight: number };

/** Milliseconds since 1970. */
const now = () => performance.timeOrigin + performance.now();
let workerTimes: Record<string, WorkerTime[]> = {};

const core = installFunctionsCore();
await start({ ...process.env }, JSON.parse(process.env.BENCH_LIMITS ?? "{}"));
const { registerBare } = await import("./bare.ts");
await registerBare(process.env.CLOUD_STORAGE_CONNECTION_STRING ?? "");
const hostJson = JSON.parse(readFileSync(new URL("../../host.json", import.meta.url), "utf8"));
const host = await (process.env.BENCH_FRONT === undefined ? startHost(core, { port: 0, hostJson }) : startWithFront());

const inspector = new Session();

process.on("message", async (command: Command) => {
  if (command === "stop") {
    await host.stop();
    process.exit();
  }
  process.send?.(await answer(command));
});
const frontPid = "frontPid" in host ? host.frontPid : undefined;
process.send?.({ url: host.url, frontPid } satisfies Started);
// The bench has failed.
process.once("disconnect", () => process.exit(1));

/** Starts the front in a process of its own and runs the functions that it calls in this one, as Azure's worker does. */
async function startWithFront() {
  const front = fork(fileURLToPath(new URL("./front.ts", import.meta.url)), {
    // Sends bytes as they are, which costs about as much as the messages of the real host.
    serialization: "advanced",
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const log = () => {};
  const invoke = createInvoke(core, log);
  const served = servedFunctions(core, { setting: name => process.env[name], log });
  const byName = new Map(served.map(one => [one.name, one]));
  const send = (message: ToFront) => front.send(message);
  send({ functions: [...core.functions.values()].map(({ metadata }) => metadata) });
  const [{ url }] = (await once(front, "message")) as [Started];
  front.on("message", async (message: ToWorker) => {
    if ("url" in message) return;
    const { id, name, input, reason, sentAt } = message;
    const receivedAt = now();
    const one = byName.get(name);
    const response = one && (await invoke(one, input, reason).catch(() => undefined));
    const call = `${name} ${response?.returnValue?.http?.statusCode}`;
    workerTimes[call] ??= [];
    workerTimes[call].push({ sinceSent: now() - sentAt, sinceReceived: now() - receivedAt });
    send({ id, ...(response && { response }) });
  });
  return {
    url,
    frontPid: front.pid,
    stop: async () => {
      const exited = once(front, "exit");
      front.kill();
      await exited;
      await core.runHooks("appTerminate", { hookData: core.appHookData, appHookData: core.appHookData });
    },
  };
}

async function answer(command: Exclude<Command, "stop">): Promise<unknown> {
  if (command === "usage") return usage();
  if (command === "workerTimes") {
    const times = workerTimes;
    workerTimes = {};
    return times;
  }
  if (command === "profile") {
    // Not before: while it is connected, every line of the log costs it a stack trace.
    inspector.connect();
    await inspector.post("Profiler.enable");
    await inspector.post("Profiler.start");
    return {};
  }
  if ("hashMs" in command) return hashed(command.hashMs, command.inFlight);
  const { profile } = await inspector.post("Profiler.stop");
  inspector.disconnect();
  writeFileSync(command.profileTo, JSON.stringify(profile));
  return {};
}

function usage(): Usage {
  const { user, system } = process.cpuUsage();
  const thread = process.threadCpuUsage();
  const loopMs = (thread.user + thread.system) / 1000;
  const front = frontPid === undefined ? {} : { frontRss: rssOf(frontPid) };
  return { cpuMs: (user + system) / 1000, loopMs, rss: process.memoryUsage.rss(), ...front };
}

/** Returns the memory of another process on Linux, in bytes. */
function rssOf(pid: number): number {
  const [, kib = "0"] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kib) * 1024;
}

async function hashed(durationMs: number, inFlight: number): Promise<Hashed> {
  const stored = await hash(password, defaultCost);
  const before = usage();
  const end = performance.now() + durationMs;
  const times: number[] = [];
  const work = async () => {
    while (performance.now() < end) {
      const began = performance.now();
      await verify(stored, password);
      times.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, work));
  return { times, cpuMs: usage().cpuMs - before.cpuMs };
}
