/** The documented targets of Table storage (docs/scale.md). */
export interface Limits {
  /** Operations a second on one partition. Each row of a transaction is one. */
  readonly partition: number;
  /** Operations a second on the account. */
  readonly account: number;
}

export const documentedLimits: Limits = { partition: 2000, account: 20_000 };

/** What was counted of one partition. */
export interface PartitionCount {
  readonly table: string;
  readonly partition: string;
  readonly operations: number;
  /** The most in one second. */
  readonly peak: number;
}

export interface MeterReport {
  readonly operations: number;
  /** Requests that cost a transaction: a query of one page, a transaction of many rows, or a call of one row. */
  readonly requests: number;
  /** The most operations in one second. */
  readonly peak: number;
  /** Requests that were refused with 503. */
  readonly refused: number;
  /** Requests by kind and table, such as `insert due`. */
  readonly byKind: Readonly<Record<string, number>>;
  /** The partitions with most operations. */
  readonly hottest: readonly PartitionCount[];
}

export interface Meter {
  /** Counts a request. Returns false if it is beyond a limit and must be refused. */
  admit(request: {
    readonly kind: string;
    readonly table: string;
    readonly partition: string;
    readonly rows: number;
  }): boolean;
  report(): MeterReport;
  reset(): void;
}

/** Counts operations by partition and second. @param nowMs the clock */
export function createMeter({ partition: ofPartition, account }: Limits, nowMs: () => number): Meter {
  let second = 0;
  let inSecond = new Map<string, number>();
  let allInSecond = 0;
  let peak = 0;
  let operations = 0;
  let requests = 0;
  let refused = 0;
  let byKind = new Map<string, number>();
  let partitions = new Map<string, { table: string; partition: string; operations: number; peak: number }>();

  return {
    admit({ kind, table, partition, rows }) {
      const current = Math.floor(nowMs() / 1000);
      if (current !== second) {
        second = current;
        inSecond = new Map();
        allInSecond = 0;
      }
      const key = `${table}/${partition}`;
      const used = (inSecond.get(key) ?? 0) + rows;
      requests += 1;
      if (used > ofPartition || allInSecond + rows > account) {
        refused += 1;
        return false;
      }
      inSecond.set(key, used);
      allInSecond += rows;
      operations += rows;
      peak = Math.max(peak, allInSecond);
      byKind.set(`${kind} ${table}`, (byKind.get(`${kind} ${table}`) ?? 0) + 1);
      const counted = partitions.get(key) ?? { table, partition, operations: 0, peak: 0 };
      counted.operations += rows;
      counted.peak = Math.max(counted.peak, used);
      partitions.set(key, counted);
      return true;
    },
    report: () => ({
      operations,
      requests,
      peak,
      refused,
      byKind: Object.fromEntries([...byKind].sort(([, a], [, b]) => b - a)),
      hottest: [...partitions.values()].sort((a, b) => b.operations - a.operations).slice(0, 12),
    }),
    reset() {
      inSecond = new Map();
      allInSecond = 0;
      peak = 0;
      operations = 0;
      requests = 0;
      refused = 0;
      byKind = new Map();
      partitions = new Map();
    },
  };
}
