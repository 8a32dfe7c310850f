// The deployable package as a map of files, in a folder and as a zip.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Zippable, zipSync } from "fflate";

/** Contents by path below the package's folder. */
export type PackageFiles = ReadonlyMap<string, Uint8Array>;

/** Writes the files to a folder that holds nothing else afterwards. */
export function writePackage(folder: string, files: PackageFiles): void {
  rmSync(folder, { recursive: true, force: true });
  for (const [path, contents] of files) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, contents);
  }
}

/** The same files give the same bytes: sorted, with one time and one mode for all. */
export function zipPackage(files: PackageFiles): Uint8Array {
  // The parts of a zip's time are local ones: this is the first moment that it can tell, wherever it is made.
  const mtime = new Date(1980, 0, 1);
  const unix = { os: 3, attrs: 0o100644 << 16 };
  const entries: Zippable = {};
  for (const path of [...files.keys()].sort()) {
    entries[path] = [files.get(path) ?? new Uint8Array(), { ...unix, mtime, level: 9 }];
  }
  return zipSync(entries);
}
