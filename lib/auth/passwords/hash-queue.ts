import pLimit from "p-limit";
import { Fault } from "../../platform/fault.ts";
import { between, type Now } from "../../platform/time.ts";

/** A slot in the queue of password hashes. `using` releases it at the end of the block; repeated releases have no effect. */
export interface HashSlot extends Disposable {
  /**
   * Resolves when the attempt may begin the storage calls that precede its hash; for known callers at once. Throws
   * `OverloadFault` if that took too long: the caller has given up by then.
   */
  waitTurn(): Promise<void>;
  release(): void;
}

/** The queue has no slot for this caller, or the turn came too late. Nothing was checked, so nothing failed. */
export class OverloadFault extends Fault {
  constructor(retryAfter: number) {
    // Nothing logs the stack of this fault, and on an overloaded host its capture is a large part of a refusal.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super("unavailable", "Too many passwords are being checked. Try again in a moment.", {
      retryAfter,
      reason: "overloaded",
    });
    Error.stackTraceLimit = stackTraceLimit;
  }
}

export interface HashQueueOptions {
  /** Maximum number of hashes in progress. */
  readonly maxConcurrent: number;
  /** Maximum number of callers who have a slot: from before the first storage call until the end of the hash. */
  readonly maxSlots: number;
  /** Maximum time that an attempt waits for its turn. */
  readonly maxWaitMs: number;
  readonly now: Now;
  readonly random: (bytes: number) => Uint8Array;
}

/** Share of the slots that unknown callers can have. The rest is reserved: a flood of them does not keep known callers out. */
const unknownShare = 3 / 4;
/**
 * Unknown callers whose storage calls and hashes are in progress, for each hash in progress: more would occupy the event
 * loop, and delay the refusals of all others. The storage calls can take eight times as long as a hash.
 */
const turnsPerHash = 8;
/** Refused callers come back at random times, so that they do not come together. A person accepts a wait of this length. */
const maxRetryAfterSeconds = 10;

/**
 * A bounded queue of password hashes. A slot is acquired before the first storage call of an attempt, so that an overloaded
 * host refuses at once and at no cost for storage.
 */
export function createHashQueue({ maxConcurrent, maxSlots, maxWaitMs, now, random }: HashQueueOptions) {
  const turns = pLimit(turnsPerHash * maxConcurrent);
  const unknownSlots = Math.floor(maxSlots * unknownShare);
  const taken = { known: 0, unknown: 0 };
  const overloaded = () => new OverloadFault(1 + ((random(1)[0] ?? 0) % maxRetryAfterSeconds));

  return {
    /**
     * Acquires a slot. Throws `OverloadFault` if there is none.
     * @param isKnown whether a session, a device token or an API token identifies the caller. It says nothing about
     * whether a user exists
     */
    acquireSlot({ isKnown }: { readonly isKnown: boolean }): HashSlot {
      const isFull = taken.known + taken.unknown >= maxSlots || (!isKnown && taken.unknown >= unknownSlots);
      if (isFull) throw overloaded();
      const kind = isKnown ? "known" : "unknown";
      taken[kind] += 1;
      let isTaken = true;
      const end = Promise.withResolvers<void>();
      const release = () => {
        if (isTaken) taken[kind] -= 1;
        isTaken = false;
        end.resolve();
      };
      return {
        async waitTurn() {
          if (isKnown) return;
          const since = now();
          const turn = Promise.withResolvers<void>();
          void turns(() => {
            turn.resolve();
            return end.promise;
          });
          await turn.promise;
          if (between(since, now()) > maxWaitMs) throw overloaded();
        },
        release,
        [Symbol.dispose]: release,
      };
    },

    /** Runs a hash when a thread is free. */
    run: pLimit(maxConcurrent),
  };
}
