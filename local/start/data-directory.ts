import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Large enough that a full disk does not have room for it by accident. */
const probe = Buffer.alloc(256 * 1024);

/**
 * Creates the directory of a system with its parents, and checks that it can be written. Throws an error that says why it
 * cannot, because the parts of the system would report it in words of their own, or wait.
 */
export function prepareDirectory(path: string): void {
  try {
    createDirectory(path);
    const file = join(path, `.probe.${process.pid}`);
    try {
      writeFileSync(file, probe, { flush: true });
    } finally {
      rmSync(file, { force: true });
    }
  } catch (cause) {
    const problem = diskProblem(cause) ?? "no directory can be created there";
    throw new Error(`The local system cannot write to ${path}: ${problem}. Set LOCAL_DIR to another directory.`, {
      cause,
    });
  }
}

/** One level at a time: on file systems such as /proc, Node's recursive `mkdir` does not end. */
function createDirectory(path: string): void {
  if (existsSync(path)) return;
  createDirectory(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    // Another process may create it at the same moment.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

const problems: Readonly<Record<string, string>> = {
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EACCES: "access is denied",
  EPERM: "access is denied",
  ENOTDIR: "it is not a directory",
};

/** Returns what a file error means to the user, also if it is the cause of another error; undefined for other errors. */
export function diskProblem(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  return problems[(error as NodeJS.ErrnoException).code ?? ""] ?? diskProblem(error.cause);
}
