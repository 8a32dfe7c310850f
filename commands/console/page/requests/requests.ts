import { useEffect, useState } from "preact/hooks";
import type { Credential, ListedCredentialRequest, SecurityKey } from "../../../../docs/openapi/connector.ts";
import { ask, callHost, type Outcome, readHost, segment } from "../calls.ts";
import { Button } from "../forms/button.ts";
import { Field } from "../forms/field.ts";
import { Form } from "../forms/form.ts";
import { hasEnded, keysOf, type ViewProps } from "../model.ts";
import { refusalOf } from "../outcomes/refusal.ts";
import { Served } from "../outcomes/served.ts";
import { useAllowed } from "../store.ts";
import { Badge, Card, code, counted, html, Page, shownLive, Table, time, useLive } from "../ui.ts";

/** The order of the API is from the oldest to the newest; the console's server turns its pages. */
export interface RequestPage {
  readonly total: number;
  readonly byState: Readonly<Record<string, number>>;
  readonly requests: readonly ListedCredentialRequest[];
}

const pageSize = 50;

export function Requests({ argument, choices, facts }: ViewProps) {
  const state = argument;
  return html`<${Page} title="Requests" actions=${html`<${JobButtons} /><${OrderLink} />`}>
    <${Served} isServed=${facts.apis.connector} name="connector">
      ${facts.isSimulated && html`<${AllRequests} state=${state} choices=${choices} />`}
      <${FindRequests} states=${choices.requestStates} isOpen=${!facts.isSimulated} first=${state} />
    <//>
  <//>`;
}

/** All requests of the local system, the newest first. */
function AllRequests({ state, choices }: { state: string; choices: ViewProps["choices"] }) {
  const [page, setPage] = useState(0);
  const live = useLive(
    signal => ask<RequestPage>("GET", `requests?${new URLSearchParams({ state, page: String(page) })}`, { signal }),
    [state, page],
    3000,
  );
  return html`<${Card} title=${state ? `Requests in state ${state}, the newest first` : "All requests, the newest first"}>
        <nav class="tabs" aria-label="States">
          ${["", ...choices.requestStates].map(
            each => html`<a href=${`#/requests/${each}`} aria-current=${each === state ? "page" : undefined} onClick=${() => setPage(0)}>
              ${each || "all"}${each !== "" && live.data && html` <span class="count">${live.data.byState[each]}</span>`}
            </a>`,
          )}
        </nav>
        ${shownLive(
          live,
          ({ total, requests }) => html`
            <${RequestTable} caption="Credential requests" requests=${requests} empty=${
              state ? `No request is ${state}.` : html`There is no request yet. <a href="#/order">Order a key</a>.`
            } />
            ${
              total > 0 &&
              html`<div class="pager">
              <span>${page * pageSize + 1} to ${page * pageSize + requests.length} of ${total}</span>
              ${page > 0 && html`<${Button} label="Newer" run=${async () => setPage(page - 1)} />`}
              ${(page + 1) * pageSize < total && html`<${Button} label="Older" run=${async () => setPage(page + 1)} />`}
            </div>`
            }
          `,
        )}
      <//>`;
}

