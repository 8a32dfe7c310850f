/** A write of a value, as its caller sees it. */
export interface Write<T> {
  readonly value: T;
  readonly from: number;
  /** Infinite until there is a response, and after a response that leaves the outcome open: it may take effect later. */
  until: number;
  outcome: "done" | "unknown" | "refused";
}

/** The writes of one value by several callers at once: tells which values a reader may find. */
export interface History<T> {
  /** Begins a write. Its outcome is unknown until `ended`. */
  begin(value: T): Write<T>;
  /** Adds a write that other histories have, too. */
  add(write: Write<T>): void;
  /** The values that may be read from a moment to a later one; by default now. */
  possible(from?: number, to?: number): readonly T[];
}

/** A clock that counts what is observed. */
export interface Moments {
  /** The next moment. */
  next(): number;
}

export function createMoments(): Moments {
  let last = 0;
  return { next: () => ++last };
}

export function createHistory<T>(moments: Moments, initial: Omit<Write<T>, "outcome">): History<T> {
  const writes: Write<T>[] = [{ ...initial, outcome: "done" }];
  /** Whether another write, which is done, came between a write and a moment. */
  const isOverwritten = (write: Write<T>, before: number) =>
    writes.some(other => other.outcome === "done" && other.from > write.until && other.until < before);
  return {
    begin: value => {
      const write = beginWrite(moments, value);
      writes.push(write);
      return write;
    },
    add: write => void writes.push(write),
    possible: (from = moments.next(), to = from) =>
      writes
        .filter(write => write.outcome !== "refused" && write.from <= to && !isOverwritten(write, from))
        .map(({ value }) => value),
  };
}

export const beginWrite = <T>(moments: Moments, value: T): Write<T> => ({
  value,
  from: moments.next(),
  until: Number.POSITIVE_INFINITY,
  outcome: "unknown",
});

/** Records the response to writes. */
export function ended(writes: readonly Write<unknown>[], outcome: Write<unknown>["outcome"], at: number): void {
  for (const write of writes) {
    write.outcome = outcome;
    if (outcome === "done") write.until = at;
  }
}
