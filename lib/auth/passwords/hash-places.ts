import { Fault } from "../../platform/fault.ts";
import type { Now } from "../../platform/time.ts";
import { createHashTurns } from "./hash-turns.ts";
import { createRetryTimes } from "./retry-times.ts";

/** Whose password is to be hashed. Says nothing about whether a user exists. */
export interface HashCaller {
  /** Whether a session, a device token or an API token identifies the caller. */
  readonly isKnown: boolean;
  /** What the attempt is for: the folded username, or the session, device or prefix. Absent if places for it need no limit. */
  readonly name?: string | undefined;
  /** The group of the caller's address, if it is known. Many people can share one, so it is not limited by itself. */
  readonly address?: string | undefined;
}

/** A caller of the Core API, or the new hash of a password change, for which a session identifies the caller. */
export const knownCaller: HashCaller = { isKnown: true };

/** A place in the queue of password hashes. Repeated releases have no effect. */
export interface HashPlace {
  /** Resolves when an attempt may begin the storage calls that precede its hash. A hash without storage calls before it needs no turn. */
  turn(): Promise<void>;
  release(): void;
}

/** The queue has no place for this caller. Nothing was checked, so nothing failed. */
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

export interface HashPlacesOptions {
  /** Maximum time in which the queue is expected to be served. It decides how many places there are. */
  readonly maxWaitMs: number;
  /** Maximum number of hashes in progress. */
  readonly maxConcurrent: number;
  /** Expected milliseconds from one finished hash to the next. */
  readonly perHashMs: () => number;
  readonly now: Now;
  readonly random: (bytes: number) => Uint8Array;
  /** Resolves after this number of milliseconds. */
  readonly sleep: (ms: number) => Promise<void>;
}

/** Gives out the places of the queue. Throws `OverloadFault` if there is none for this caller. */
export interface HashPlaces {
  take(caller: HashCaller): HashPlace;
}

/**
 * How full the queue may be for a caller to get a place, as a share of all places. A flood of unknown callers leaves a quarter to known
 * callers. A flood that repeats names or addresses leaves half to all others.
 */
const shares = { known: 1, unknown: 3 / 4, repeated: 1 / 2 };
/**
 * Share of all places that callers of a kind get in any case. When hashes become slower, as at the start of a flood, there are fewer
 * places, and the flood may have taken them all before.
 */
const reserved = { known: 1 / 4, unknown: 1 / 4, repeated: 0 };
/**
 * Number of places that one name can have: this share of the queue, or ten in a short queue, which are the attempts at once that its
 * throttle allows by default.
 */
const ofName = { share: 1 / 8, inShortQueue: 10 };
/** Attempts for each hash in progress that make their storage calls at once. Those calls can take eight times as long as a hash. */
const startedPerHash = 8;
/** Bounds memory: each caller in the queue keeps its request. */
const maxPlaces = 1000;

/**
 * Limits the queue by time, because the number of hashes a second depends on the machine and its load. A place is taken before the
 * first storage call of an attempt, so that an overloaded host refuses at once and at no cost for storage. Names are in memory only
 * while their attempts have places.
 */
export function createHashPlaces(options: HashPlacesOptions): HashPlaces {
  const { maxWaitMs, maxConcurrent, perHashMs, now, random, sleep } = options;
  const minPlaces = 4 * maxConcurrent;
  const takenBy = new Map<string, number>();
  let taken = 0;
  const takenByKind = { known: 0, unknown: 0, repeated: 0 };

  const add = (key: string, count: number): void => {
    const sum = (takenBy.get(key) ?? 0) + count;
    if (sum === 0) takenBy.delete(key);
    else takenBy.set(key, sum);
  };
  const turns = createHashTurns({ maxStarted: startedPerHash * maxConcurrent, perHashMs, sleep });
  const retryOptions = { spreadMs: 2 * maxWaitMs, now, random };
  /** Known callers have times of their own, so that a flood of unknown callers does not make them wait longer. */
  const retryTimesOf = { known: createRetryTimes(retryOptions), unknown: createRetryTimes(retryOptions) };

  return {
    take({ isKnown, name, address }) {
      const places = Math.max(minPlaces, Math.min(maxPlaces, Math.floor(maxWaitMs / perHashMs())));
      const nameKey = name === undefined ? [] : [`name ${name}`];
      const keys = address === undefined ? nameKey : [...nameKey, `address ${address}`];
      const hasTooMany = nameKey.some(
        key => (takenBy.get(key) ?? 0) >= Math.max(ofName.inShortQueue, places * ofName.share),
      );
      const kind = keys.some(key => takenBy.has(key)) ? "repeated" : isKnown ? "known" : "unknown";
      const isFull =
        taken >= Math.floor(places * shares[kind]) && takenByKind[kind] >= Math.floor(places * reserved[kind]);
      if (isFull || hasTooMany) {
        throw new OverloadFault(retryTimesOf[isKnown ? "known" : "unknown"].next(perHashMs()));
      }
      taken += 1;
      takenByKind[kind] += 1;
      for (const key of keys) add(key, 1);
      let isTaken = true;
      let endTurn: (() => void) | undefined;
      return {
        async turn() {
          endTurn = await turns.next(isKnown);
          if (!isTaken) endTurn();
        },
        release() {
          if (!isTaken) return;
          isTaken = false;
          endTurn?.();
          taken -= 1;
          takenByKind[kind] -= 1;
          for (const key of keys) add(key, -1);
        },
      };
    },
  };
}
