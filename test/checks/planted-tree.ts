import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

/** A small project under the checks of this one. */
export interface PlantedTree {
  /** Runs a tool of this project's packages in the tree. */
  run(command: string, ...args: readonly string[]): { readonly status: number | null; readonly output: string };
  remove(): void;
}

/** @param files source by path */
export function plant(files: Readonly<Record<string, string>>): PlantedTree {
  const directory = mkdtempSync(join(tmpdir(), "planted-"));
  for (const config of [".gitignore", "biome.json", "tsconfig.json", "knip.jsonc"])
    cpSync(config, join(directory, config));
  symlinkSync(resolve("node_modules"), join(directory, "node_modules"), "junction");
  for (const [path, source] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), source);
  }
  return {
    run(command, ...args) {
      const env = { ...process.env, FORCE_COLOR: "0", NO_COLOR: "1" };
      const script = resolve("node_modules", command);
      const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
        cwd: directory,
        env,
        encoding: "utf8",
      });
      return { status, output: `${stdout}\n${stderr}` };
    },
    remove: () => rmSync(directory, { recursive: true }),
  };
}
