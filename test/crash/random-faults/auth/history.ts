/** A write of a value, as its caller sees it. Times are those of a logical clock. */
export interface Write<T> {
  readonly value: T;
  readonly calledAt: number;
  /** Infinite while the outcome is unknown: the write may take effect at any later time. */
  respondedAt: number;
  outcome: "done" | "unknown" | "refused";
}

/** The concurrent writes of one value. Returns the values that a read may find (linearizability). */
export interface History<T> {
  /** Begins a write. Its outcome is unknown until `endWrites`. */
  begin(value: T): Write<T>;
  /** Adds a write that other histories have, too. */
  add(write: Write<T>): void;
  /** The values that a read may find that is called at one time and responds at another; by default a read now. */
  possible(from?: number, to?: number): readonly T[];
}

/** A clock that counts calls and responses. */
export interface LogicalClock {
  next(): number;
}

export function createLogicalClock(): LogicalClock {
  let last = 0;
  return { next: () => ++last };
}

export function createHistory<T>(clock: LogicalClock, initial: Omit<Write<T>, "outcome">): History<T> {
  const writes: Write<T>[] = [{ ...initial, outcome: "done" }];
  /** Whether a later write, which is done, replaced the value before a time. */
  const isOverwritten = (write: Write<T>, time: number) =>
    writes.some(other => other.outcome === "done" && other.calledAt > write.respondedAt && other.respondedAt < time);
  return {
    begin: value => {
      const write = beginWrite(clock, value);
      writes.push(write);
      return write;
    },
    add: write => void writes.push(write),
    possible: (from = clock.next(), to = from) =>
      writes
        .filter(write => write.outcome !== "refused" && write.calledAt <= to && !isOverwritten(write, from))
        .map(({ value }) => value),
  };
}

export const beginWrite = <T>(clock: LogicalClock, value: T): Write<T> => ({
  value,
  calledAt: clock.next(),
  respondedAt: Number.POSITIVE_INFINITY,
  outcome: "unknown",
});

/** Records the response to writes. */
export function endWrites(writes: readonly Write<unknown>[], outcome: Write<unknown>["outcome"], at: number): void {
  for (const write of writes) {
    write.outcome = outcome;
    if (outcome === "done") write.respondedAt = at;
  }
}
