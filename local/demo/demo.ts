// Development tool: one hardware key from the order to the PIN mail and one that is programmed on site, on a system of its own that leaves nothing behind.

import { createTeller } from "./print.ts";
import { tellStory } from "./story.ts";
import { type LaunchedSystem, launchSystem } from "./system.ts";

const longestMs = 55_000;

const started = performance.now();
const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => interrupted.abort());
process.on("disconnect", () => interrupted.abort());

process.exit(await demo());

async function demo(): Promise<number> {
  const teller = createTeller(text => process.stdout.write(text));
  let system: LaunchedSystem | undefined;
  try {
    system = launchSystem();
    const end = AbortSignal.any([interrupted.signal, AbortSignal.timeout(longestMs)]);
    const ended = system.ended.then(() => Promise.reject(new Error("the system ended by itself.")));
    await within(end, Promise.race([tellStory({ ready: system.ready, teller, end }), ended]));
    await system.close();
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    teller.paragraph(`Done in ${seconds} s. npm start keeps such a system running.`);
    return 0;
  } catch (error) {
    if (interrupted.signal.aborted) return 130;
    console.error(`\nThe demo failed: ${reasonOf(error)}`);
    if (system !== undefined) console.error(`\nThe end of the system's log:\n${system.log()}`);
    return 1;
  } finally {
    await system?.close();
  }
}

/** Rejects as soon as `end` does, whatever `work` is waiting for. */
function within(end: AbortSignal, work: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    end.addEventListener("abort", () => reject(end.reason), { once: true });
    work.then(resolve, reject);
  });
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return `it did not end within ${longestMs / 1000} s.`;
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
