// The native binary of a platform, which may be another one than this machine's.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const scope = "@node-rs";

/** Where Azure runs the package: Linux on x64 with glibc. */
export const azurePlatform = "linux-x64-gnu";

/** The platform of this machine, as the packages with binaries name it. Throws where none is installed. */
export function ownPlatform(root: string): string {
  const installed = readdirSync(join(root, "node_modules", scope)).find(name => name.startsWith("argon2-"));
  if (installed === undefined) throw new Error("No binary of @node-rs/argon2 is installed for this machine.");
  return installed.slice("argon2-".length);
}

/**
 * The binary of `@node-rs/argon2` for a platform: the installed one, else from `npm pack`, compared with the checksum
 * in package-lock.json. Throws where it cannot be had or is not the one that was locked.
 */
export function argon2Binary(root: string, platform: string): Uint8Array {
  const name = `${scope}/argon2-${platform}`;
  const file = `argon2.${platform}.node`;
  const { version, integrity } = lockedOf(root, name);
  const installed = join(root, "node_modules", name);
  if (existsSync(join(installed, file)) && versionOf(installed) === version) return readFileSync(join(installed, file));
  const directory = mkdtempSync(join(tmpdir(), "argon2-"));
  try {
    run("npm", ["pack", "--silent", "--pack-destination", directory, `${name}@${version}`], root);
    const [archive = ""] = readdirSync(directory);
    const found = `sha512-${createHash("sha512")
      .update(readFileSync(join(directory, archive)))
      .digest("base64")}`;
    if (found !== integrity) throw new Error(`${name}@${version} is not what package-lock.json names.`);
    run("tar", ["-xzf", archive], directory);
    return readFileSync(join(directory, "package", file));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function lockedOf(root: string, name: string): { readonly version: string; readonly integrity: string } {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const locked = packages[`node_modules/${name}`];
  if (typeof locked?.version !== "string" || typeof locked.integrity !== "string")
    throw new Error(`package-lock.json names no ${name}.`);
  return locked;
}

const versionOf = (folder: string): unknown => JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version;

function run(command: string, args: readonly string[], cwd: string): void {
  const { status, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "ignore", "pipe"],
    shell: process.platform === "win32" && command === "npm",
  });
  if (status !== 0) throw new Error(`${command} ${args[0]} failed: ${error?.message ?? stderr}`);
}
