// Development tool, not for production: the whole system on one machine.
import { resolve } from "node:path";
import { readArguments } from "../../commands/read-arguments.ts";
import { diskProblem, prepareDirectory } from "./data-directory.ts";
import { captureConsole, createLocalLog, logMode } from "./log.ts";
import { fillEnvironment, ownSettings } from "./own-settings.ts";
import { parsePort, requireFreePort } from "./ports.ts";
import { removeStaleFacts, runningFacts } from "./run-file.ts";

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
  const isPeersOnly = values["peers-only"] === true;
  if (!isPeersOnly) await requireFreePort(port);
  else if (port === 0) throw new Error("With --peers-only, PORT must be the port of your host, not 0.");
  // Loading the system takes most of a start: a refused one ends before it.
  const { runSystem } = await import("./run-system.ts");
  await runSystem({ port, directory, mode, log, isEphemeral, isPeersOnly, storage: values.storage });
  process.send?.("ready");
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
