// Development tool, not for production: the whole system on one machine.
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { readArguments } from "../../commands/read-arguments.ts";
import { readAllSettings } from "../../functions/read-all-settings.ts";
import { Fault } from "../../lib/fault.ts";
import { recordHost } from "../console/recording/record-host.ts";
import { hostSettings } from "../generate/settings-files.ts";
import { installFunctionsCore } from "../host/functions-core.ts";
import { startHost } from "../host/host.ts";
import { banner, peersBanner } from "./banner.ts";
import { diskProblem, prepareDirectory } from "./data-directory.ts";
import { captureConsole, createLocalLog, type LocalLog, type LogMode, logMode } from "./log.ts";
import { ownSettings } from "./own-settings.ts";
import { choosePorts, parsePort, requireFreePort, type TakenPort } from "./ports.ts";
import { type Facts, removeFacts, removeStaleFacts, runningFacts, writeFacts } from "./run-file.ts";
import { stopOnce } from "./stop-once.ts";
import { joinSystem, type System, startSystem } from "./system.ts";

const command = {
  name: "npm start",
  help: `Runs the whole system on this machine: storage, simulated peers, host and console.

Usage: npm start -- [options]
  --ephemeral            keep all data in memory
  --log MODE             pretty (default on a terminal), json (default in a pipe) or quiet (warnings and errors)
  --peers-only           start storage, peers and console without a host, and write the settings for a host of your own
  --storage CONNECTION   run one more host for the system on this storage
  --help                 show this text

Environment:
  PORT        port of the host, 7071 by default; console, storage and peers use the ports after it. 0: free ports
  LOCAL_DIR   directory of the data, .local by default
  and every setting of docs/settings.md. Settings come from local.settings.json in this directory, then from the
  environment, which has priority.

More in local/README.md.`,
  options: {
    ephemeral: { type: "boolean" },
    log: { type: "string" },
    "peers-only": { type: "boolean" },
    storage: { type: "string" },
  },
} as const;

// A reader that only waits for the first lines may close the pipe. That does not stop the system.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

await main().catch((error: unknown) => {
  const disk = diskProblem(error);
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`${disk === undefined || message.includes(disk) ? message : `${message} (${disk})`}\n`);
  process.exit(1);
});

async function main(): Promise<void> {
  const values = readArguments(command)?.values;
  if (values === undefined) return;
  const mode = logMode(values.log, process.stdout.isTTY);
  const log = createLocalLog(mode, { stdout: process.stdout, stderr: process.stderr, now: () => new Date() });
  captureConsole(log);
  fillEnvironment(ownSettings("local.settings.json"));
  const directory = resolve(process.env.LOCAL_DIR || ".local");
  const port = parsePort(process.env.PORT || "7071");
  const isEphemeral = values.ephemeral === true;
  prepareDirectory(directory);
  await removeStaleFacts(directory);
  if (!isEphemeral && values.storage === undefined) await refuseSecondStart(directory);
  const servesHost = values["peers-only"] !== true;
  if (servesHost) await requireFreePort(port);
  const { ports, taken } = await choosePorts(port);
  const system = await (values.storage === undefined
    ? startSystem(directory, isEphemeral ? undefined : directory, {
        ports,
        eventSinkUrls: process.env.EVENT_SINK_URLS?.trim() ?? "",
      })
    : joinRunning(values.storage));
  const start = { port, directory, mode, log, notes: values.storage === undefined ? portNotes(taken) : [] };
  try {
    stopOnce(await (servesHost ? serveHost(system, start) : servePeers(system, start)));
    process.send?.("ready");
  } catch (error) {
    await system.close();
    throw error;
  }
}

interface Start {
  readonly port: number;
  readonly directory: string;
  readonly mode: LogMode;
  readonly log: LocalLog;
  readonly notes: readonly string[];
}

