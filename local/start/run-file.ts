import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";

const facts = z.object({
  /** Address of the host. */
  host: z.string(),
  tokens: z.object({ core: z.string(), connector: z.string() }),
  secrets: z.object({
    /** Signing secrets of the event sinks, in the order of `EVENT_SINK_URLS`. */
    eventSinks: z.array(z.string()),
  }),
  /** Connection string. */
  storage: z.string(),
  peers: z.record(z.string(), z.string()),
  pid: z.number(),
  /** Address of the console; absent if this process does not serve it. */
  console: z.string().optional(),
  /** Master key of the host, for `POST /admin/functions/<timer>`; empty for a host that is started by another program. */
  masterKey: z.string(),
});

/** Addresses and tokens of a running system, for programs. */
export type Facts = z.output<typeof facts>;

/**
 * Writes `run.json` into the directory of the system. If the directory has that file of another running system, writes
 * `run.<pid>.json` instead. Returns the path.
 */
export async function writeFacts(directory: string, values: Facts): Promise<string> {
  const isTaken = (await runningFacts(directory, values.pid)) !== undefined;
  const path = join(directory, isTaken ? `run.${values.pid}.json` : "run.json");
  // Renamed, so that a program that waits for the file never reads a part of it. Not readable for others: it has tokens.
  writeFileSync(`${path}.new`, `${JSON.stringify(values, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
  return path;
}

/** Removes the `run.json` of a system that was killed, so that no program takes it for that of the system that starts now. */
export async function removeStaleFacts(directory: string): Promise<void> {
  if ((await runningFacts(directory)) === undefined) removeFacts(join(directory, "run.json"));
}

/** Returns the facts of the other process whose system runs in this directory; undefined if there is none. */
export async function runningFacts(directory: string, ownPid = process.pid): Promise<Facts | undefined> {
  const first = readFacts(directory);
  return first !== undefined && first.pid !== ownPid && (await isRunning(first)) ? first : undefined;
}

export const removeFacts = (path: string): void => rmSync(path, { force: true });

/** Returns the facts in `run.json`, whether their system runs or not; undefined if there are none. */
export function readFacts(directory: string): Facts | undefined {
  try {
    return facts.parse(JSON.parse(readFileSync(join(directory, "run.json"), "utf8")));
  } catch {
    return undefined;
  }
}

/** The process id of a killed system may belong to another process, so its console or host must answer too. */
async function isRunning({ pid, host, console }: Facts): Promise<boolean> {
  if (!isAlive(pid)) return false;
  try {
    await fetch(`${console ?? host}/admin/host/ping`, { signal: AbortSignal.timeout(2000) });
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
