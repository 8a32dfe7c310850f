import { readdir, readFile } from "node:fs/promises";
import { getPriority, setPriority } from "node:os";
import type { Log } from "../log.ts";

/** Nice steps below the event loop: next to a busy event loop, a thread has a third of its weight. */
const steps = 5;
const maxNice = 19;
/** libuv has given the threads of its pool this name since version 1.50 (Node 24). */
const poolThread = "libuv-worker";
const threads = "/proc/self/task";

/**
 * Gives the threads of the pool, which compute password hashes, a lower priority than the event loop, so that a flood of hashes does
 * not delay responses that need none. They still get all the time that the event loop leaves. Only Linux has a priority for each
 * thread: elsewhere nothing changes. Never rejects.
 */
export async function lowerThreadPoolPriority(log: Log): Promise<void> {
  if (process.platform !== "linux") return;
  try {
    // This read runs in the pool, so all of its threads exist afterwards.
    const ids = await readdir(threads);
    const names = await Promise.all(ids.map(nameOf));
    const nice = Math.min(maxNice, getPriority() + steps);
    for (const [index, id] of ids.entries()) if (names[index] === poolThread) setPriority(Number(id), nice);
  } catch (error) {
    log.warn("thread_priority_unchanged", { error });
  }
}

/** Returns the name of a thread of this process; undefined if it has ended. */
const nameOf = (id: string): Promise<string | undefined> =>
  readFile(`${threads}/${id}/comm`, "utf8").then(
    name => name.trimEnd(),
    () => undefined,
  );
