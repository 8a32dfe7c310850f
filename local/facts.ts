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
  /** Master key of the host, for `POST /admin/functions/<timer>`. */
  masterKey: z.string(),
});

/** What programs are told of a running system. */
export type Facts = z.output<typeof facts>;

/** Writes `run.json` beside the system's data; another running system's is left alone and a name with the pid taken. Returns its path. */
export function writeFacts(directory: string, told: Facts): string {
  mkdirSync(directory, { recursive: true });
  const taken = readFacts(directory);
  const other = taken !== undefined && taken.pid !== told.pid && isAlive(taken.pid);
  const path = join(directory, other ? `run.${told.pid}.json` : "run.json");
  writeFileSync(`${path}.new`, `${JSON.stringify(told, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
  return path;
}

export const removeFacts = (path: string): void => rmSync(path, { force: true });

/** The facts of a system that was started in this directory, running or not. */
export function readFacts(directory: string): Facts | undefined {
  try {
    return facts.parse(JSON.parse(readFileSync(join(directory, "run.json"), "utf8")));
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
