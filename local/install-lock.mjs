// One installation at a time. Plain JavaScript: it must run on Node 20.
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

/**
 * Several tasks may start at once in a fresh clone: one of them installs, the others wait.
 * @param lock path of a file that exists while the work is done
 */
export async function withLock(lock, work) {
  // Not recursive: a recursive `mkdir` reports a read-only disk as a missing directory.
  if (!existsSync(dirname(lock))) mkdirSync(dirname(lock));
  let waits = false;
  while (!taken(lock)) {
    if (abandoned(lock)) {
      rmSync(lock, { force: true });
      continue;
    }
    if (!waits) console.error("Waiting for another task, which installs the packages.");
    waits = true;
    await wait(200);
  }
  try {
    await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function taken(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  }
}

/** Returns whether the process of the lock has ended. Process ids are reused, so an old lock counts as abandoned too. */
function abandoned(lock) {
  try {
    const holder = Number(readFileSync(lock, "utf8"));
    return holder === process.pid || !isAlive(holder) || Date.now() - statSync(lock).mtimeMs > 15 * 60_000;
  } catch {
    return false;
  }
}

export function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}
