// Development tool: one hardware key from the order to the PIN mail, on a system of its own that leaves nothing behind.
import { tellStory } from "./demo-story.ts";
import { launchSystem } from "./demo-system.ts";
import { createTeller } from "./demo-teller.ts";

const longestMs = 55_000;

const started = performance.now();
const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => interrupted.abort());
process.on("disconnect", () => interrupted.abort());

process.exit(await demo());

async function demo(): Promise<number> {
  const teller = createTeller(text => process.stdout.write(text));
  const system = launchSystem();
  try {
    const end = AbortSignal.any([interrupted.signal, AbortSignal.timeout(longestMs)]);
    await within(end, tellStory({ ready: system.ready, teller, end }));
    await system.close();
    teller.paragraph(
      `Done in ${((performance.now() - started) / 1000).toFixed(1)} s. npm start keeps such a system running.`,
    );
    return 0;
  } catch (error) {
    if (interrupted.signal.aborted) return 130;
    console.error(`\nThe demo failed: ${reasonOf(error)}\n\nThe end of the system's log:\n${system.log()}`);
    return 1;
  } finally {
    await system.close();
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
  return error.name === "TimeoutError" ? `it did not end within ${longestMs / 1000} s.` : error.message;
}
