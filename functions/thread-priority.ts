import { readdir, readFile } from "node:fs/promises";
import { getPriority, setPriority } from "node:os";
import { join } from "node:path";
import type { Log } from "../lib/platform/log.ts";

/** Nice steps below the event loop: next to a busy event loop, a thread has a third of its weight. */
const steps = 5;
const maxNice = 19;
/** libuv has given the threads of its pool this name since version 1.50 (Node 24). */
const poolThread = "libuv-worker";

/**
 * Gives the threads of Node's pool, which compute password hashes, a lower priority than the event loop, so that a
 * flood of hashes does not delay responses that need none. They still get all the time that the event loop leaves. Name
 * look-ups, file reads and Web Crypto use the same threads, for much less than a hash each. Only Linux has a priority
 * for each thread: elsewhere nothing changes. Logs a failure and never rejects.
 * @param threads directory of the threads of this process
 */
export async function lowerThreadPoolPriority(log: Log, threads = "/proc/self/task"): Promise<void> {
  if (process.platform !== "linux") return;
  try {
    // This read runs in the pool, so all of its threads exist afterwards.
    const ids = await readdir(threads);
    const names = await Promise.all(ids.map(id => threadName(join(threads, id, "comm"))));
    if (!names.includes(poolThread)) throw new Error(`No thread of this process has the name ${poolThread}`);
    const nice = Math.min(maxNice, getPriority() + steps);
    for (const [index, id] of ids.entries()) if (names[index] === poolThread) setPriority(Number(id), nice);
  } catch (error) {
    log.warn("thread_priority_unchanged", { error });
  }
}

/** Returns the name of a thread from its file; undefined if the thread has ended. */
const threadName = (path: string): Promise<string | undefined> =>
  readFile(path, "utf8").then(
    name => name.trimEnd(),
    () => undefined,
  );
