import type { Instant } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { Due } from "../model/request.ts";
import type { DueEntry } from "../storage/due-index.table.ts";
import { isDue, isPastDeadline, mustDefer, type Run } from "./run.ts";

/** Rows that are read ahead, a page of Table storage. A slow peer delays others only if it has more. */
const pageRows = 1000;

/** Returns the due work of a queue, as one run takes it. */
export function dueQueue(queue: Due["queue"], run: Run, until: Instant | undefined, deps: ConnectorDeps) {
  const unread = deps.requests.due(queue, until)[Symbol.asyncIterator]();
  let isAtEnd = false;
  /** In order of time: read, and not taken. */
  let waiting: DueEntry[] = [];
  /** The names of the rows that were taken: an on-demand run finds their next work, too. */
  const taken = new Set<string>();
  /** The ids of requests with a row whose peer must not be called. */
  const deferred = new Set<string>();

  const mayCall = ({ peer, requestId }: DueEntry): boolean => {
    if (peer === undefined || !mustDefer(peer, run, deps)) return true;
    deferred.add(requestId);
    return false;
  };
  /** Reads until so many rows wait, if there are as many. */
  const read = async (count: number): Promise<void> => {
    waiting = waiting.filter(mayCall);
    while (!isAtEnd && waiting.length < count) {
      const { value: row, done } = await unread.next();
      if (done === true) isAtEnd = true;
      else if (isDue(row, run, deps.now()) && !taken.has(nameOf(row)) && mayCall(row)) waiting.push(row);
    }
  };

  return {
    /**
     * Takes the oldest requests, at most `free(peer)` for each peer. None if no other request can be taken, or if the
     * time of the run is over. Defers the work of peers that the run must not call.
     */
    async take(free: Free) {
      if (isPastDeadline(run, deps)) return [];
      await read(pageRows);
      const chosen = oldestRequests(waiting, free);
      const rows = new Set(chosen.flatMap(each => each.rows));
      for (const row of rows) taken.add(nameOf(row));
      waiting = waiting.filter(row => !rows.has(row));
      return chosen;
    },

    /** Returns the ids of the requests that have rows that were not taken. */
    async rest(): Promise<ReadonlySet<string>> {
      await read(Number.POSITIVE_INFINITY);
      return new Set([...waiting.map(({ requestId }) => requestId), ...deferred]);
    },
  };
}

const nameOf = ({ requestId, keyId = "" }: DueEntry): string => `${requestId} ${keyId}`;

/** Returns how many requests a run can start that call only this peer; for undefined, that call several. */
type Free = (peer: string | undefined) => number;

/** Returns the first requests, each with all its rows for one worker, and the only peer that they call. */
function oldestRequests(rows: readonly DueEntry[], free: Free) {
  const chosen: {
    readonly requestId: string;
    readonly rows: readonly DueEntry[];
    readonly peer: string | undefined;
  }[] = [];
  const ofPeers = new Map<string | undefined, number>();
  for (const [requestId, ofRequest] of Map.groupBy(rows, row => row.requestId)) {
    const [first, ...others] = new Set(ofRequest.map(row => row.peer));
    const peer = others.length === 0 ? first : undefined;
    const ofPeer = ofPeers.get(peer) ?? 0;
    if (ofPeer >= free(peer)) continue;
    ofPeers.set(peer, ofPeer + 1);
    chosen.push({ requestId, rows: ofRequest, peer });
  }
  return chosen;
}
