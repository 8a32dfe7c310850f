import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

export interface Program {
  readonly child: ChildProcess;
  /** Its first line. Rejects where it ends before. */
  readonly started: Promise<string>;
  readonly ended: Promise<{ readonly code: number | null; readonly out: string; readonly error: string }>;
}

/** Runs an example unchanged, with exactly this environment. */
export function startProgram(
  name: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): Program {
  const child = spawn(process.execPath, [`docs/examples/${name}`, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  let [out, error] = ["", ""];
  const line = Promise.withResolvers<string>();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
    if (out.includes("\n")) line.resolve(out.slice(0, out.indexOf("\n")));
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    error += text;
  });
  const ended = once(child, "close").then(([code]) => {
    line.reject(new Error(`It ended: ${error}`));
    return { code: code as number | null, out, error };
  });
  line.promise.catch(() => {});
  return { child, started: line.promise, ended };
}
