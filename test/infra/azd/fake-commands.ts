import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

/** Commands on a PATH of their own. */
export interface FakeCommands {
  readonly directory: string;
  /** Runs a script of the project with these commands in front. Rejects where it fails, with its output. */
  run(script: string, args?: readonly string[], environment?: Readonly<Record<string, string>>): Promise<string>;
  remove(): void;
}

const shell = "#!/bin/sh\n";

/**
 * @param sources JavaScript by command, or a shell script, which starts in a tenth of the time; `directory` is where it
 * may leave notes
 */
export function fakeCommands(sources: Readonly<Record<string, string>>, prefix = "commands-"): FakeCommands {
  const directory = mkdtempSync(join(tmpdir(), prefix));
  for (const [name, source] of Object.entries(sources)) {
    const script = source.startsWith(shell)
      ? `${shell}directory='${directory}'\n${source.slice(shell.length)}`
      : `#!${process.execPath}\nconst directory = ${JSON.stringify(directory)};\n${source}\n`;
    writeFileSync(join(directory, name), script, { mode: 0o755 });
  }
  return {
    directory,
    async run(script, args = [], environment = {}) {
      const env = { ...process.env, PATH: `${directory}${delimiter}${process.env.PATH}`, ...environment };
      const { stdout, stderr } = await promisify(execFile)(process.execPath, [script, ...args], { env });
      return stdout + stderr;
    },
    remove: () => rmSync(directory, { recursive: true }),
  };
}
