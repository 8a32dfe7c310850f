import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../../lib/platform/fault.ts";
import { recordHost } from "../console/recording/record-host.ts";
import { readAllSettings } from "../deploy/read-all-settings.ts";
import { hostSettings } from "../generate/settings-files.ts";
import { installFunctionsCore } from "../host/functions-core.ts";
import { startHost } from "../host/host.ts";
import { banner, peersBanner } from "./banner.ts";
import type { LocalLog, LogMode } from "./log.ts";
import { fillEnvironment } from "./own-settings.ts";
import { choosePorts, type TakenPort } from "./ports.ts";
import { type Facts, removeFacts, writeFacts } from "./run-file.ts";
import { stopOnce } from "./stop-once.ts";
import { joinSystem, type System, startSystem } from "./system.ts";

/** The local host in this process, Azure's host, or none: another program starts one. */
export type HostChoice = "local" | "func" | "none";

interface Start {
  /** Of the host; the other ports follow it. */
  readonly port: number;
  readonly directory: string;
  readonly mode: LogMode;
  readonly log: LocalLog;
  readonly isEphemeral: boolean;
  readonly host: HostChoice;
  /** Connection string of the running system that a further host joins. */
  readonly storage: string | undefined;
}

/** Starts a system, or a further host of one, until the process is asked to stop. */
export async function runSystem(start: Start): Promise<void> {
  const { port, directory, isEphemeral, host, storage } = start;
  const { ports, taken } = await choosePorts(port);
  const system = await (storage === undefined
    ? startSystem(directory, isEphemeral ? undefined : directory, {
        ports,
        eventSinkUrls: process.env.EVENT_SINK_URLS?.trim() ?? "",
      })
    : joinRunning(storage));
  const notes = storage === undefined ? portNotes(taken) : [];
  try {
    stopOnce(await servers[host](system, start, notes));
  } catch (error) {
    await system.close();
    throw error;
  }
}

function portNotes(taken: readonly TakenPort[]): readonly string[] {
  if (taken.length === 0) return [];
  const ports = taken.map(({ part, port }) => `${port} (${part})`).join(", ");
  return [`Note: other programs use the ports ${ports}; free ones replace them for this start.`];
}

/** A storage that is not responding has no running system either. */
function joinRunning(connectionString: string): Promise<System> {
  return joinSystem(connectionString).catch((cause: unknown) => {
    throw cause instanceof Fault ? new Error("There is no running local system on this storage.", { cause }) : cause;
  });
}

/** Runs the host of the system, and reports it to people and programs. Returns what stops both. */
async function serveHost(
  system: System,
  { port, directory, mode, log }: Start,
  notes: readonly string[],
): Promise<() => Promise<void>> {
  const differing = fillEnvironment(system.settings);
  readAllSettings(process.env);
  const core = installFunctionsCore();
  recordHost(line => system.console?.addLine(line));
  await import("../../functions/main.ts");
  const host = await startHost(core, {
    env: { ...hostSettings, ...process.env },
    port,
    hostJson: JSON.parse(readFileSync(new URL("../../host.json", import.meta.url), "utf8")),
    log: (level, _, message) => (level === "error" ? console.error(message) : undefined),
    observe: log.observe,
  });
  system.console?.hostIs(host.url, host);
  const facts = factsOf(system, host);
  const path = await writeFacts(directory, facts);
  const all = [...notes, ...settingsNotes(differing)];
  report(banner(facts, { readyMs: performance.now(), path, notes: all }), mode);
  return async () => {
    await host.stop();
    await system.close();
    removeFacts(path);
  };
}

/** As `serveHost`, on Azure's host in a process of its own. */
async function serveAzureHost(
  system: System,
  { port, directory, mode, log, storage }: Start,
  notes: readonly string[],
): Promise<() => Promise<void>> {
  const { runAzureHost } = await import("./azure-host.ts");
  const differing = fillEnvironment(system.settings);
  readAllSettings(process.env);
  const host = await runAzureHost({
    directory,
    port,
    folder: storage === undefined ? "azure-host" : `azure-host.${process.pid}`,
    settings: system.settings,
    connectionString: system.connectionString,
    onLine: (level, text) => {
      system.console?.addLine(text);
      log.hostLine(level, text);
    },
  });
  let isStopping = false;
  host.gone().then(() => {
    if (isStopping) return;
    console.error(`Azure's Functions host has ended. Its log: ${host.logPath}`);
    process.exit(1);
  });
  system.console?.hostIs(host.url, { masterKey: host.masterKey });
  const facts = factsOf(system, host);
  const path = await writeFacts(directory, facts);
  const own = [`The host is Azure's Functions host. Its log: ${host.logPath}`, ...settingsNotes(differing)];
  report(banner(facts, { readyMs: performance.now(), path, notes: [...notes, ...own] }), mode);
  return async () => {
    isStopping = true;
    await host.stop();
    await system.close();
    removeFacts(path);
  };
}

/** Writes the settings for a host that another program starts. Returns what stops the system. */
async function servePeers(
  system: System,
  { port, directory, mode }: Start,
  notes: readonly string[],
): Promise<() => Promise<void>> {
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

const settingsNotes = (differing: readonly string[]): readonly string[] =>
  differing.length === 0 ? [] : [`Note: your settings replace those of the local system: ${differing.join(", ")}.`];

const servers = { local: serveHost, func: serveAzureHost, none: servePeers } as const;

/** In a pipe, stdout has the JSON lines of the log only. */
function report(text: string, mode: LogMode): void {
  (mode === "json" ? process.stderr : process.stdout).write(`${text}\n`);
}