/** Throws if the system of this directory runs already; says where. */
async function refuseSecondStart(directory: string): Promise<void> {
  const first = await runningFacts(directory);
  if (first === undefined) return;
  const addresses = [...(first.console === undefined ? [] : [`console ${first.console}`]), `APIs ${first.host}`];
  throw new Error(
    `The local system of ${directory} runs already: ${addresses.join(", ")} (process ${first.pid}).\n` +
      "Stop it first, or start another one: PORT=0 LOCAL_DIR=/tmp/second npm start",
  );
}

function portNotes(taken: readonly TakenPort[]): readonly string[] {
  if (taken.length === 0) return [];
  const ports = taken.map(({ part, port }) => `${port} (${part})`).join(", ");
  return [`Note: other programs use the ports ${ports}; free ones replace them for this start.`];
}

/** A storage that does not answer has no running system either. */
function joinRunning(connectionString: string): Promise<System> {
  return joinSystem(connectionString).catch((cause: unknown) => {
    throw cause instanceof Fault ? new Error("There is no running local system on this storage.", { cause }) : cause;
  });
}

/** Runs the host of the system, and reports it to people and programs. Returns what stops both. */
async function serveHost(system: System, { port, directory, mode, log, notes }: Start): Promise<() => Promise<void>> {
  const differing = fillEnvironment(system.settings);
  readAllSettings(process.env);
  const core = installFunctionsCore();
  recordHost(line => system.console?.addLine(line));
  await import("../../functions/main.ts");
  const host = await startHost(core, {
    port,
    hostJson: JSON.parse(readFileSync(new URL("../../host.json", import.meta.url), "utf8")),
    log: (level, _, message) => (level === "error" ? console.error(message) : undefined),
    observe: log.observe,
  });
  system.console?.hostIs(host.url, host);
  const facts = factsOf(system, host);
  const path = await writeFacts(directory, facts);
  const own =
    differing.length === 0 ? [] : [`Note: your settings replace those of the local system: ${differing.join(", ")}.`];
  report(banner(facts, { readyMs: performance.now(), path, notes: [...notes, ...own] }), mode);
  return async () => {
    await host.stop();
    await system.close();
    removeFacts(path);
  };
}

/** Writes the settings for a host that another program starts. Returns what stops the system. */
async function servePeers(system: System, { port, directory, mode, notes }: Start): Promise<() => Promise<void>> {
  const Values = { ...hostSettings, ...system.settings, AzureWebJobsStorage: system.connectionString };
  const settingsPath = join(directory, "local.settings.json");
  const url = `http://127.0.0.1:${port}`;
  system.console?.hostIs(url);
  const file = { IsEncrypted: false, Host: { LocalHttpPort: port }, Values };
  writeFileSync(settingsPath, `${JSON.stringify(file, undefined, 2)}\n`, { mode: 0o600 });
  const facts = factsOf(system, { url, masterKey: "" });
  const path = await writeFacts(directory, facts);
  report(peersBanner(facts, { readyMs: performance.now(), path, notes, settingsPath }), mode);
  return async () => {
    await system.close();
    removeFacts(path);
  };
}

function factsOf(system: System, host: { readonly url: string; readonly masterKey: string }): Facts {
  return {
    host: host.url,
    tokens: system.tokens,
    secrets: { eventSinks: [...system.secrets.eventSinks] },
    storage: system.connectionString,
    peers: system.peerUrls,
    ...(system.console && { console: system.console.url }),
    pid: process.pid,
    masterKey: host.masterKey,
  };
}

/** In a pipe, stdout has the JSON lines of the log only. */
function report(text: string, mode: LogMode): void {
  (mode === "json" ? process.stderr : process.stdout).write(`${text}\n`);
}

/** Sets each variable that is not set yet. Returns the names of those that have another value. */
function fillEnvironment(values: Readonly<Record<string, string>>): readonly string[] {
  const differing: string[] = [];
  for (const [name, value] of Object.entries(values)) {
    if (!process.env[name]?.trim()) process.env[name] = value;
    else if (process.env[name] !== value) differing.push(name);
  }
  return differing;
}
