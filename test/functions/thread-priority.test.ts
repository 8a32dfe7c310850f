import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { lowerThreadPoolPriority } from "../../functions/thread-priority.ts";
import { createLog } from "../../lib/platform/log.ts";

/** Above the greatest id that Linux gives to a thread, so that a change of its priority fails. */
const noThread = "4194305";

/** Returns the log of a change of priority in this directory of threads. */
async function loggedFor(threads: string): Promise<string> {
  const lines: string[] = [];
  const log = createLog((level, line) => lines.push(`${level} ${line}`));
  await lowerThreadPoolPriority(log, threads);
  return lines.join("\n");
}

/** Creates a directory of threads that contains one thread of this name. */
function threadsWith(name: string): string {
  const threads = mkdtempSync(join(tmpdir(), "threads-"));
  onTestFinished(() => rmSync(threads, { recursive: true }));
  mkdirSync(join(threads, noThread));
  writeFileSync(join(threads, noThread, "comm"), `${name}\n`);
  return threads;
}

// On other platforms nothing changes.
describe.runIf(process.platform === "linux")("the priority of the threads that hash passwords", () => {
  it.each([
    ["no thread has the name that Node gives to its pool", () => threadsWith("node"), "libuv-worker"],
    ["the system refuses the change", () => threadsWith("libuv-worker"), "setpriority"],
    ["the container has no list of threads", () => join(tmpdir(), "no-such-directory", "task"), "ENOENT"],
  ])("is logged as unchanged if %s", async (_, threads, cause) => {
    const logged = await loggedFor(threads());
    expect(logged).toMatch(/^warn .*"event":"thread_priority_unchanged"/);
    expect(logged).toContain(cause);
  });
});
