// A host for the bench of the connector, started by it: the service in a process of its own.
import diagnostics from "node:diagnostics_channel";
import { readFileSync, writeFileSync } from "node:fs";
import type { ClientRequest } from "node:http";
import { Session } from "node:inspector/promises";
import { start } from "../../functions/start.ts";
import { installFunctionsCore } from "../../local/host/functions-core.ts";
import { startHost } from "../../local/host/host.ts";

/** CPU time since the start of the process, and its memory now: milliseconds and bytes. */
export interface Usage {
  readonly cpuMs: number;
  readonly rss: number;
  readonly heap: number;
  /** Calls to storage. */
  readonly storageCalls: number;
}

export type Command =
  | "usage"
  | "stop"
  /** Collects garbage first, then watches its memory. */
  | "watch"
  /** Answers the most that was seen since, in bytes. */
  | "watched"
  | "profile"
  | { readonly profileTo: string };

const storageHosts = [process.env.CLOUD_TABLES_ENDPOINT, process.env.CLOUD_STORAGE_BLOB_ENDPOINT].map(
  url => new URL(url ?? "").host,
);
let storageCalls = 0;
// The SDKs of storage use node:http; the clients of the peers use fetch.
diagnostics.subscribe("http.client.request.start", message => {
  const { request } = message as { readonly request: ClientRequest };
  if (storageHosts.includes(String(request.getHeader("host")))) storageCalls++;
});

const core = installFunctionsCore();
await start({ ...process.env }, JSON.parse(process.env.BENCH_LIMITS ?? "{}"));
const hostJson = JSON.parse(readFileSync(new URL("../../host.json", import.meta.url), "utf8"));
const host = await startHost(core, { port: 0, hostJson });

const inspector = new Session();
let most = 0;
let watching: NodeJS.Timeout | undefined;

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
  if (command === "watch") return watch();
  if (command === "watched") {
    clearInterval(watching);
    return most;
  }
  if (command === "profile") {
    inspector.connect();
    await inspector.post("Profiler.enable");
    await inspector.post("Profiler.start");
    return {};
  }
  const { profile } = await inspector.post("Profiler.stop");
  inspector.disconnect();
  writeFileSync(command.profileTo, JSON.stringify(profile));
  return {};
}

function usage(): Usage {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed: heap } = process.memoryUsage();
  return { cpuMs: (user + system) / 1000, rss, heap, storageCalls };
}

function watch(): Usage {
  for (let times = 0; times < 3; times++) globalThis.gc?.();
  const idle = usage();
  most = idle.rss;
  watching = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 20);
  return idle;
}
