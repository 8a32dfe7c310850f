import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { type Facts, readFacts } from "../../../local/start/run-file.ts";
import { compileCache } from "../../support/host/compile-cache.ts";

export interface StartProcess {
  readonly child: ChildProcess;
  /** Where its LOCAL_DIR is. */
  readonly directory: string;
  /** Returns its facts when it is ready. Rejects if it ends before. */
  ready(): Promise<Facts>;
  /** Exit code or signal, as soon as it has ended and all of its output is here. */
  readonly ended: Promise<number | NodeJS.Signals>;
  /** Returns everything that it wrote to both outputs. */
  output(): string;
}

const script = join(import.meta.dirname, "../../../local/start/start.ts");
const made: string[] = [];
const running = new Set<ChildProcess>();

/** Returns an empty directory, which {@link endAll} removes. */
export function emptyDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "start-test-"));
  made.push(directory);
  return directory;
}

/** Runs the program of `npm start`. @param cwd directory of its `local.settings.json` */
export function launchStart(
  args: readonly string[],
  {
    directory = emptyDirectory(),
    cwd = directory,
    env = {},
  }: { directory?: string; cwd?: string; env?: Readonly<Record<string, string>> } = {},
): StartProcess {
  const child = spawn(process.execPath, [script, ...args], {
    cwd,
    env: { ...compileCache, PATH: process.env.PATH, HOME: process.env.HOME, PORT: "0", LOCAL_DIR: directory, ...env },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  running.add(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  // `close` does not come from a child whose channel was closed here.
  const drained = Promise.all([child.stdout, child.stderr].map(stream => stream && finished(stream).catch(() => {})));
  const ended = once(child, "exit").then(async ([code, signal]) => {
    running.delete(child);
    await drained;
    return (code ?? signal) as number | NodeJS.Signals;
  });
  return {
    child,
    directory,
    ended,
    output: () => output,
    ready: async () => {
      await Promise.race([once(child, "message"), ended]);
      const facts = readFacts(directory);
      if (facts === undefined) throw new Error(`It did not start:\n${output}`);
      return facts;
    },
  };
}

/** Ends the remaining processes and removes the directories. */
export async function endAll(): Promise<void> {
  await Promise.all(
    [...running].map(child => {
      child.kill("SIGKILL");
      return once(child, "exit");
    }),
  );
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
}

/** Returns whether a process listens on a port or socket path. */
export const listens = (at: { port: number; host: string } | { path: string }): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect(at);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
