import { useState } from "preact/hooks";
import type { Credential, ListedCredentialRequest, SecurityKey } from "../../../../docs/openapi/connector.ts";
import { callHost, segment } from "../calls.ts";
import { Button } from "../forms/button.ts";
import { Field } from "../forms/field.ts";
import { Form } from "../forms/form.ts";
import { hasEnded, keysOf, type ViewProps } from "../model.ts";
import { Served } from "../outcomes/served.ts";
import { shownOutcome } from "../outcomes/shown-outcome.ts";
import { usePages } from "../pages.ts";
import { useAllowed } from "../store.ts";
import { Badge, Card, code, counted, html, Page, Table, time } from "../ui.ts";

const everyMs = 10_000;

/** The requests, in the order and by the filters of the API. The argument of the view is a state. */
export function Requests({ argument, choices, facts }: ViewProps) {
  const [query, setQuery] = useState(argument && `state=${argument}`);
  const { live, pager } = usePages<ListedCredentialRequest>("/v2/credential-requests", query, everyMs);
  const find = async ({ created_after, ...filters }: Record<string, string>) => {
    const found = new URLSearchParams(filters);
    if (created_after !== undefined) found.set("created_after", new Date(created_after).toISOString());
    setQuery(String(found));
    return undefined;
  };
  return html`<${Page} title="Requests" actions=${html`<${JobButtons} /><${OrderLink} />`}>
    <${Served} isServed=${facts.apis.connector} name="connector">
      <${Card} title="Find requests">
        <${Form} label="Find" send=${find}>
          <div class="grid">
            <${Field} name="state" label="State" options=${[["", "any"], ...choices.requestStates]} value=${argument} />
            <${Field} name="customer_reference" label="Your reference" hint="Such as the number of a ticket." />
            <${Field} name="user_id" label="User" hint="The whole name." />
            <${Field} name="email" label="Email of the recipient" />
            <${Field} name="external_id" label="External id" />
            <${Field} name="serial_number" label="Serial number of a key" />
            <${Field} name="created_after" label="Created after" type="datetime-local" />
          </div>
        <//>
      <//>
      <${Card} title="Requests, the oldest first">
        ${shownOutcome(
          live,
          requests => html`<${Table} caption="Credential requests" columns=${["For", "State", "Keys", "Created", "What it waits for"]}
            rows=${requests.map(rowOf)} empty=${query ? "No request on this page matches the filter." : html`There is no request yet. <${OrderLink} />`} />`,
        )}
        ${pager}
      <//>
    <//>
  <//>`;
}

const rowOf = (request: ListedCredentialRequest): readonly unknown[] => [
  html`<a class="strong" href=${`#/request/${segment(request.credential_request_id)}`}>${usersOf(request).join(", ") || "no user"}</a><div class="small">${code(request.credential_request_id)} ${request.shipment?.customer_reference}</div>`,
  html`<${Badge} state=${request.state} />`,
  keyCounts(request),
  time(request.created_at),
  reasonOf(request),
];

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
