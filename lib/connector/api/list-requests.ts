import type { Instant } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { isNamed, personList, type RequestList, referenceList, serialList } from "../model/request-lists.ts";
import { isTerminal, type RequestState, requestStates } from "../model/states.ts";
import { type ListPage, readPage } from "./read-page.ts";

/** What a request must match, by the names of the API. Names are compared without regard to letter case. */
interface RequestFilter {
  readonly state?: RequestState | undefined;
  readonly user_id?: string | undefined;
  readonly email?: string | undefined;
  readonly external_id?: string | undefined;
  readonly customer_reference?: string | undefined;
  readonly serial_number?: string | undefined;
  readonly created_after?: Instant | undefined;
}

/**
 * Returns a page of the requests that match every filter, in the order of creation (C19). An archived request matches
 * none.
 * @param range at most `top` requests after the position `after`
 */
export function listRequests(
  filter: RequestFilter,
  { top, after }: { readonly top: number; readonly after?: string | undefined },
  deps: ConnectorDeps,
): Promise<ListPage<LoadedRequest>> {
  const named = nameListOf(filter);
  const source = {
    lists: named === undefined ? stateListsOf(filter) : [[named]],
    isExact: named === undefined,
    entriesOf: (loaded: LoadedRequest) => (matches(loaded, filter) ? [loaded] : []),
  };
  return readPage(source, { top, after: latest(after, filter.created_after) }, deps);
}

const latest = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && b > a) ? b : a;

const matches = (
  { request: { state, recipient, shipment, isArchived }, keys }: LoadedRequest,
  filter: RequestFilter,
): boolean =>
  isArchived !== true &&
  isNamed(filter.state, state) &&
  isNamed(filter.email, recipient.email) &&
  isNamed(filter.external_id, recipient.externalId) &&
  isNamed(filter.customer_reference, shipment?.customerReference) &&
  isNamed(filter.serial_number, ...keys.map(({ serial }) => serial)) &&
  isNamed(filter.user_id, ...keys.flatMap(({ credentials }) => credentials.map(({ userId }) => userId)));

/** Returns the list of the name in a filter that the fewest requests have; undefined for a filter without a name. */
function nameListOf(filter: RequestFilter): RequestList | undefined {
  if (filter.serial_number !== undefined) return serialList(filter.serial_number);
  if (filter.customer_reference !== undefined) return referenceList(filter.customer_reference);
  const person = filter.user_id ?? filter.external_id ?? filter.email;
  return person === undefined ? undefined : personList(person);
}

/** The lists in the order of the states: a request enters its new list before it leaves the old one. */
const stateListsOf = ({ state }: RequestFilter): readonly (readonly RequestList[])[] =>
  state !== undefined
    ? [[{ state }]]
    : [
        [{ state: "received" }],
        [{ state: "started" }],
        requestStates.filter(isTerminal).map(ended => ({ state: ended })),
      ];
