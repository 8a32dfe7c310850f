import pLimit from "p-limit";
import { isUnavailable } from "../../platform/fault.ts";
import { withLogFields } from "../../platform/log.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { isSameList, listsOf, type RequestList, sortKeyOf } from "../model/request-lists.ts";
import { canRemoveIndexRow } from "../runs/run.ts";
import type { ListedEntry } from "../storage/lists.table.ts";

export interface ListPage<T> {
  readonly entries: readonly T[];
  /** The position after which the next page starts; absent on the last page. Earlier pages may be short or empty. */
  readonly next?: string;
}

/** The requests of which a page is made. */
interface Source<T> {
  /** The lists of the requests, which are read in this order: those of one element at once. */
  readonly lists: readonly (readonly RequestList[])[];
  /** Whether every request of the lists has an entry. */
  readonly isExact: boolean;
  /** Returns the entries of a request. Those of one request are on one page. */
  readonly entriesOf: (loaded: LoadedRequest) => readonly T[];
}

/** The maximum number of requests that are read for a page if few of them match the filters. */
const maxRequestsRead = 200;

/** The minimum number of requests that are read at once if most of them probably do not match. */
const minRequestsRead = 50;

/**
 * Returns a page of entries in the order of the creation of their requests. Reads the requests of the page, and at most
 * 200 in total if the lists do not say which ones match.
 * @param range at most `top` entries after the position `after`; more only if one request has more
 */
export async function readPage<T>(
  source: Source<T>,
  { top, after }: { readonly top: number; readonly after?: string | undefined },
  deps: ConnectorDeps,
): Promise<ListPage<T>> {
  const entries: T[] = [];
  let position = after;
  const upToHere = () => ({ entries, ...(position !== undefined && { next: position }) });
  for (let left = Math.max(top, maxRequestsRead); left > 0; ) {
    const missing = top - entries.length;
    const size = Math.min(left, source.isExact ? missing : Math.max(missing, minRequestsRead));
    const { candidates, isLast } = await nextCandidates(source.lists, { after: position, top: size }, deps);
    for (const { at, loaded } of await loadAll(candidates, deps)) {
      const found = loaded === undefined ? [] : source.entriesOf(loaded);
      const isFull = entries.length > 0 && entries.length + Math.max(found.length, 1) > top;
      if (isFull) return upToHere();
      entries.push(...found);
      position = at;
    }
    if (isLast) return { entries };
    if (entries.length >= top) break;
    left -= candidates.length;
  }
  return upToHere();
}

interface Candidate {
  readonly at: string;
  readonly requestId: string;
  readonly rows: readonly ListedEntry[];
}

/**
 * Returns the next candidates. A request that enters a list before it leaves another one is not missed if they are read
 * in this order.
 */
async function nextCandidates(
  lists: readonly (readonly RequestList[])[],
  range: { readonly after: string | undefined; readonly top: number },
  { requests }: ConnectorDeps,
): Promise<{ readonly candidates: readonly Candidate[]; readonly isLast: boolean }> {
  const rows: ListedEntry[] = [];
  const read = async (list: RequestList) => {
    for (const entry of await requests.entries(list, { ...range, top: range.top + 1 })) rows.push({ ...entry, list });
  };
  for (const some of lists) await Promise.all(some.map(read));
  const byPosition = [...Map.groupBy(rows, sortKeyOf)].sort(([a], [b]) => (a < b ? -1 : 1));
  const candidates = byPosition
    .slice(0, range.top)
    .map(([at, of]) => ({ at, requestId: of[0]?.requestId ?? "", rows: of }));
  return { candidates, isLast: byPosition.length <= range.top };
}

const loadAll = (candidates: readonly Candidate[], deps: ConnectorDeps) =>
  pLimit(deps.concurrency).map(candidates, ({ at, requestId, rows }) =>
    withLogFields({ credentialRequestId: requestId }, async () => {
      try {
        const loaded = await deps.requests.load(requestId);
        for (const row of rows) await removeIfStale(row, loaded, deps);
        return { at, loaded };
      } catch (error) {
        // A request whose rows cannot be read is left out, so that the others are still listed.
        if (isUnavailable(error)) throw error;
        deps.log.error("row_failed", { error });
        return { at, loaded: undefined };
      }
    }),
  );

/** Removes a stale entry of a list to which the request does not belong (C15). */
async function removeIfStale(row: ListedEntry, loaded: LoadedRequest | undefined, deps: ConnectorDeps): Promise<void> {
  const isInList = loaded !== undefined && listsOf(loaded).some(list => isSameList(list, row.list));
  if (!isInList && canRemoveIndexRow(row, { isOrphan: loaded === undefined }, deps))
    await deps.requests.removeStale(row, loaded);
}
