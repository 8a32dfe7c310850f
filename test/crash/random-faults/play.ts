import { setTimeout } from "node:timers/promises";
import type { Draw } from "./draw.ts";
import type { Faults } from "./faults.ts";

/** What a run did, for the message of a failure. */
export interface Play {
  note(text: string): void;
  /** Starts work and waits for a moment, so that it runs beside the next work. Its errors are noted. */
  start<T>(what: string, work: () => Promise<T>): Promise<void>;
  /**
   * Ends the faults. What is suspended continues at random, or never does, as after the death of its host. Returns when
   * everything else has ended.
   */
  end(faults: Faults): Promise<void>;
  /** Throws if something is wrong, with everything that was noted. */
  judge(wrong: readonly string[]): void;
}

export function createPlay(draw: Draw): Play {
  const notes: string[] = [];
  const running = new Set<Promise<void>>();
  const note = (text: string) => void notes.push(text);
  return {
    note,
    start: async (what, work) => {
      note(what);
      const done = work()
        .then(
          result => note(`  ${what}: ${JSON.stringify(result)?.slice(0, 300)}`),
          (error: unknown) => note(`  ${what}: ${String(error)}`),
        )
        .finally(() => running.delete(done));
      running.add(done);
      await Promise.race([done, setTimeout(draw.pick([10, 200]))]);
    },
    end: async faults => {
      note("end of the faults");
      await faults.end();
      if (draw.chance(0.5)) faults.continueAll();
      while (running.size > 0 && !faults.areSuspended()) await Promise.race(running);
      await Promise.race([Promise.all(running), setTimeout(1000)]);
    },
    judge: wrong => {
      if (wrong.length > 0) throw new Error([...wrong, "", ...notes].join("\n"));
    },
  };
}
