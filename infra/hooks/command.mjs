// What the hooks share: calling az and azd.
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

/**
 * Returns a function that runs az and returns what it prints as JSON; undefined where az fails, which prints the
 * reason. If az is missing, or does not answer in time, it is not called again.
 * @param timeoutMs of a call; a call with `--wait` may take 15 times as long
 */
export function createAz(timeoutMs = 60_000, env = process.env) {
  let isUsable = true;
  return (...parameters) => {
    if (!isUsable) return undefined;
    const limitMs = parameters.includes("--wait") ? 15 * timeoutMs : timeoutMs;
    const { status, stdout, error } = run("az", [...parameters, "--output", "json"], { timeout: limitMs, env });
    if (error !== undefined) {
      isUsable = false;
      console.log(unusable(error, parameters, limitMs));
    }
    if (status !== 0) return undefined;
    try {
      return stdout.trim() === "" ? null : JSON.parse(stdout);
    } catch {
      return undefined;
    }
  };
}

function unusable({ code, message }, parameters, limitMs) {
  if (code === "ENOENT") return "The Azure CLI is not installed, so nothing can be asked with it.";
  if (code !== "ETIMEDOUT") return `The Azure CLI did not start: ${message}`;
  return `\`az ${parameters.slice(0, 2).join(" ")}\` did not end within ${limitMs / 1000} seconds. The Azure CLI is not asked again in this run.`;
}

/** Reports what could not be checked. Returns no problem: only the right to look may be missing. */
export function unchecked(what) {
  console.log(`Not checked: ${what}.`);
  return [];
}

/** Runs a command, shows its output and returns its exit code. */
export function runToEnd(command, parameters, more = {}) {
  const [file, args, options] = commandLine(command, parameters, process.platform);
  const { status, error } = spawnSync(file, args, { stdio: "inherit", ...more, ...options });
  if (error !== undefined) console.error(`${command} did not start: ${error.message}`);
  return status ?? 1;
}

/** Runs a command and returns its status and output; after a minute, or the `timeout` of `more`, an `error` and no status. */
export function run(command, parameters, more = {}) {
  const [file, args, options] = commandLine(command, parameters, process.platform);
  return spawnSync(file, args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 60_000,
    ...more,
    ...options,
  });
}

/**
 * Returns how to start a command. On Windows `az` and `npm` are scripts, which only a shell can start: the shell splits at spaces, so each
 * argument is quoted. `azd` is a program everywhere and needs no shell.
 */
export function commandLine(command, parameters, platform) {
  if (platform !== "win32" || !["az", "npm"].includes(command)) return [command, parameters, { shell: false }];
  const quoted = parameters.map(each => `"${each.replaceAll('"', '""')}"`);
  return [[command, ...quoted].join(" "), [], { shell: true }];
}
