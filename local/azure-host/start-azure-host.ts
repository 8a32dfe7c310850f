// Development tool: Azure's Functions host as a process on the loopback.
import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { AzureHost } from "./find-azure-host.ts";
import { freePort } from "./free-port.ts";
import { isRunning, killGroup, signal } from "./processes.ts";

export interface RunningAzureHost {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly masterKey: string;
  /** Returns all that host and app have logged so far. */
  log(): string;
  isRunning(): boolean;
  /** Stops it as Azure does: the port closes, calls in flight finish. Resolves when the process is gone. */
  stop(): Promise<void>;
  /** Ends it with SIGKILL; its worker ends with it. */
  kill(): Promise<void>;
}

export interface AzureHostOptions {
  /** Folder of the packaged app: `host.json`, `package.json` and what it names. */
  readonly app: string;
  /** Folder for the log, the keys and what the host writes. Each running host needs its own. */
  readonly folder: string;
  /** The app settings. */
  readonly settings: Readonly<Record<string, string>>;
}

/** The keys of every host that is started here. */
export const azureHostKeys = {
  master: "master-key-of-a-local-host-0123456789",
  /** For every function. */
  host: "host-key-of-a-local-host-0123456789",
} as const;

/** Only a host that does not start reaches it, however busy the machine is. */
const startLimitMs = 110_000;

/** Starts the host. Resolves when it is running with the functions of the app; rejects with the end of its log if it does not. */
export async function startAzureHost(
  host: AzureHost,
  { app, folder, settings }: AzureHostOptions,
): Promise<RunningAzureHost> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const logPath = join(folder, "host.log");
  writeSecrets(folder);
  // Of a host that ran here before.
  rmSync(join(folder, "host.pid"), { force: true });
  const values = { FUNCTIONS_WORKER_RUNTIME: "node", ...settings };
  writeFileSync(join(folder, "local.settings.json"), JSON.stringify({ IsEncrypted: false, Values: values }), {
    mode: 0o600,
  });
  const log = openSync(logPath, "w");
  const launched = host.kind === "script" ? byScript(host, folder, port, app) : byFunc(host, folder, port, values);
  const child = spawn(launched.command, launched.args, {
    cwd: app,
    env: launched.env,
    detached: true,
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  let failure: Error | undefined;
  child.once("error", error => {
    failure = error;
  });
  const pidOf = () => (host.kind === "func" ? child.pid : numberIn(join(folder, "host.pid")));
  const readLog = () => readFileSync(logPath, "utf8");

  const end = performance.now() + startLimitMs;
  for (;;) {
    const pid = pidOf();
    if (await isReady(url)) break;
    const hasEnded = failure !== undefined || (pid !== undefined && !isRunning(pid));
    if (hasEnded || performance.now() > end) {
      if (pid !== undefined) killGroup(pid);
      if (child.pid !== undefined) killGroup(child.pid);
      throw new Error(`Azure's Functions host does not start: ${failure?.message ?? ""}\n${readLog().slice(-4000)}`);
    }
    await wait(100);
  }
  const pid = pidOf() ?? 0;
  // A script waits until the app is healthy, which an app with bad settings never is.
  if (host.kind === "script") child.kill("SIGKILL");
  child.unref();

  const killNow = () => killGroup(pid);
  process.once("exit", killNow);
  const gone = async () => {
    while (isRunning(pid)) await wait(50);
    process.removeListener("exit", killNow);
  };
  return {
    url,
    port,
    pid,
    masterKey: azureHostKeys.master,
    log: readLog,
    isRunning: () => isRunning(pid),
    stop: () => {
      // It ignores SIGTERM.
      signal(pid, "SIGINT");
      return gone();
    },
    kill: () => {
      killNow();
      return gone();
    },
  };
}

interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** The script takes the settings and keys from the folder. */
const byScript = ({ path }: AzureHost, folder: string, port: number, app: string): Launch => ({
  command: path,
  args: [folder, String(port), app],
  env: { ...process.env, NODE: process.execPath },
});

/** Core Tools take settings from the environment as well as from local.settings.json, which the package does not have. */
const byFunc = (
  { path }: AzureHost,
  folder: string,
  port: number,
  settings: Readonly<Record<string, string>>,
): Launch => ({
  command: path,
  args: ["start", "--port", String(port), "--enableAuth", "--no-build"],
  env: {
    ...Object.fromEntries(["HOME", "LANG", "TMPDIR"].map(name => [name, process.env[name]])),
    ...settings,
    PATH: [dirname(process.execPath), process.env.PATH].join(":"),
    AzureWebJobsSecretStorageType: "files",
    FUNCTIONS_SECRETS_PATH: join(folder, "secrets"),
    FUNCTIONS_CORE_TOOLS_TELEMETRY_OPTOUT: "1",
    languageWorkers__node__defaultExecutablePath: process.execPath,
  },
});

function writeSecrets(folder: string): void {
  const secrets = join(folder, "secrets");
  mkdirSync(secrets, { recursive: true });
  const key = (name: string, value: string) => ({ name, value, encrypted: false });
  const keys = {
    masterKey: key("master", azureHostKeys.master),
    functionKeys: [key("default", azureHostKeys.host)],
    systemKeys: [],
  };
  writeFileSync(join(secrets, "host.json"), JSON.stringify(keys), { mode: 0o600 });
}

/** Before the functions can be called, the port is closed or the state is another one. */
async function isReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/admin/host/status`, { headers: { "x-functions-key": azureHostKeys.master } });
    const status = (await response.json()) as { readonly state?: unknown };
    return status.state === "Running";
  } catch {
    return false;
  }
}

function numberIn(path: string): number | undefined {
  try {
    return Number(readFileSync(path, "utf8")) || undefined;
  } catch {
    return undefined;
  }
}
