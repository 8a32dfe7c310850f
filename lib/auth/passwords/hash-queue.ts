import pLimit from "p-limit";
import { Fault } from "../../platform/fault.ts";
import { between, type Now } from "../../platform/time.ts";

/**
 * A slot in the queue of password hashes. `using` releases it at the end of the block; repeated releases have no
 * effect.
 */
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
  constructor(retryAfterSeconds: number) {
    // Nothing logs the stack of this fault, and on an overloaded host its capture is a large part of a refusal.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super("unavailable", "Too many passwords are being checked. Try again in a moment.", {
      retryAfterSeconds,
      reason: "overloaded",
    });
    Error.stackTraceLimit = stackTraceLimit;
  }
}

export interface HashQueueOptions {
  readonly maxConcurrent: number;
  /** Maximum number of callers who have a slot: from before the first storage call until the end of the hash. */
  readonly maxSlots: number;
  readonly maxWaitMs: number;
  readonly now: Now;
  readonly random: (bytes: number) => Uint8Array;
}

/** Who wants a slot. Nothing of it says whether a user exists. */
interface HashCaller {
  /** Whether a session or an API token identifies the caller. */
  readonly isKnown: boolean;
  /** User id in the device token that the caller presents, if any. */
  readonly deviceUserId?: number | undefined;
}

/** Whose slots are counted: those of known callers, of unknown ones, and of the devices of a user by the id. */
type SlotOwner = "known" | "unknown" | number;

/**
 * Share of the slots that known callers can have, and unknown ones. The rest is reserved for the others: a flood of one
 * kind does not keep the other out.
 */
const shareOfKind = 3 / 4;
/**
 * Slots that the devices of a user have as known callers. A device token is not looked up, so it counts here also after
 * its epoch has ended: a person who floods with one is an unknown caller beyond this number.
 */
const slotsOfDevices = 4;
/**
 * Unknown callers whose storage calls and hashes are in progress, for each hash in progress: more would occupy the
 * event loop, and delay the refusals of all others. The storage calls can take eight times as long as a hash.
 */
const turnsPerHash = 8;
/**
 * Refused callers come back at random times, so that they do not come together. A person accepts a wait of this length.
 */
const maxRetryAfterSeconds = 10;

/**
 * A bounded queue of password hashes. A slot is acquired before the first storage call of an attempt, so that an
 * overloaded host refuses at once and at no cost for storage.
 */
export function createHashQueue({ maxConcurrent, maxSlots, maxWaitMs, now, random }: HashQueueOptions) {
  const turns = pLimit(turnsPerHash * maxConcurrent);
  const slotsOfKind = Math.floor(maxSlots * shareOfKind);
  const slots = new Map<SlotOwner, number>();
  const taken = (by: SlotOwner) => slots.get(by) ?? 0;
  const count = (by: SlotOwner, change: 1 | -1) => {
    if (taken(by) + change === 0) slots.delete(by);
    else slots.set(by, taken(by) + change);
  };
  const overloaded = () => new OverloadFault(1 + ((random(1)[0] ?? 0) % maxRetryAfterSeconds));

  return {
    /** Acquires a slot. Throws `OverloadFault` if there is none. */
    acquireSlot({ isKnown, deviceUserId }: HashCaller): HashSlot {
      const isOnDevice = !isKnown && deviceUserId !== undefined && taken(deviceUserId) < slotsOfDevices;
      const kind = isKnown || isOnDevice ? "known" : "unknown";
      if (taken("known") + taken("unknown") >= maxSlots || taken(kind) >= slotsOfKind) throw overloaded();
      let counted: readonly SlotOwner[] = isOnDevice ? [kind, deviceUserId] : [kind];
      for (const by of counted) count(by, 1);
      const end = Promise.withResolvers<void>();
      const release = () => {
        for (const by of counted) count(by, -1);
        counted = [];
        end.resolve();
      };
      return {
        async waitTurn() {
          if (kind === "known") return;
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
