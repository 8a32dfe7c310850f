import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { build, type Plugin } from "esbuild";
import { days } from "../../../lib/platform/time.ts";
import { cheapCost } from "../auth/cheap-hashes.ts";
import { onceInRun } from "../run/once-in-run.ts";

let bundled: Promise<string> | undefined;

/**
 * Bundles the deployed app, once for all processes of a run: a host loads the bundle in a third of the time that its
 * modules take. Its passwords are hashed at a cost of next to nothing. Returns its path.
 */
export function hostBundle(): Promise<string> {
  bundled ??= onceInRun("host-bundle", bundle);
  return bundled;
}

const cheapHashes: Plugin = {
  name: "cheap-hashes",
  setup: ({ onLoad }) =>
    onLoad({ filter: /password-hash\.ts$/ }, ({ path }) => {
      const source = readFileSync(path, "utf8");
      const cost = /(?<=export const defaultCost: HashCost = )\{[^}]*\}/;
      if (!cost.test(source)) throw new Error("password-hash.ts has no default cost to replace");
      return { contents: source.replace(cost, JSON.stringify(cheapCost)), loader: "ts" };
    }),
};

async function bundle(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: { start: "functions/start.ts" },
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    outdir: "bundle",
    write: false,
    minifyWhitespace: true,
    external: ["@azure/functions-core", "@node-rs/argon2"],
    mainFields: ["module", "main"],
    conditions: ["module"],
    banner: {
      js: 'import{createRequire as makeRequire}from"node:module";const require=makeRequire(import.meta.url);',
    },
    logLevel: "error",
    plugins: [cheapHashes],
  });
  const hash = createHash("sha256");
  for (const { contents } of outputFiles) hash.update(contents);
  // The same path for the same code, so that the compile cache finds it.
  const all = resolve("node_modules/.cache/host-bundles");
  const folder = join(all, hash.digest("hex").slice(0, 16));
  if (!existsSync(folder)) {
    const draft = `${folder}.${process.pid}`;
    mkdirSync(draft, { recursive: true });
    for (const { path, contents } of outputFiles) writeFileSync(join(draft, basename(path)), contents);
    // Another process may have been faster.
    if (!existsSync(folder)) renameSync(draft, folder);
    rmSync(draft, { recursive: true, force: true });
    for (const other of readdirSync(all))
      if (statSync(join(all, other)).mtimeMs < Date.now() - days(1)) rmSync(join(all, other), { recursive: true });
  }
  return join(folder, "start.js");
}
