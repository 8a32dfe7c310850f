import type { Instant } from "../../platform/time.ts";
import type { ConnectorDeps, DueEntry, DueRow } from "../deps.ts";
import type { Queue } from "../model/request.ts";
import { mustLeave } from "./peer-calls.ts";
import { isDue, isLeasedByAnother, isOver, newLease, type Run } from "./run.ts";

/** The due rows of one request. One worker works on all of them. */
export interface DueRequest {
  readonly requestId: string;
  readonly rows: readonly DueRow[];
  /** The only peer that the work calls. Undefined if there are several. */
  readonly peer: string | undefined;
}

/** The number of requests that a run works on at once, by their peers. */
export type ActiveAtPeers = ReadonlyMap<string | undefined, number>;

/** The due work of a queue, as one run takes it. */
interface DueWork {
  /**
   * Takes the oldest requests, at most `count`. None if no work is left that no other run has leased, or if the time of
   * the run is over. Leaves out the work of peers that the run must not call. While more peers have due work, at most
   * half of the requests are for one of them, and none for a peer that has half of the `active` ones: a slow peer does
   * not delay the others.
   */
  take(count: number, active?: ActiveAtPeers): Promise<readonly DueRequest[]>;
  /** Returns the ids of the requests that have rows that were not taken. */
  rest(): Promise<ReadonlySet<string>>;
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
  /** Rows whose peer must not be called, by their names, each with the id of its request. */
  const leftOut = new Map<string, string>();
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
        else if (isDue(row, run, now()) && !taken.has(nameOf(row)) && mayCall(row)) waiting.push(row);
      }
  };
  const mayCall = (row: DueRow): boolean => {
    if (row.peer === undefined || !mustLeave(row.peer, run, deps)) return true;
    leftOut.set(nameOf(row), row.requestId);
    return false;
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
    for (const row of rows) {
      taken.add(nameOf(row));
      leftOut.delete(nameOf(row));
    }
    waiting = waiting.filter(row => !rows.includes(row));
    return chosen;
  };

  return {
    async take(count, active = new Map()) {
      while (!isOver(run, deps)) {
        // What was read before may be leased by the other run meanwhile.
        if (isLeasing === true && sawOtherRun) readAgain();
        waiting = waiting.filter(mayCall);
        await read(count + 1);
        isLeasing ??= sawOtherRun || requestsOf(waiting).size > count;
        const chosen = nextRequests(waiting, count, active);
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
      return new Set([...requestsOf(waiting), ...leftOut.values()]);
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

/**
 * Returns the first requests, each with all its rows that were read, and no more rows than one transaction writes. If
 * not all can be started at once, they are divided between peers.
 */
function nextRequests(rows: readonly DueRow[], count: number, active: ActiveAtPeers): readonly DueRequest[] {
  const requests = [...Map.groupBy(rows, ({ requestId }) => requestId)].map(([requestId, all]) => {
    const ofRequest = all.slice(0, mostRows);
    const [peer, ...others] = new Set(ofRequest.map(each => each.peer));
    return { requestId, rows: ofRequest, peer: others.length === 0 ? peer : undefined };
  });
  const isDivided = requests.length > count && new Set(requests.map(({ peer }) => peer)).size > 1;
  const most = isDivided ? Math.max(1, Math.floor(count / 2)) : count;
  const mayStart = requests.filter(({ peer }) => !isDivided || (active.get(peer) ?? 0) < most);
  return firstRequests(mayStart.length > 0 ? mayStart : requests, count, most);
}

function firstRequests(requests: readonly DueRequest[], count: number, mostOfPeer: number): readonly DueRequest[] {
  const chosen: DueRequest[] = [];
  const ofPeers = new Map<string | undefined, number>();
  let length = 0;
  for (const request of requests) {
    const ofPeer = (ofPeers.get(request.peer) ?? 0) + 1;
    if (ofPeer > mostOfPeer) continue;
    length += request.rows.length;
    if (chosen.length === count || length > mostRows) break;
    ofPeers.set(request.peer, ofPeer);
    chosen.push(request);
  }
  return chosen;
}
