// The deployable package as a map of files, in a folder and as a zip.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { type Zippable, zipSync } from "fflate";

/** Contents by path below the package's folder. */
export type PackageFiles = ReadonlyMap<string, Uint8Array>;

/**
 * Makes a folder hold these files and nothing else. What is there already stays untouched, and every other file is put into its
 * place whole: `azd` packs three services from one folder, and builds it for each of them, at once if it likes.
 */
export function writePackage(folder: string, files: PackageFiles): void {
  mkdirSync(folder, { recursive: true });
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = relative(folder, join(entry.parentPath, entry.name)).replaceAll("\\", "/");
    if (!entry.isDirectory() && !files.has(path)) rmSync(join(folder, path), { force: true });
  }
  for (const [path, contents] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeWhole(join(folder, path), contents, dirname(folder));
  }
}

/**
 * Writes a file atomically: a reader finds the old or the new content.
 * @param scratchDirectory a directory on the same disk, in which the file is prepared
 */
export function writeWhole(file: string, contents: Uint8Array, scratchDirectory: string): void {
  if (existsSync(file) && readFileSync(file).equals(contents)) return;
  const directory = mkdtempSync(join(scratchDirectory, ".package-"));
  try {
    writeFileSync(join(directory, "file"), contents);
    renameSync(join(directory, "file"), file);
  } finally {
    rmSync(directory, { recursive: true });
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
