import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Facts, readFacts } from "../start/run-file.ts";

/** A system in a process of its own, with a temporary directory for its facts and its log. */
export interface LaunchedSystem {
  /** Resolves when the system is ready; never if it ends before. */
  readonly ready: Promise<Facts>;
  readonly ended: Promise<void>;
  /** Returns the last lines of its output. */
  log(): string;
  /** Ends the system and removes the directory. May be called again. */
  close(): Promise<void>;
}

const longestStopMs = 10_000;

/** Launches a system in memory on free ports, with these settings alone. It ends with this process. */
export function launchSystem(settings: Readonly<Record<string, string>> = {}): LaunchedSystem {
  const directory = mkdtempSync(join(tmpdir(), "credential-demo-"));
  const logPath = join(directory, "system.log");
  const log = openSync(logPath, "w");
  const script = fileURLToPath(new URL("../start/start.ts", import.meta.url));
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", script, "--ephemeral"], {
    // So that it does not read the developer's local.settings.json.
    cwd: directory,
    env: { ...bareEnvironment(), ...idleTimers, ...settings, PORT: "0", LOCAL_DIR: directory },
    stdio: ["ignore", log, log, "ipc"],
  });
  closeSync(log);
  const ended = new Promise<void>(resolve => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const ready = new Promise<Facts>((resolve, reject) => {
    child.once("message", () => {
      const facts = readFacts(directory);
      if (facts === undefined) reject(new Error("the system wrote no run.json."));
      else resolve(facts);
    });
  });
  return {
    ready,
    ended,
    log: () => readFileSync(logPath, "utf8").split("\n").slice(-20).join("\n"),
    close: async () => {
      child.kill("SIGTERM");
      const giveUp = setTimeout(() => child.kill("SIGKILL"), longestStopMs);
      await ended;
      clearTimeout(giveUp);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Otherwise the timers would do the story's work at the full hour. */
const never = "0 0 0 29 2 *";
const idleTimers = {
  CRON_PROCESS_SHIPMENT_SCHEDULE: never,
  CRON_PROCESS_CREDENTIAL_REQUESTS_SCHEDULE: never,
};

const bareEnvironment = (): Record<string, string | undefined> =>
  Object.fromEntries(
    ["PATH", "HOME", "TMPDIR", "TEMP", "TMP", "SystemRoot", "NODE_COMPILE_CACHE"].map(name => [
      name,
      process.env[name],
    ]),
  );
