import type { Instant } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { Due } from "../model/request.ts";
import type { DueEntry, DueRow } from "./due-index.table.ts";
import { mustLeave } from "./peer-calls.ts";
import { isDue, isLeasedByAnother, isPastDeadline, newLease, type Run } from "./run.ts";

/** The due rows of one request. One worker works on all of them. */
export interface DueRequest {
  readonly requestId: string;
  readonly rows: readonly DueRow[];
  /** The only peer that the work calls. Undefined if there are several. */
  readonly peer: string | undefined;
}

/** The due work of a queue, as one run takes it. */
interface DueQueue {
  /**
   * Takes the oldest requests, at most `free(peer)` for each peer. None if no other request can be taken, or if the time
   * of the run is over. Leaves out the work of peers that the run must not call, and what other runs have leased.
   */
  take(free: (peer: string | undefined) => number): Promise<readonly DueRequest[]>;
  /** Returns the ids of the requests that have rows that were not taken. */
  rest(): Promise<ReadonlySet<string>>;
  /** Removes the leases of index rows that still exist, so that the next run finds them. */
  release(): Promise<void>;
}

/** The most rows of one transaction. */
const maxRows = 100;
/** Rows that are read ahead, a page of Table storage. A peer that is not responding can delay the others only if it has more. */
const pageRows = 1000;

/**
 * Returns the due work of a queue. Runs on several hosts divide it: each leases the index rows of some requests in one
 * transaction before it loads them, and leaves out rows that another run has leased. A run that can start all requests
 * at once does without these leases: for a few requests a transaction would cost more than it saves. Leases of a host
 * that has stopped expire.
 */
export function dueQueue(queue: Due["queue"], run: Run, until: Instant | undefined, deps: ConnectorDeps): DueQueue {
  const { requests, now, intervals } = deps;
  const open = (from?: DueRow) => requests.due(queue, until, from)[Symbol.asyncIterator]();
  let unread = open();
  let isAtEnd = false;
  /** In order of time: read, and not taken. */
  let waiting: DueRow[] = [];
  const taken = new Set<string>();
  /** Rows whose peer must not be called, by their names, each with the id of its request. */
  const leftOut = new Map<string, string>();
  const leased: DueRow[] = [];
  /** Whether this run leases the rows that it takes. Decided at the first take. */
  let isLeasing: boolean | undefined;
  let sawOtherRun = false;

  /** Reads until so many rows wait, if there are as many. */
  const read = async (count: number): Promise<void> => {
    waiting = waiting.filter(mayCall);
    while (!isAtEnd && waiting.length < count) {
      const { value: row, done } = await unread.next();
      if (done === true) isAtEnd = true;
      else if (isLeasedByAnother(row.lease, run, now())) sawOtherRun = true;
      else if (isDue(row, run, now()) && !taken.has(nameOf(row)) && mayCall(row)) waiting.push(row);
    }
  };
  const mayCall = (row: DueRow): boolean => {
    if (row.peer === undefined || !mustLeave(row.peer, run, deps)) return true;
    leftOut.set(nameOf(row), row.requestId);
    return false;
  };
  /** Leases the rows. Returns false if another run has changed one of them: then those that wait are read again. */
  const lease = async (rows: readonly DueRow[]): Promise<boolean> => {
    // Before the call: it may succeed and its response be lost.
    leased.push(...rows);
    if (await requests.leaseDue(rows, newLease(run, now(), intervals))) return true;
    [unread, isAtEnd, waiting] = [open(waiting[0]), false, []];
    return false;
  };

  return {
    async take(free) {
      while (!isPastDeadline(run, deps)) {
        await read(pageRows);
        const chosen = oldestRequests(waiting, free);
        const rows = chosen.flatMap(each => each.rows);
        isLeasing ??= sawOtherRun || rows.length < waiting.length;
        if (isLeasing && rows.length > 0 && !(await lease(rows))) continue;
        for (const row of rows) {
          taken.add(nameOf(row));
          leftOut.delete(nameOf(row));
        }
        waiting = waiting.filter(row => !rows.includes(row));
        return chosen;
      }
      return [];
    },

    async rest() {
      await read(Number.POSITIVE_INFINITY);
      return new Set([...waiting.map(({ requestId }) => requestId), ...leftOut.values()]);
    },

    async release() {
      const [first, ...others] = leased.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
      if (first === undefined) return;
      const { at } = others.at(-1) ?? first;
      const mine: DueRow[] = [];
      for await (const row of requests.due(queue, at, first)) if (row.lease?.owner === run.owner) mine.push(row);
      await requests.releaseDue(mine);
    },
  };
}

/** The order of the queue. */
const orderOf = (row: DueEntry): string => `${row.at} ${nameOf(row)}`;

const nameOf = ({ requestId, keyId = "" }: DueEntry): string => `${requestId} ${keyId}`;

/** Returns the first requests, each with all its rows that were read, and no more rows than one transaction writes. */
function oldestRequests(rows: readonly DueRow[], free: (peer: string | undefined) => number): readonly DueRequest[] {
  const chosen: DueRequest[] = [];
  const ofPeers = new Map<string | undefined, number>();
  let length = 0;
  for (const [requestId, all] of Map.groupBy(rows, row => row.requestId)) {
    const ofRequest = all.slice(0, maxRows);
    const [first, ...others] = new Set(ofRequest.map(row => row.peer));
    const peer = others.length === 0 ? first : undefined;
    const ofPeer = ofPeers.get(peer) ?? 0;
    if (ofPeer >= free(peer)) continue;
    length += ofRequest.length;
    if (length > maxRows) break;
    ofPeers.set(peer, ofPeer + 1);
    chosen.push({ requestId, rows: ofRequest, peer });
  }
  return chosen;
}
