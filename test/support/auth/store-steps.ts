import { setImmediate } from "node:timers/promises";
import type { Tables } from "../../../lib/platform/azure/tables.ts";
import { Fault } from "../../../lib/platform/fault.ts";
import { aroundCalls, type Call } from "../storage/around-calls.ts";

/** The process has died: none of its further calls is sent. */
export class Crash extends Error {}

/** What happens at a write. After `crash` no call is sent; `repeated`: the response was lost; `unanswered`: for good. */
type WriteFault = "crash" | "repeated" | "unanswered";

/**
 * Lets a write, counted from 0, have a fault: a crash at a read in between leaves the same. `settled` resolves when no call is
 * under way any more.
 * @param error that callers get then
 */
export function faultAt(
  tables: Tables,
  write: number,
  fault: WriteFault,
  error: () => Error = () => new Fault("unavailable", "no storage"),
): { tables: Tables; settled(): Promise<unknown>; isHit(): boolean } {
  let writes = 0;
  const underWay: Promise<unknown>[] = [];
  return {
    tables: aroundCalls(tables, async (call, send) => {
      const isFaulty = call.writes && writes++ === write;
      if (fault === "crash" && (isFaulty || writes > write)) throw error();
      const sent = fault === "repeated" && isFaulty ? send().then(send) : send();
      underWay.push(sent.catch(() => undefined));
      const result = await sent;
      if (fault === "unanswered" && isFaulty) throw error();
      return result;
    }),
    settled: () => Promise.all(underWay),
    isHit: () => writes > write,
  };
}

interface Waiting extends Call {
  readonly actor: string;
  /** Sends it; resolves when it is answered. */
  go(): Promise<void>;
}

type Chosen = Pick<Waiting, "actor" | "name" | "writes">;

/** Several pieces of work on one storage, of which one sends one call at a time. */
export interface Stage {
  /** Tables whose calls wait for their turn. */
  of(actor: string): Tables;
  /**
   * Runs the pieces of work to their end.
   * @param choose the place of the next call among those that wait; undefined to wait for another call of a running actor
   * @param after each call
   */
  run(
    work: Readonly<Record<string, () => Promise<unknown>>>,
    choose: (waiting: readonly Chosen[], running: ReadonlySet<string>) => number | undefined,
    after?: (call: Chosen) => Promise<void>,
  ): Promise<void>;
}

export function createStage(tables: Tables): Stage {
  const waiting: Waiting[] = [];
  return {
    of: actor =>
      aroundCalls(
        tables,
        (call, send) =>
          new Promise((resolve, reject) => {
            const go = () => send().then(resolve, reject);
            waiting.push({ ...call, actor, go });
          }),
      ),
    async run(work, choose, after) {
      const running = new Set(Object.keys(work));
      let failure: unknown;
      for (const [actor, piece] of Object.entries(work)) {
        piece()
          .catch(error => {
            failure ??= error;
          })
          .finally(() => running.delete(actor));
      }
      for (;;) {
        // An actor with a response has now made its next call, or ended.
        await setImmediate();
        if (failure !== undefined) throw failure;
        if (waiting.length === 0) {
          if (running.size === 0) return;
          continue;
        }
        const chosen = choose(waiting, running);
        if (chosen === undefined) continue;
        const [next] = waiting.splice(chosen % waiting.length, 1);
        await next?.go();
        if (next) await after?.(next);
      }
    },
  };
}

/**
 * Turns as written: each actor goes on until only calls that fit are left of it, or to its end where nothing is to fit. An
 * actor that is not named any more goes on at the end. Throws if an actor ends before it makes a call that fits.
 */
export function inTurns(turns: readonly (readonly [actor: string, until?: RegExp])[]) {
  const left = [...turns];
  return (waiting: readonly Chosen[], running: ReadonlySet<string>): number | undefined => {
    for (;;) {
      const [turn] = left;
      if (turn === undefined) return 0;
      const [actor, until] = turn;
      const next = waiting.findIndex(call => call.actor === actor && !until?.test(call.name));
      if (next !== -1) return next;
      const isThere = waiting.some(call => call.actor === actor);
      if (!isThere && running.has(actor)) return undefined;
      if (!isThere && until !== undefined) throw new Error(`${actor} ended and made no call ${until}`);
      left.shift();
    }
  };
}
