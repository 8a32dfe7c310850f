// What is deployed, as one bundle: functions/main.ts with every package it needs, and source maps.
import { createRequire } from "node:module";
import { join } from "node:path";
import { build, type Metafile, type Plugin } from "esbuild";
import type { PackageFiles } from "./files.ts";

/** The folder of the package that holds the bundle. */
export const bundleFolder = "dist";

/** The native binary, next to the bundle. */
const nativeFile = "argon2.node";

/** Left to the machine that runs the bundle. */
const external: ReadonlySet<string> = new Set([
  // Only Azure's worker has it, and makes `require` find it.
  "@azure/functions-core",
  // Asked for by a proxy agent, where a proxy wants it. Ours needs none.
  "kerberos",
  `./${nativeFile}`,
]);

export interface Bundle {
  readonly files: PackageFiles;
  /** Folders of the packages that are in it. */
  readonly packages: readonly string[];
}

/**
 * Bundles the app in the directory `root`. What is loaded on demand in the code is a file of its own in the bundle. The same
 * sources give the same bytes. Throws where something would have to be found at run time that is not in the package.
 */
export async function bundleApp(root: string): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: { main: "functions/main.ts" },
    bundle: true,
    splitting: true,
    platform: "node",
    target: "node22",
    format: "esm",
    // Nothing is written: paths in source maps are the same wherever the package goes.
    outdir: join("package", bundleFolder),
    write: false,
    metafile: true,
    // Names are kept: log lines contain the names of errors, and stacks can be read without the maps, which take time
    // at the start.
    minifyWhitespace: true,
    minifySyntax: true,
    sourcemap: "linked",
    legalComments: "none",
    external: [...external].filter(name => !name.startsWith(".")),
    mainFields: ["module", "main"],
    conditions: ["module"],
    // Packages in CommonJS ask for built-in modules at run time, and for what Azure's worker provides.
    banner: {
      js: 'import{createRequire as makeRequire}from"node:module";const require=makeRequire(import.meta.url);',
    },
    plugins: [nativeArgon2(root)],
    logLevel: "error",
  });
  refuseMissing(metafile);
  const folder = join(root, "package");
  return {
    files: new Map(
      outputFiles
        .map(({ path, contents }) => [path.slice(folder.length + 1).replaceAll("\\", "/"), contents] as const)
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
    packages: packagesOf(metafile),
  };
}

/** Where the package's own loader would look for the binary of the machine that it runs on, the one in the package is taken. */
const nativeArgon2 = (root: string): Plugin => ({
  name: "native-argon2",
  setup(builder) {
    builder.onResolve({ filter: /^@node-rs\/argon2$/ }, ({ path }) => ({ path, namespace: "native" }));
    builder.onLoad({ filter: /.*/, namespace: "native" }, ({ path }) => {
      const names = Object.keys(createRequire(join(root, "package.json"))(path)).sort();
      return { contents: `export const { ${names.join(", ")} } = require("./${nativeFile}");`, loader: "js" };
    });
    builder.onResolve({ filter: /\.node$/, namespace: "native" }, ({ path }) => ({ path, external: true }));
  },
});

/** Where in the package the native binary belongs. */
export const nativePath = `${bundleFolder}/${nativeFile}`;

function refuseMissing({ outputs }: Metafile): void {
  const missing = Object.values(outputs)
    .flatMap(({ imports }) => imports)
    .filter(({ path, external: left }) => left === true && !path.startsWith("node:") && !external.has(path))
    .map(({ path }) => path)
    .filter(path => !isBuiltIn(path));
  if (missing.length > 0) throw new Error(`The package would lack: ${[...new Set(missing)].sort().join(", ")}`);
}

const isBuiltIn = (path: string): boolean => process.getBuiltinModule(path) !== undefined;

function packagesOf({ outputs }: Metafile): readonly string[] {
  const files = Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs));
  // The innermost one, where packages bring their own.
  const folders = files.flatMap(file => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  // Its code is replaced, its binary is not.
  return [...new Set([...folders, "node_modules/@node-rs/argon2"])].sort();
}
