import type { Instant } from "../../time.ts";
import type { ConnectorDeps, DueEntry, DueRow } from "../deps.ts";
import type { Queue } from "../model/request.ts";
import { isDue, isLeasedByAnother, isOver, newLease, type Run } from "./run.ts";

/** The due rows of one request. One worker works on all of them. */
export interface DueRequest {
  readonly requestId: string;
  readonly rows: readonly DueRow[];
}

/** The due work of a queue, as one run takes it. */
interface DueWork {
  /**
   * Takes the oldest requests, at most `count`. None if no work is left that no other run has leased, or if the time of
   * the run is over.
   */
  take(count: number): Promise<readonly DueRequest[]>;
  /** Returns the number of requests that were not taken. */
  rest(): Promise<number>;
  /** Removes the leases of index rows that still exist, so that the next run finds them. */
  release(): Promise<void>;
}

/** The most rows of one transaction. */
const mostRows = 100;
/** Rows that are read ahead, a page of Table storage. */
const pageRows = 1000;

/**
 * Returns the due work of a queue. Runs on several hosts divide it: each leases the index rows of some requests in one
 * transaction before it loads them, and leaves out rows that another run has leased. A run that can start all requests
 * at once does without these leases: for a few requests a transaction would cost more than it saves. Leases of a host
 * that has stopped expire.
 */
export function dueWork(queue: Queue, run: Run, until: Instant | undefined, deps: ConnectorDeps): DueWork {
  const { requests, now, intervals } = deps;
  const open = (from?: DueRow) => requests.due(queue, until, from)[Symbol.asyncIterator]();
  let unread = open();
  let isAtEnd = false;
  /** In order of time: read, and not taken. */
  let waiting: DueRow[] = [];
  const taken = new Set<string>();
  const leased: DueRow[] = [];
  /** Whether this run leases the rows that it takes. Decided at the first take. */
  let isLeasing: boolean | undefined;
  let sawOtherRun = false;

  /** Reads until so many requests wait, if there are as many. */
  const read = async (count: number): Promise<void> => {
    while (!isAtEnd && requestsOf(waiting).size < count)
      for (let rows = 0; rows < pageRows && !isAtEnd; rows++) {
        const { value: row, done } = await unread.next();
        if (done === true) isAtEnd = true;
        else if (isLeasedByAnother(row.lease, run, now())) sawOtherRun = true;
        else if (isDue(row, run, now()) && !taken.has(nameOf(row))) waiting.push(row);
      }
  };
  const readAgain = (): void => {
    const [first] = waiting;
    if (first === undefined) return;
    unread = open(first);
    isAtEnd = false;
    waiting = [];
  };
  const takeRows = (chosen: readonly DueRequest[]): readonly DueRequest[] => {
    const rows = chosen.flatMap(each => each.rows);
    for (const row of rows) taken.add(nameOf(row));
    waiting = waiting.filter(row => !rows.includes(row));
    return chosen;
  };

  return {
    async take(count) {
      while (!isOver(run, deps)) {
        // What was read before may be leased by the other run meanwhile.
        if (isLeasing === true && sawOtherRun) readAgain();
        await read(count + 1);
        isLeasing ??= sawOtherRun || requestsOf(waiting).size > count;
        const chosen = firstRequests(waiting, count);
        if (!isLeasing || chosen.length === 0) return takeRows(chosen);
        const rows = chosen.flatMap(each => each.rows);
        // Before the call: it may succeed and its response be lost.
        leased.push(...rows);
        if (await requests.leaseDue(rows, newLease(run, now(), intervals))) return takeRows(chosen);
        sawOtherRun = true;
      }
      return [];
    },

    async rest() {
      await read(Number.POSITIVE_INFINITY);
      return requestsOf(waiting).size;
    },

    async release() {
      const [first] = leased;
      if (first === undefined) return;
      const last = leased
        .map(({ at }) => at)
        .toSorted()
        .at(-1);
      const mine: DueRow[] = [];
      for await (const row of requests.due(queue, last, first)) if (row.lease?.owner === run.owner) mine.push(row);
      await requests.releaseDue(mine);
    },
  };
}

const nameOf = ({ requestId, keyId = "" }: DueEntry): string => `${requestId} ${keyId}`;

const requestsOf = (rows: readonly DueRow[]): ReadonlySet<string> => new Set(rows.map(({ requestId }) => requestId));

/** Returns the first requests, each with all its rows that were read, and no more rows than one transaction writes. */
function firstRequests(rows: readonly DueRow[], count: number): readonly DueRequest[] {
  const byRequest = Map.groupBy(rows, ({ requestId }) => requestId);
  const chosen: DueRequest[] = [];
  let length = 0;
  for (const [requestId, each] of byRequest) {
    const ofRequest = each.slice(0, mostRows);
    length += ofRequest.length;
    if (chosen.length === count || length > mostRows) break;
    chosen.push({ requestId, rows: ofRequest });
  }
  return chosen;
}
