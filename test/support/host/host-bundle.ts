import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { build, type Plugin } from "esbuild";
import { inject } from "vitest";
import { days } from "../../../lib/time.ts";
import { cheapCost } from "../auth/cheap-hashes.ts";

let bundled: Promise<string> | undefined;

/**
 * Bundles the deployed app, once for all processes of a run: a host loads the bundle in a third of the time that its
 * modules take. Its passwords are hashed at a cost of next to nothing. Returns its path.
 */
export function hostBundle(): Promise<string> {
  bundled ??= bundleOfRun();
  return bundled;
}

/** Two processes that need the bundle at once both make it, at the same path. */
async function bundleOfRun(): Promise<string> {
  const known = join(inject("runDirectory"), "host-bundle");
  if (existsSync(known)) return readFileSync(known, "utf8");
  const path = await bundle();
  const draft = `${known}.${process.pid}`;
  writeFileSync(draft, path);
  renameSync(draft, known);
  return path;
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

/** What decides the bundle, apart from the modules in it. */
const otherInputs = [
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "test/support/auth/cheap-hashes.ts",
  "test/support/host/host-bundle.ts",
];

/** A bundle that was made, with the hash of each file that it was made from. */
interface BundleRecord {
  readonly folder: string;
  readonly inputs: Readonly<Record<string, string>>;
}

const hashOf = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("base64");

/** Returns the folder of the bundle that was made last, undefined if there is none or one of its inputs has changed. */
export function currentBundle(recordPath: string): string | undefined {
  try {
    const { folder, inputs } = JSON.parse(readFileSync(recordPath, "utf8")) as BundleRecord;
    const isCurrent = existsSync(folder) && Object.entries(inputs).every(([path, hash]) => hashOf(path) === hash);
    return isCurrent ? folder : undefined;
  } catch {
    // No record, another process is writing it, or an input is gone.
    return undefined;
  }
}

async function bundle(): Promise<string> {
  // The same path for the same code, so that the compile cache finds it.
  const all = resolve("node_modules/.cache/host-bundles");
  const recordPath = join(all, "latest.json");
  // Every process of a test run needs the same bundle, which takes four seconds of CPU.
  const current = currentBundle(recordPath);
  if (current !== undefined) return join(current, "main.js");
  const { outputFiles, metafile } = await build({
    entryPoints: { main: "functions/main.ts" },
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    outdir: "bundle",
    write: false,
    metafile: true,
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
  const paths = [...Object.keys(metafile.inputs).filter(path => !path.startsWith("(")), ...otherInputs];
  const record: BundleRecord = { folder, inputs: Object.fromEntries(paths.map(path => [path, hashOf(path)])) };
  writeFileSync(recordPath, JSON.stringify(record));
  return join(folder, "main.js");
}
