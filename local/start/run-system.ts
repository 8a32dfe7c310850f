import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../../lib/platform/fault.ts";
import type { ApiHost } from "../console/api.ts";
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

interface Start {
  /** Of the host; the other ports follow it. */
  readonly port: number;
  readonly directory: string;
  readonly mode: LogMode;
  readonly log: LocalLog;
  readonly isEphemeral: boolean;
  /** Whether another program starts the host. */
  readonly isPeersOnly: boolean;
  /** Connection string of the running system that a further host joins. */
  readonly storage: string | undefined;
}

/** Starts a system, or a further host of one, until the process is asked to stop. */
export async function runSystem(start: Start): Promise<void> {
  const { port, directory, mode, isEphemeral, isPeersOnly, storage } = start;
  const { ports, taken } = await choosePorts(port);
  const system = await (storage === undefined
    ? startSystem(directory, isEphemeral ? undefined : directory, {
        ports,
        eventSinkUrls: process.env.EVENT_SINK_URLS?.trim() ?? "",
      })
    : joinRunning(storage));
  try {
    const served = await (isPeersOnly ? expectHost(system, start) : startLocalHost(system, start));
    system.console?.hostIs(served.url, served);
    const { url, masterKey = "", settingsPath } = served;
    const facts: Facts = {
      host: url,
      tokens: system.tokens,
      secrets: { eventSinks: [...system.secrets.eventSinks] },
      storage: system.connectionString,
      peers: system.peerUrls,
      ...(system.console && { console: system.console.url }),
      pid: process.pid,
      masterKey,
    };
    const path = await writeFacts(directory, facts);
    const notes = [...(storage === undefined ? portNotes(taken) : []), ...served.notes];
    const options = { readyMs: performance.now(), path, notes };
    const text = settingsPath === undefined ? banner(facts, options) : peersBanner(facts, { ...options, settingsPath });
    // In a pipe, stdout has the JSON lines of the log only.
    (mode === "json" ? process.stderr : process.stdout).write(`${text}\n`);
    stopOnce(async () => {
      await served.stop();
      await system.close();
      removeFacts(path);
    });
  } catch (error) {
    await system.close();
    throw error;
  }
}

/** The host of a system. */
interface ServedHost extends Omit<ApiHost, "address"> {
  readonly url: string;
  /** Sentences about what differs from a usual start. */
  readonly notes: readonly string[];
  /** The settings for a host that another program starts. */
  readonly settingsPath?: string;
  stop(): Promise<void>;
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

/** Runs the host in this process. */
async function startLocalHost(system: System, { port, log }: Start): Promise<ServedHost> {
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
  const notes =
    differing.length === 0 ? [] : [`Note: your settings replace those of the local system: ${differing.join(", ")}.`];
  return { ...host, notes };
}

/** Writes the settings for a host that another program starts. */
async function expectHost(system: System, { port, directory }: Start): Promise<ServedHost> {
  const Values = { ...hostSettings, ...system.settings, AzureWebJobsStorage: system.connectionString };
  const settingsPath = join(directory, "local.settings.json");
  const file = { IsEncrypted: false, Host: { LocalHttpPort: port }, Values };
  writeFileSync(settingsPath, `${JSON.stringify(file, undefined, 2)}\n`, { mode: 0o600 });
  return { url: `http://127.0.0.1:${port}`, notes: [], settingsPath, stop: async () => {} };
}