/** Finds requests by the API's own filters, page by page. */
function FindRequests({ states, isOpen, first }: { states: readonly string[]; isOpen: boolean; first: string }) {
  const [found, setFound] = useState<
    { requests: readonly ListedCredentialRequest[]; next?: string | undefined } | string
  >();
  const show = async (path: string) => {
    const outcome = await readHost<readonly ListedCredentialRequest[]>(path);
    if (outcome.status !== 200) {
      setFound(refusalOf(outcome));
      return outcome;
    }
    setFound({ requests: outcome.body, next: nextPage(outcome) });
    return outcome;
  };
  useEffect(() => {
    if (isOpen)
      void show(
        `/v2/credential-requests?${new URLSearchParams({ ...(first && { state: first }), $top: String(pageSize) })}`,
      );
  }, []);
  return html`<details class="card" open=${isOpen}>
    <summary>Find requests</summary>
    <${Form} label="Find" send=${({ created_after, ...filters }: Record<string, string>) => {
      const query = new URLSearchParams({ ...filters, $top: String(pageSize) });
      if (created_after !== undefined) query.set("created_after", new Date(created_after).toISOString());
      return show(`/v2/credential-requests?${query}`);
    }}>
      <div class="grid">
        <${Field} name="state" label="State" options=${[["", "any"], ...states]} value=${first} />
        <${Field} name="customer_reference" label="Your reference" hint="Such as the number of a ticket." />
        <${Field} name="user_id" label="User" hint="The whole name." />
        <${Field} name="email" label="Email of the recipient" />
        <${Field} name="external_id" label="External id" />
        <${Field} name="serial_number" label="Serial number of a key" />
        <${Field} name="created_after" label="Created after" type="datetime-local" />
      </div>
    <//>
    <div aria-live="polite">
      ${typeof found === "string" && html`<p class="problem">${found}</p>`}
      ${
        typeof found === "object" &&
        html`<${RequestTable} caption="Requests that were found, the oldest first" requests=${found.requests} empty="No request was found on this page." />
        ${found.next && html`<${Button} label="Next page" run=${() => show(found.next ?? "")} />`}`
      }
    </div>
  </details>`;
}

/** Returns the path of the next page. Its address can have a prefix that the paths of the console do not have. */
function nextPage({ headers }: Outcome): string | undefined {
  const [, next] = /^<([^>]+)>; rel="next"$/.exec(headers.link ?? "") ?? [];
  return next && `/v2/credential-requests${new URL(next).search}`;
}

interface RequestTableProps {
  readonly caption: string;
  readonly requests: readonly ListedCredentialRequest[];
  readonly empty: unknown;
}

const RequestTable = ({ caption, requests, empty }: RequestTableProps) =>
  html`<${Table}
    caption=${caption}
    columns=${["For", "State", "Keys", "Created", "What it waits for"]}
    rows=${requests.map(request => [
      html`<a class="strong" href=${`#/request/${segment(request.credential_request_id)}`}>${usersOf(request).join(", ") || "no user"}</a><div class="small">${code(request.credential_request_id)} ${request.shipment?.customer_reference}</div>`,
      html`<${Badge} state=${request.state} />`,
      keyCounts(request),
      time(request.created_at),
      reasonOf(request),
    ])}
    empty=${empty}
  />`;

export const usersOf = (request: ListedCredentialRequest): readonly string[] => [
  ...new Set(keysOf(request).flatMap(({ credentials }) => credentials.map(({ user_id }) => user_id))),
];

const keyCounts = ({ shipment, authenticators = [] }: ListedCredentialRequest): string =>
  [
    shipment && `${shipment.shipment_items.length} shipped`,
    authenticators.length > 0 && `${authenticators.length} on site`,
  ]
    .filter(Boolean)
    .join(", ");

/** Says what an open request waits for, and why one ended otherwise than it should. */
export function reasonOf(request: ListedCredentialRequest): string {
  if (request.error_message) return request.error_message;
  if (hasEnded(request)) return "";
  const count = (keys: readonly SecurityKey[] = [], state: Credential["state"]) =>
    keys.filter(({ credentials }) => credentials.some(credential => credential.state === state)).length;
  const made = count(keysOf(request), "activation_pending");
  const shipped = count(request.shipment?.shipment_items, "processing");
  const onSite = count(request.authenticators, "processing");
  return [
    shipped > 0 && `${counted(shipped, "key")} to be shipped`,
    onSite > 0 && `${counted(onSite, "key")} to be enrolled on site`,
    made > 0 && `${counted(made, "key")} to be activated`,
  ]
    .filter(Boolean)
    .join(", ");
}

export const processShipments = () => callHost("GET", "/v2/operations/process-shipments");
export const processRequests = () => callHost("POST", "/v2/operations/process-credential-requests");

/** Leads to the order of a key, if the operator may order. */
export function OrderLink() {
  return useAllowed("connector.call") ? html`<a class="button main" href="#/order">Order a key</a>` : undefined;
}

/** The two jobs on demand. */
export const JobButtons = () => html`<div class="buttons" role="group" aria-label="Jobs">
  <${Button} label="Process shipments" needs="connector.call" run=${processShipments} />
  <${Button} label="Process credential requests" needs="connector.call" run=${processRequests} />
</div>`;
