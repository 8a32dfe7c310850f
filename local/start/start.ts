// Development tool, not for production: the whole system on one machine.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { settingsOf } from "../../functions/settings.ts";
import { Fault } from "../../lib/fault.ts";
import { recordHost } from "../console/record-host.ts";
import { hostSettings } from "../generate/settings-files.ts";
import { installFunctionsCore } from "../host/functions-core.ts";
import { startHost } from "../host/host.ts";
import { refuseTakenPort } from "./free-port.ts";
import { ownSettings } from "./own-settings.ts";
import { type Facts, removeFacts, removeStaleFacts, writeFacts } from "./run-file.ts";
import { stopOnce } from "./stop-once.ts";
import { joinSystem, type System, startSystem } from "./system.ts";
import { peersWelcome, welcome } from "./welcome.ts";

const usage = `npm start -- [--ephemeral] [--peers-only] [--storage <connection string>]
  --ephemeral   keep everything in memory
  --peers-only  storage and peers without a host, for a host of your own; writes their settings down
  --storage     join a further host to the running system on this storage
Environment: PORT (7071; 0 for a free one), LOCAL_DIR (.local), and every setting of docs/settings.md.
Settings come from local.settings.json in this directory, then from the environment, which wins.`;

// Whoever only waits for the first lines may close the pipe: that stops nobody.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
});

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      ephemeral: { type: "boolean" },
      "peers-only": { type: "boolean" },
      storage: { type: "string" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) {
    console.log(usage);
    return;
  }
  fillEnvironment(ownSettings("local.settings.json"));
  const directory = resolve(process.env.LOCAL_DIR || ".local");
  const port = portOf(process.env.PORT || "7071");
  const serving = values["peers-only"] !== true;
  await removeStaleFacts(directory);
  if (serving) await refuseTakenPort(port);
  mkdirSync(directory, { recursive: true });
  const system = await (values.storage === undefined
    ? startSystem(directory, values.ephemeral === true ? undefined : directory)
    : joinRunning(values.storage));
  try {
    const stop = serving ? await serve(system, { port, directory }) : tellPeers(system, { port, directory });
    stopOnce(stop);
    process.send?.("ready");
  } catch (error) {
    await system.close();
    throw error;
  }
}

/** Storage that does not answer holds no running system either. */
function joinRunning(connectionString: string): Promise<System> {
  return joinSystem(connectionString).catch((cause: unknown) => {
    throw cause instanceof Fault ? new Error("There is no running local system on this storage.", { cause }) : cause;
  });
}

/** Runs the host beside its system, and tells people and programs. Returns what stops both. */
async function serve(
  system: System,
  { port, directory }: { port: number; directory: string },
): Promise<() => Promise<void>> {
  const moved = fillEnvironment(system.settings);
  settingsOf(process.env);
  const core = installFunctionsCore();
  recordHost(line => system.console?.addLine(line));
  await import("../../functions/main.ts");
  const host = await startHost(core, {
    port,
    hostJson: JSON.parse(readFileSync(new URL("../../host.json", import.meta.url), "utf8")),
    log: (level, _, message) => (level === "error" ? console.error(message) : undefined),
  });
  system.console?.hostIs(host.url, host);
  const facts: Facts = {
    host: host.url,
    tokens: system.tokens,
    storage: system.connectionString,
    peers: system.peerUrls,
    ...(system.console && { console: system.console.url }),
    pid: process.pid,
    masterKey: host.masterKey,
  };
  const path = await writeFacts(directory, facts);
  console.log(welcome(facts, { path, moved }));
  return async () => {
    await host.stop();
    await system.close();
    removeFacts(path);
  };
}

/** Writes the settings of a host that somebody else starts. */
function tellPeers(system: System, { port, directory }: { port: number; directory: string }): () => Promise<void> {
  const Values = { ...hostSettings, ...system.settings, AzureWebJobsStorage: system.connectionString };
  const path = join(directory, "local.settings.json");
  system.console?.hostIs(`http://127.0.0.1:${port}`);
  const file = { IsEncrypted: false, Host: { LocalHttpPort: port }, Values };
  writeFileSync(path, `${JSON.stringify(file, undefined, 2)}\n`, { mode: 0o600 });
  console.log(peersWelcome(system, path));
  return () => system.close();
}

/** Sets what is not set yet. Returns the names whose value was there already and is another. */
function fillEnvironment(values: Readonly<Record<string, string>>): readonly string[] {
  const moved: string[] = [];
  for (const [name, value] of Object.entries(values)) {
    if (!process.env[name]?.trim()) process.env[name] = value;
    else if (process.env[name] !== value) moved.push(name);
  }
  return moved;
}

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new Error("PORT must be a number from 0 to 65535.");
}
