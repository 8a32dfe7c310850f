import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const listed = "test/functions/openapi/tools";

/**
 * Installs linters, parsers and a client generator from their own lock file, once for each lock file. They are 117 MB,
 * which is too much for every installation, and the generator needs an older TypeScript than the project. Returns their
 * node_modules, or why there is none.
 */
export function openapiTools(): { readonly path: string } | { readonly missing: string } {
  const hash = createHash("sha256")
    .update(readFileSync(join(listed, "package-lock.json")))
    .digest("hex");
  const directory = resolve("node_modules/.cache", `openapi-tools-${hash.slice(0, 16)}`);
  const path = join(directory, "node_modules");
  if (existsSync(path)) return { path };
  const draft = `${directory}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  cpSync(listed, draft, { recursive: true });
  const { status, stderr } = runNpm(["ci", "--ignore-scripts", "--no-audit", "--no-fund"], draft);
  // Another run may have been faster.
  if (status === 0 && !existsSync(directory)) renameSync(draft, directory);
  rmSync(draft, { recursive: true, force: true });
  return existsSync(path) ? { path } : { missing: `npm cannot install ${listed}: ${stderr.slice(-500)}` };
}

function runNpm(args: readonly string[], cwd: string) {
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ""}` };
  const cli = process.env.npm_execpath;
  const options = { cwd, env, encoding: "utf8" } as const;
  return cli !== undefined && /\.c?js$/.test(cli)
    ? spawnSync(process.execPath, [cli, ...args], options)
    : spawnSync("npm", args, options);
}
