import type { Blobs } from "../../../lib/platform/azure/blobs.ts";
import type { Policies } from "../../../lib/platform/azure/services.ts";

export interface CallCounts {
  readonly total: number;
  /**
   * How many of them were waited for one after another: the longest chain in which each began after the one before had ended.
   * A call that is still in flight at the end was not awaited.
   */
  readonly sequential: number;
  /** Method and path of each, in the order of their beginning. */
  readonly calls: readonly string[];
}

/** Counts calls to storage by when each began and ended. */
export interface CallCounter {
  /** For the request pipeline of tables: every HTTP request counts, repeated ones too. */
  readonly policy: Policies[number];
  count<T>(name: string, call: () => Promise<T>): Promise<T>;
  /** The calls from now on until `work` has ended. */
  during<T>(work: () => Promise<T>): Promise<CallCounts & { readonly result: T }>;
}

interface Interval {
  readonly name: string;
  readonly began: number;
  ended?: number;
}

export function createCallCounter(): CallCounter {
  let calls: Interval[] = [];
  // Ticks, not milliseconds: of two events one always comes first.
  let tick = 0;
  const endOfRound = createRounds();
  const count: CallCounter["count"] = async (name, call) => {
    const counted: Interval = { name, began: tick++ };
    calls.push(counted);
    try {
      return await endOfRound(call);
    } finally {
      counted.ended = tick++;
    }
  };
  return {
    policy: {
      position: "perRetry",
      policy: {
        name: "callCounter",
        sendRequest: (request, next) =>
          count(`${request.method} ${decodeURIComponent(new URL(request.url).pathname)}`, () => next(request)),
      },
    },
    count,
    during: async work => {
      calls = [];
      const result = await work();
      return { total: calls.length, sequential: longestChain(calls), calls: calls.map(({ name }) => name), result };
    },
  };
}

/** How long a round waits for another call to begin, in milliseconds. */
const roundMs = 4;

/**
 * Returns a function that makes a call and holds its result until every call in flight has one.
 * Without it, a slow call beside two quick ones that wait for each other would count as one of three in a row, if a fourth follows it.
 */
function createRounds(): <T>(call: () => Promise<T>) => Promise<T> {
  let inFlight = 0;
  let release: (() => void)[] = [];
  let timer: NodeJS.Timeout | undefined;
  const endRound = () => {
    const held = release;
    release = [];
    for (const resume of held) resume();
  };
  return async call => {
    clearTimeout(timer);
    inFlight++;
    try {
      return await call();
    } finally {
      inFlight--;
      const held = new Promise<void>(resolve => release.push(resolve));
      if (inFlight === 0) timer = setTimeout(endRound, roundMs);
      await held;
    }
  };
}

/** The most ended calls of which no two overlap: always the next that ends first. */
function longestChain(calls: readonly Interval[]): number {
  const ended = calls.flatMap(({ began, ended }) => (ended === undefined ? [] : [{ began, ended }]));
  let length = 0;
  let free = -1;
  for (const call of ended.toSorted((a, b) => a.ended - b.ended)) {
    if (call.began <= free) continue;
    length++;
    free = call.ended;
  }
  return length;
}

/** Blobs whose calls count. */
export const countedBlobs = (blobs: Blobs, { count }: CallCounter): Blobs => ({
  ...blobs,
  put: (container, name, content) => count(`PUT ${container}/${name}`, () => blobs.put(container, name, content)),
  get: (container, name) => count(`GET ${container}/${name}`, () => blobs.get(container, name)),
  remove: (container, name) => count(`DELETE ${container}/${name}`, () => blobs.remove(container, name)),
});
