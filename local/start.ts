// Development tool, not for production: the whole system on one machine.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { settingsOf } from "../functions/settings.ts";
import { BadSettings } from "../lib/settings.ts";
import { type Facts, removeFacts, writeFacts } from "./facts.ts";
import { installFunctionsCore } from "./host/functions-core.ts";
import { startHost } from "./host/host.ts";
import { joinSystem, startSystem, type System } from "./system.ts";
import { welcome } from "./welcome.ts";

const usage = `npm start -- [--ephemeral] [--storage <connection string>]
  --ephemeral   keep everything in memory
  --storage     join a further host to the running system on this storage
Environment: PORT (7071; 0 for a free one), LOCAL_DIR (.local), and every setting of docs/settings.md.`;

await main().catch((error: unknown) => {
  console.error(error instanceof BadSettings || !(error instanceof Error) ? String(error) : error.message);
  process.exit(1);
});

async function main(): Promise<void> {
  const options = { ephemeral: { type: "boolean" }, storage: { type: "string" }, help: { type: "boolean" } } as const;
  const { values } = parseArgs({ options });
  if (values.help === true) {
    console.log(usage);
    return;
  }
  const directory = resolve(process.env["LOCAL_DIR"] ?? ".local");
  const port = portOf(process.env["PORT"] ?? "7071");
  const system = values.storage === undefined ? await startSystem(values.ephemeral === true ? undefined : directory) : await joinSystem(values.storage);
  const stop = await serve(system, { port, directory }).catch(async (error: unknown) => {
    await system.close();
    throw error;
  });
  stopOn(["SIGINT", "SIGTERM", "SIGHUP"], stop);
}

async function serve(system: System, { port, directory }: { port: number; directory: string }): Promise<() => Promise<void>> {
  applySettings(system.settings);
  settingsOf(process.env);
  const core = installFunctionsCore();
  await import("../functions/main.ts");
  const hostJson = JSON.parse(readFileSync("host.json", "utf8"));
  const host = await startHost(core, { port, hostJson, log: (level, _, message) => (level === "error" ? console.error(message) : undefined) });
  const facts: Facts = {
    host: host.url,
    tokens: system.tokens,
    storage: system.connectionString,
    peers: system.peerUrls,
    pid: process.pid,
    masterKey: host.masterKey,
  };
  const path = writeFacts(directory, facts);
  console.log(welcome(facts, path));
  return async () => {
    removeFacts(path);
    await host.stop();
    await system.close();
  };
}

/** The environment wins over local.settings.json, and that over what the local system suggests. */
function applySettings(suggested: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries({ ...suggested, ...localSettings() })) process.env[name] ??= value;
}

function localSettings(): Readonly<Record<string, string>> {
  let text: string;
  try {
    text = readFileSync("local.settings.json", "utf8");
  } catch {
    return {};
  }
  try {
    return JSON.parse(text).Values ?? {};
  } catch {
    throw new Error("local.settings.json is not well-formed JSON.");
  }
}

function portOf(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new Error("PORT must be a number from 0 to 65535.");
}

/** Stops once, on a signal or when the process that started this one is gone. */
function stopOn(signals: readonly NodeJS.Signals[], stop: () => Promise<void>): void {
  let stopping: Promise<void> | undefined;
  const end = (): void => {
    stopping ??= stop().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  };
  for (const signal of signals) process.on(signal, end);
  if (process.connected) process.on("disconnect", end);
}
