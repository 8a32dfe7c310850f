import { type ChildProcess, fork } from "node:child_process";
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";

export interface AzuriteOptions {
  /** Where the data is kept; in memory where missing. */
  readonly directory: string | undefined;
  /** The value of `AZURITE_ACCOUNTS`. */
  readonly accounts: string;
  /** 0 is a free one. */
  readonly ports: { readonly blob: number; readonly table: number };
}

export interface Azurite {
  readonly blobUrl: string;
  readonly tableUrl: string;
  readonly pid: number;
  /** Resolves when all data is written and the process has ended. */
  close(): Promise<void>;
}

const listening = /Azurite (Blob|Table) service is successfully listening at (http:\S+)/;

/**
 * Runs Azurite in a process of its own, on 127.0.0.1. Resolves when it answers; rejects with Azurite's own words when it
 * cannot start (a port or the directory in use). Its process group is its own, so that a signal to the whole group of the
 * caller does not take its unwritten data along; it ends with the caller all the same.
 */
export async function startAzurite({ directory, accounts, ports }: AzuriteOptions): Promise<Azurite> {
  if (directory !== undefined) mkdirSync(directory, { recursive: true });
  const { AZURITE_DB: _, NODE_OPTIONS: __, ...environment } = process.env;
  const child = fork(
    fileURLToPath(new URL("./azurite-child.ts", import.meta.url)),
    [
      ...(directory === undefined ? ["--inMemoryPersistence"] : []),
      ...["--blobHost", "127.0.0.1", "--blobPort", String(ports.blob)],
      ...["--tableHost", "127.0.0.1", "--tablePort", String(ports.table)],
      ...["--queueHost", "127.0.0.1", "--queuePort", "0"],
      // A server that closes an idle connection just as its caller uses it again looks like an outage.
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
  let closing = false;
  child.once("exit", (code, signal) => {
    if (!closing) console.error(`The storage ended by itself (${signal ?? `exit code ${code}`})`);
  });
  return {
    ...urls,
    pid: child.pid ?? 0,
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
