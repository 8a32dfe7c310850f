import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../../support/until.ts";

/** Whether a program of this machine can be started. */
export const isInstalled = (command: string): boolean => spawnSync(command, ["-v"]).status === 0;

export interface Gateway {
  /** What it has written so far. */
  log(): string;
  close(): Promise<void>;
}

/**
 * Starts a gateway with a configuration file in a directory of its own, and waits until it serves.
 * @param start returns the command line for the directory, which contains the file `name`
 */
export async function startGateway(
  { name, text }: { readonly name: string; readonly text: (directory: string) => string },
  start: (directory: string) => readonly [string, ...string[]],
  serves: (log: string) => boolean | Promise<boolean>,
): Promise<Gateway> {
  const directory = mkdtempSync(join(tmpdir(), "gateway-"));
  writeFileSync(join(directory, name), text(directory));
  const [command, ...args] = start(directory);
  const child: ChildProcess = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding("utf8").on("data", chunk => (log += chunk));
  const ended = once(child, "close");
  const close = async () => {
    child.kill();
    await ended;
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    await until(
      () => serves(log) || child.exitCode !== null,
      () => log,
    );
    if (child.exitCode !== null) throw new Error(log);
  } catch (error) {
    await close();
    throw error;
  }
  return { log: () => log, close };
}
