import { readFileSync } from "node:fs";

/** Whether a process runs; not one that only waits for its parent. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // A host whose starter has ended may have no parent that takes its exit code.
  try {
    return !/^State:\s*[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return process.platform !== "linux";
  }
}

/** Sends a signal to a process, or to a group by its negative id. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It is gone already.
  }
}

/** The host starts a group of processes of its own, so that none of its workers is left. */
export const killGroup = (pid: number): void => signal(-pid, "SIGKILL");
