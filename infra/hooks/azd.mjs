// What the hooks share: calling azd and az.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Sets values of the azd environment, by a file: arguments can be seen by others on the machine. Throws where azd refuses. */
export function setInEnvironment(values) {
  const directory = mkdtempSync(join(tmpdir(), "azd-env-"));
  try {
    const file = join(directory, "values.env");
    const lines = Object.entries(values).map(([name, value]) => `${name}="${value}"\n`);
    writeFileSync(file, lines.join(""), { mode: 0o600 });
    const { status, error } = run("azd", ["env", "set", "--file", file]);
    if (status !== 0) throw new Error(`azd env set failed: ${error?.message ?? `status ${status}`}`);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Runs a command and takes its output. On Windows `az` is a script, which only a shell can run; all arguments are fixed ones. */
export function run(command, parameters) {
  return spawnSync(command, parameters, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    shell: process.platform === "win32",
  });
}
