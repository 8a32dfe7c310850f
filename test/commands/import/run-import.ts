import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CommonArguments } from "../../../commands/import/arguments.ts";
import { type ImportKind, runImportCommand } from "../../../commands/import/import-command.ts";
import { otpkeyImport } from "../../../commands/import/otpkey-import.ts";
import { compileCache } from "../../support/host/compile-cache.ts";
import { atEndOfFile } from "../../support/run/end-of-file.ts";

export interface ImportRun {
  readonly child: ChildProcess;
  /** What it ended with, when all it wrote is here. */
  readonly ended: Promise<Ended>;
}

let directory: string | undefined;
let files = 0;

/** A path that no other test has. */
export const freshPath = (name = "file"): string => {
  directory ??= directoryOfFile();
  return join(directory, `${++files}-${name}`);
};

function directoryOfFile(): string {
  const made = mkdtempSync(join(tmpdir(), "import-test-"));
  atEndOfFile(async () => {
    directory = undefined;
    rmSync(made, { recursive: true, force: true });
  });
  return made;
}

/** Writes a file. Returns its path. */
export function fileOf(content: string | Uint8Array, name = "keys.csv"): string {
  const path = freshPath(name);
  writeFileSync(path, content);
  return path;
}

export const readLines = (path: string): readonly string[] =>
  readFileSync(path, "utf8")
    .split("\r\n")
    .filter(line => line !== "");

interface Ended {
  readonly code: number | NodeJS.Signals;
  readonly out: string;
  readonly error: string;
}

/** Runs the command in this process, which takes a fraction of the time. Returns its exit code and what it wrote. */
export const runImport = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  runKind(otpkeyImport, args, environment);

/** Runs the command of any import. */
export async function runKind<A extends CommonArguments, T>(
  kind: ImportKind<A, T>,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Ended> {
  const written = { out: "", error: "" };
  const stream = (name: "out" | "error") => ({
    write: (text: string) => {
      written[name] += text;
    },
  });
  const now = () => performance.now();
  const code = await runImportCommand(kind, args, {
    environment,
    stdout: stream("out"),
    stderr: stream("error"),
    now,
  });
  return { code, ...written };
}

/**
 * Runs the command as its npm script does: for signals, standard input and the working directory.
 * @param input for its standard input
 */
export function startImport(
  args: readonly string[],
  {
    env = {},
    input = "",
    command = "commands/import-otpkeys.ts",
  }: { env?: Readonly<Record<string, string>>; input?: string; command?: string } = {},
): ImportRun {
  const child = spawn(process.execPath, [command, ...args], {
    env: { PATH: process.env.PATH, ...compileCache, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let [out, error] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    error += text;
  });
  // It may end before it has read what it was given.
  child.stdin.on("error", () => {}).end(input);
  return { child, ended: once(child, "close").then(([code, signal]) => ({ code: code ?? signal, out, error })) };
}
