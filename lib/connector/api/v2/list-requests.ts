import pLimit from "p-limit";
import { isUnavailable } from "../../../platform/fault.ts";
import { withLogFields } from "../../../platform/log.ts";
import type { Instant } from "../../../platform/time.ts";
import type { ConnectorDeps } from "../../deps.ts";
import { type LoadedRequest, securityKeysOf } from "../../model/loaded-request.ts";
import {
  foldName,
  personList,
  type RequestList,
  referenceList,
  serialList,
  sortKeyOf,
} from "../../model/request-lists.ts";
import { isTerminal, type RequestState, requestStates } from "../../model/states.ts";
import { isStaleRow } from "../../runs/stale-row.ts";
import type { ListedEntry } from "../../storage/lists.table.ts";

/** What a request must match. Names are compared without regard to letter case. */
export interface RequestFilter {
  readonly state?: RequestState | undefined;
  readonly userId?: string | undefined;
  readonly email?: string | undefined;
  readonly externalId?: string | undefined;
  readonly customerReference?: string | undefined;
  readonly serial?: string | undefined;
  readonly createdAfter?: Instant | undefined;
}

export interface RequestPage {
  readonly requests: readonly LoadedRequest[];
  /** The position after which the next page starts; absent on the last page. A page may be short or empty although more follow. */
  readonly next?: string;
}

/** The maximum number of requests that are read for a page if few match the filters, so that its cost does not grow with history. */
const maxRequestsRead = 200;

/**
 * Returns a page of the requests that match every filter, in the order of creation (C19). Reads the requests of the page, and at most
 * 200 in total if the lists do not say which ones match.
 * @param range at most `top` requests after the position `after`
 */
export async function listRequests(
  filter: RequestFilter,
  { top, after }: { readonly top: number; readonly after?: string | undefined },
  deps: ConnectorDeps,
): Promise<RequestPage> {
  const requests: LoadedRequest[] = [];
  let position = latest(after, filter.createdAfter);
  for (let left = Math.max(top, maxRequestsRead); left > 0; ) {
    const missing = top - requests.length;
    const size = Math.min(left, nameListOf(filter) === undefined ? missing : Math.max(missing, minRequestsRead));
    const { candidates, isLast } = await nextCandidates(filter, { after: position, top: size }, deps);
    for (const { at, loaded } of await loadAll(candidates, deps)) {
      if (requests.length === top) return { requests, ...(position !== undefined && { next: position }) };
      if (loaded !== undefined && matches(loaded, filter)) requests.push(loaded);
      position = at;
    }
    if (isLast) return { requests };
    if (requests.length === top) break;
    left -= candidates.length;
  }
  return { requests, ...(position !== undefined && { next: position }) };
}

/** The minimum number of requests that are read at once if most of them probably do not match. */
const minRequestsRead = 50;

const latest = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && b > a) ? b : a;

function matches(loaded: LoadedRequest, filter: RequestFilter): boolean {
  const { state, recipient, shipment } = loaded.request.value;
  const keys = securityKeysOf(loaded);
  const has = (wanted: string | undefined, ...values: readonly (string | undefined)[]) =>
    wanted === undefined || values.some(value => value !== undefined && foldName(value) === foldName(wanted));
  return (
    (filter.state === undefined || filter.state === state) &&
    has(filter.email, recipient.email) &&
    has(filter.externalId, recipient.externalId) &&
    has(filter.customerReference, shipment?.customerReference) &&
    has(filter.serial, ...keys.map(({ serial }) => serial)) &&
    has(filter.userId, ...keys.flatMap(({ credentials }) => credentials.map(({ userId }) => userId)))
  );
}

/** Returns the list of the name in a filter that the fewest requests have; undefined for a filter without a name. */
function nameListOf({ serial, customerReference, userId, externalId, email }: RequestFilter): RequestList | undefined {
  if (serial !== undefined) return serialList(serial);
  if (customerReference !== undefined) return referenceList(customerReference);
  const person = userId ?? externalId ?? email;
  return person === undefined ? undefined : personList(person);
}

interface Candidate {
  readonly at: string;
  readonly requestId: string;
  readonly rows: readonly ListedEntry[];
}

/**
 * Returns the next candidates. A request whose state changes enters its new list before it leaves the old one, so the lists are read in
 * the order of the states and no request is missed.
 */
async function nextCandidates(
  filter: RequestFilter,
  range: { readonly after: string | undefined; readonly top: number },
  { requests }: ConnectorDeps,
): Promise<{ readonly candidates: readonly Candidate[]; readonly isLast: boolean }> {
  const rows: ListedEntry[] = [];
  const named = nameListOf(filter);
  const read = async (list: RequestList) => {
    for (const entry of await requests.entries(list, { ...range, top: range.top + 1 })) rows.push({ ...entry, list });
  };
  if (named !== undefined) await read(named);
  else if (filter.state !== undefined) await read({ state: filter.state });
  else {
    await read({ state: "received" });
    await read({ state: "started" });
    await Promise.all(requestStates.filter(isTerminal).map(ended => read({ state: ended })));
  }
  const byPosition = [...Map.groupBy(rows, sortKeyOf)].sort(([a], [b]) => (a < b ? -1 : 1));
  const candidates = byPosition
    .slice(0, range.top)
    .map(([at, of]) => ({ at, requestId: of[0]?.requestId ?? "", rows: of }));
  return { candidates, isLast: byPosition.length <= range.top };
}

function loadAll(candidates: readonly Candidate[], deps: ConnectorDeps) {
  const limit = pLimit(deps.concurrency);
  return Promise.all(
    candidates.map(({ at, requestId, rows }) =>
      limit(() =>
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
      ),
    ),
  );
}

/** Removes a stale entry of a list to which the request does not belong (C15). */
async function removeIfStale(row: ListedEntry, loaded: LoadedRequest | undefined, deps: ConnectorDeps): Promise<void> {
  const isInList = loaded !== undefined && (!("state" in row.list) || row.list.state === loaded.request.value.state);
  if (!isInList && isStaleRow(row, loaded === undefined, deps)) await deps.requests.removeStale(row, loaded);
}
