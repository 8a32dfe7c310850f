import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { inject } from "vitest";
import { buildPackage } from "../../../local/package/build.ts";
import { type PackageFiles, writePackage } from "../../../local/package/files.ts";
import { ownPlatform } from "../../../local/package/native.ts";
import { onceInRun } from "../run/once-in-run.ts";

/**
 * Builds the deployable package for this machine, once for all processes of a run, outside of the checkout. Returns its
 * folder, which no test may change.
 */
export const builtPackage = (): Promise<string> =>
  onceInRun("built-package", async () => {
    const root = process.cwd();
    const folder = join(inject("runDirectory"), "package");
    writePackage(folder, await buildPackage(root, ownPlatform(root)));
    return folder;
  });

/** Reads a written package. */
export const readPackage = (folder: string): PackageFiles =>
  new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => join(entry.parentPath, entry.name))
      .map(path => [relative(folder, path).replaceAll("\\", "/"), readFileSync(path)] as const),
  );
