import type { Outcome } from "../../commands/console/calls.ts";
import type { CredentialRequest } from "../../lib/connector/model/request.ts";
import { sortKeyOf } from "../../lib/connector/model/request-lists.ts";
import { type RequestState, requestStates } from "../../lib/connector/model/states.ts";
import { requestLists } from "../../lib/connector/storage/lists.table.ts";
import { requestRows } from "../../lib/connector/storage/request-rows.table.ts";
import { openTables } from "../../lib/platform/azure/tables.ts";
import { createLog } from "../../lib/platform/log.ts";
import { seconds } from "../../lib/platform/time.ts";

/** How many requests there are, and one page of them. */
export interface RequestPage {
  readonly total: number;
  readonly byState: Readonly<Record<RequestState, number>>;
  /** From the newest to the oldest, as the API lists them. */
  readonly requests: readonly unknown[];
}

const pageSize = 50;
const maxEntries = 100_000;
const maxAgeMs = 2000;

/**
 * Lists credential requests from the newest to the oldest. The counts come from the connector's index rows, which are read every two
 * seconds at most; the requests come from the API, whose own order is from the oldest to the newest.
 */
export function createRequestList(connectionString: string, read: (path: string) => Promise<Outcome>) {
  const tables = openTables({ connectionString, timeoutMs: seconds(15) });
  const lists = requestLists(
    tables,
    createLog(() => {}),
  );
  let index: { readonly readAt: number; readonly positions: Promise<readonly (readonly string[])[]> } | undefined;

  const positions = async () => {
    if (index === undefined || index.readAt + maxAgeMs < Date.now()) {
      const reading = Promise.all(
        requestStates.map(async state =>
          (await lists.entries({ state }, { after: undefined, top: maxEntries })).map(sortKeyOf),
        ),
      );
      index = { readAt: Date.now(), positions: reading };
      reading.catch(() => {
        index = undefined;
      });
    }
    return index.positions;
  };

  return {
    /** Returns a stored request, which has the recipient that the API leaves out. */
    async row(id: string): Promise<CredentialRequest | undefined> {
      return (await requestRows(tables).load(id))?.request;
    },
    /** The next call reads the index again. */
    changed(): void {
      index = undefined;
    },
    /** @param page from 0 for the newest */
    async page(state: string | null, page: number): Promise<RequestPage> {
      const all = await positions();
      const byState = Object.fromEntries(requestStates.map((name, at) => [name, all[at]?.length ?? 0]));
      const chosen = requestStates.flatMap((name, at) => (!state || name === state ? (all[at] ?? []) : []));
      const newest = [...new Set(chosen)].sort().reverse();
      const shown = newest.slice(page * pageSize, (page + 1) * pageSize);
      const query = new URLSearchParams({ $top: String(Math.max(1, shown.length)), ...(state && { state }) });
      const before = newest[page * pageSize + shown.length];
      if (before !== undefined) query.set("$skiptoken", before);
      const { status, body } =
        shown.length === 0 ? { status: 200, body: [] } : await read(`/v2/credential-requests?${query}`);
      if (status !== 200 || !Array.isArray(body)) throw new Error(`The list of credential requests answers ${status}.`);
      return { total: newest.length, byState: byState as RequestPage["byState"], requests: body.toReversed() };
    },
  };
}
