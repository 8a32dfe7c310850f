import { type ChildProcess, fork } from "node:child_process";
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";

interface AzuriteOptions {
  /** Directory of the data; in memory if absent. */
  readonly directory: string | undefined;
  /** The value of `AZURITE_ACCOUNTS`. */
  readonly accounts: string;
  /** 0 for a free port. */
  readonly ports: { readonly blob: number; readonly table: number };
}

const listening = /Azurite (Blob|Table) service is successfully listening at (http:\S+)/;

/**
 * Runs Azurite in a process of its own, on 127.0.0.1. Resolves when it responds; rejects with Azurite's message if it cannot
 * start (a port or the directory is in use). It has its own process group, so that a signal to the group of the caller does not
 * end it with unwritten data. It stops when the caller ends.
 */
export async function startAzurite({ directory, accounts, ports }: AzuriteOptions) {
  if (directory !== undefined) mkdirSync(directory, { recursive: true });
  const { AZURITE_DB: _, NODE_OPTIONS: __, ...environment } = process.env;
  const child = fork(
    fileURLToPath(new URL("./azurite-child.ts", import.meta.url)),
    [
      ...(directory === undefined ? ["--inMemoryPersistence"] : []),
      ...["--blobHost", "127.0.0.1", "--blobPort", String(ports.blob)],
      ...["--tableHost", "127.0.0.1", "--tablePort", String(ports.table)],
      ...["--queueHost", "127.0.0.1", "--queuePort", "0"],
      // Closing an idle connection at the moment when the caller uses it again would look like an outage.
      ...["--blobKeepAliveTimeout", "3600", "--tableKeepAliveTimeout", "3600"],
      ...["--loose", "--skipApiVersionCheck", "--disableTelemetry", "--silent"],
    ],
    {
      cwd: directory ?? tmpdir(),
      detached: true,
      env: { ...environment, AZURITE_ACCOUNTS: accounts },
      execArgv: [],
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    },
  );
  const ended = new Promise<void>(resolve => child.once("exit", () => resolve()));
  const urls = await addresses(child);
  // What it writes from now on is for the user: that the disk is full.
  child.stderr?.on("data", (text: string) => console.error(text.trim()));
  let closing = false;
  child.once("exit", (code, signal) => {
    if (!closing) console.error(`The storage ended by itself (${signal ?? `exit code ${code}`})`);
  });
  return {
    ...urls,
    pid: child.pid ?? 0,
    /** Resolves when all data is written and the process has ended. */
    close: async () => {
      closing = true;
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}

const addresses = (child: ChildProcess) =>
  new Promise<{ blobUrl: string; tableUrl: string }>((resolve, reject) => {
    const found = new Map<string, string>();
    let complaint = "";
    let rest = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const [, service, url] = listening.exec(line) ?? [];
        if (service !== undefined && url !== undefined) found.set(service, url);
      }
      const [blobUrl, tableUrl] = [found.get("Blob"), found.get("Table")];
      if (blobUrl !== undefined && tableUrl !== undefined) resolve({ blobUrl, tableUrl });
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      complaint = (complaint + text).slice(-2000);
    });
    child.once("close", () => reject(new Error(`The storage cannot start: ${complaint.trim()}`)));
    child.once("error", cause => reject(new Error("The storage cannot start", { cause })));
  });
