// A host for benches, started by them: the service and its baseline.
import { readFileSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { hash, verify } from "@node-rs/argon2";
import { defaultCost } from "../../lib/auth/passwords/password-hash.ts";
import { installFunctionsCore } from "../../local/host/functions-core.ts";
import { startHost } from "../../local/host/host.ts";
import { password } from "./password.ts";

/** What the process has used since its start, in milliseconds, and its memory now, in bytes. */
export interface Usage {
  readonly cpuMs: number;
  /** Of the event loop alone: hashes and name look-ups run in other threads. */
  readonly loopMs: number;
  readonly rss: number;
}

/** Raw hashes: how many, the milliseconds of each, and the CPU time of all. */
export interface Hashed {
  readonly times: readonly number[];
  readonly cpuMs: number;
}

export type Command =
  | "usage"
  | "stop"
  /** From now on, or until now into that file. */
  | "profile"
  | { readonly profileTo: string }
  | { readonly hashMs: number; readonly inFlight: number };

const core = installFunctionsCore();
await import("../../functions/main.ts");
const { registerBare } = await import("./bare.ts");
await registerBare(process.env.CLOUD_STORAGE_CONNECTION_STRING ?? "");
const hostJson = JSON.parse(readFileSync(new URL("../../host.json", import.meta.url), "utf8"));
const host = await startHost(core, { port: 0, hostJson });

const inspector = new Session();

process.on("message", async (command: Command) => {
  if (command === "stop") {
    await host.stop();
    process.exit();
  }
  process.send?.(await answer(command));
});
process.send?.({ url: host.url });

async function answer(command: Exclude<Command, "stop">): Promise<unknown> {
  if (command === "usage") return usage();
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
  return { cpuMs: (user + system) / 1000, loopMs, rss: process.memoryUsage.rss() };
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
