import { setTimeout } from "node:timers/promises";
import { Fault } from "../../../lib/platform/fault.ts";
import { PeerFailure } from "../../../lib/platform/peer-failure.ts";
import type { Faults } from "./faults.ts";
import type { Random } from "./random.ts";

/** One run: the work that it started, and a log of it. */
export interface RandomRun {
  log(text: string): void;
  /** Starts work and waits at most 200 ms for it, so that it overlaps with later work. Logs its result or error. */
  start<T>(what: string, work: () => Promise<T>): Promise<void>;
  /**
   * Ends the faults. Either resumes all suspended calls, or leaves them, as if their hosts had crashed. Returns when all
   * other work has ended.
   */
  end(faults: Faults): Promise<void>;
  /** Errors of started work that are neither refusals nor failures of peers. */
  readonly unexpectedErrors: readonly string[];
}

/** Plays a run. An error in it gets the log of the run. */
export async function withLog(random: Random, play: (run: RandomRun) => Promise<void>): Promise<void> {
  const lines: string[] = [];
  try {
    await play(createRun(random, lines));
  } catch (error) {
    throw new Error([error instanceof Error ? error.message : String(error), "", ...lines].join("\n"), {
      cause: error,
    });
  }
}

/** Without a call for this time, only suspended hosts are left. A sign-in that waits for a slot of its throttle reads once a second. */
const longestPauseMs = 2500;

function createRun(random: Random, lines: string[]): RandomRun {
  const running = new Set<Promise<void>>();
  const unexpectedErrors: string[] = [];
  const log = (text: string) => void lines.push(text);
  return {
    log,
    start: async (what, work) => {
      log(what);
      const done = work()
        .then(
          result => log(`  ${what}: ${JSON.stringify(result)?.slice(0, 300)}`),
          (error: unknown) => {
            log(`  ${what}: ${String(error)}`);
            const isExpected = error instanceof Fault || error instanceof PeerFailure;
            if (!isExpected) unexpectedErrors.push(`${what}: ${error instanceof Error ? error.stack : String(error)}`);
          },
        )
        .finally(() => running.delete(done));
      running.add(done);
      await Promise.race([done, setTimeout(random.pick([10, 200]))]);
    },
    end: async faults => {
      log("end of the faults");
      await faults.end();
      if (random.chance(0.5)) faults.continueAll();
      while (running.size > 0 && !faults.areSuspended()) await Promise.race(running);
      for (let calls = -1; running.size > 0 && (calls !== faults.calls() || faults.areSent()); ) {
        calls = faults.calls();
        await Promise.race([Promise.all(running), setTimeout(longestPauseMs)]);
      }
    },
    unexpectedErrors,
  };
}
