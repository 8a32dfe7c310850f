import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";

const facts = z.object({
  /** Address of the host. */
  host: z.string(),
  tokens: z.object({ core: z.string(), connector: z.string() }),
  /** Connection string. */
  storage: z.string(),
  peers: z.record(z.string(), z.string()),
  pid: z.number(),
  /** Address of the page that shows the whole system, where this process serves it. */
  console: z.string().optional(),
  /** Master key of the host, for `POST /admin/functions/<timer>`. */
  masterKey: z.string(),
});

/** What programs are told of a running system. */
export type Facts = z.output<typeof facts>;

/**
 * Writes `run.json` beside the system's data. A running system's file of that name is left alone, and `run.<pid>.json` written
 * instead. Returns the path.
 */
export async function writeFacts(directory: string, told: Facts): Promise<string> {
  mkdirSync(directory, { recursive: true });
  const taken = await isTaken(directory, told.pid);
  const path = join(directory, taken ? `run.${told.pid}.json` : "run.json");
  // Whoever waits for the file reads it whole or not at all; it holds tokens.
  writeFileSync(`${path}.new`, `${JSON.stringify(told, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
  return path;
}

/** Removes the `run.json` of a system that was killed, so that no program takes it for the one that is starting now. */
export async function removeStaleFacts(directory: string): Promise<void> {
  if (!(await isTaken(directory, process.pid))) removeFacts(join(directory, "run.json"));
}

async function isTaken(directory: string, pid: number): Promise<boolean> {
  const first = readFacts(directory);
  return first !== undefined && first.pid !== pid && (await runs(first));
}

export const removeFacts = (path: string): void => rmSync(path, { force: true });

/** The facts of the system that was started first in this directory, running or not. */
export function readFacts(directory: string): Facts | undefined {
  try {
    return facts.parse(JSON.parse(readFileSync(join(directory, "run.json"), "utf8")));
  } catch {
    return undefined;
  }
}

/** A killed system's process id may be another process by now: the system runs where somebody also listens at its address. */
async function runs({ pid, host }: Facts): Promise<boolean> {
  if (!isAlive(pid)) return false;
  try {
    await fetch(`${host}/admin/host/ping`, { signal: AbortSignal.timeout(2000) });
    return true;
  } catch (error) {
    return error instanceof DOMException && error.name === "TimeoutError";
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
