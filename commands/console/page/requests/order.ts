import { useRef, useState } from "preact/hooks";
import type { ListedCredentialRequest } from "../../../../docs/openapi/connector.ts";
import type { UserSummary } from "../../../../docs/openapi/core.ts";
import { ask, callHost, isSuccess, readHost } from "../calls.ts";
import { DropFile } from "../forms/drop-file.ts";
import { binder, Field } from "../forms/field.ts";
import { Form } from "../forms/form.ts";
import { idpIds } from "../idp-ids.ts";
import type { ViewProps } from "../model.ts";
import { Served } from "../outcomes/served.ts";
import { Card, html, Page, shownLive, useLive } from "../ui.ts";
import { AddButtons, type Draft, KeyCards, type OrderForm } from "./order-keys.ts";
import { usersOf } from "./requests.ts";

export function Order({ facts, choices }: ViewProps) {
  const known = useLive(
    async () => ({
      sample: await ask<Draft>("GET", "sample"),
      idps: await idpIds(),
      users: facts.isSimulated ? await knownUsers() : [],
    }),
    [],
    600_000,
  );
  return html`<${Page} title="Order" lead="A valid order to begin with. The fields and the JSON follow each other; the JSON is what is sent.">
    <${Served} isServed=${facts.apis.connector} name="connector">
      ${shownLive(known, ({ sample, idps, users }) => html`<${OrderFields} sample=${sample} idps=${idps} users=${users} choices=${choices} />`)}
    <//>
  <//>`;
}

/** Returns users of requests and of the authentication server. */
async function knownUsers(): Promise<readonly string[]> {
  const [requests, users] = await Promise.all([
    readHost<readonly ListedCredentialRequest[]>("/v2/credential-requests?%24top=100"),
    readHost<readonly UserSummary[]>("/core/users?%24top=100"),
  ]);
  const names = Array.isArray(users.body) ? users.body.map(({ name }) => name) : [];
  return [...new Set([...(Array.isArray(requests.body) ? requests.body.flatMap(usersOf) : []), ...names])];
}

function OrderFields({
  sample,
  ...known
}: {
  sample: Draft;
  idps: readonly string[];
  users: readonly string[];
  choices: ViewProps["choices"];
}) {
  const [text, setText] = useState(() => JSON.stringify(sample, undefined, 2));
  const body = parsed(text);
  const form: OrderForm = { ...known, draft: body ?? {}, changed: () => setText(JSON.stringify(body, undefined, 2)) };
  const sent = useRef({ text: "", key: "" });
  const send = async () => {
    // The same order again after a lost response is not a second order.
    if (sent.current.text !== text) sent.current = { text, key: crypto.randomUUID() };
    const outcome = await callHost<{ data: { credential_request_id: string } }>("POST", "/v2/credential-requests", {
      body: text,
      headers: { "idempotency-key": sent.current.key },
    });
    if (isSuccess(outcome)) location.hash = `#/request/${encodeURIComponent(outcome.body.data.credential_request_id)}`;
    return outcome;
  };
  return html`<${Form} className="order" label="Send the order" needs="connector.call" send=${send} actions=${body === undefined && html`<span class="field-problem">The JSON cannot be parsed.</span>`}>
    ${drawn(form)}
    <details class="card">
      <summary>The JSON that is sent</summary>
      <${DropFile} label="Drop a JSON file here" hint="or choose one; it takes the place of this order." take=${async (_: string, dropped: string) => setText(dropped)} />
      <${Field} type="textarea" label="Body of the call" rows="24" value=${text} onValue=${setText} hint="Any text can be sent, also an invalid order." />
    </details>
  <//>`;
}

function parsed(text: string): Draft | undefined {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function drawn(form: OrderForm) {
  try {
    return html`<div class="columns">${recipientFields(form)}${addressFields(form)}</div>
      ${KeyCards(form, form.draft.shipment, "shipment_items", "Shipped key")}
      ${KeyCards(form, form.draft, "authenticators", "On-site authenticator")}
      <${AddButtons} ...${form} />`;
  } catch {
    return html`<p class="notice">The fields cannot show this JSON. Edit it below.</p>`;
  }
}

const recipientFields = ({ draft, users, changed }: OrderForm) => {
  const { recipient, enrollment_contacts } = draft;
  const bound = binder(recipient, "recipient", changed);
  return html`<${Card} title="Recipient">
    ${bound("first_name", "First name")}
    ${bound("last_name", "Last name")}
    ${bound("company", "Company", { isOptional: true })}
    ${bound("email", "Email", { hint: "Delivery notices go here.", suggestions: users })}
    ${bound("telephone", "Telephone")}
    <${Field} label="PIN emails go to" path="enrollment_contacts.emails_to" hint="Several addresses are separated by commas."
      value=${enrollment_contacts.emails_to.join(", ")}
      onValue=${(value: string) => {
        enrollment_contacts.emails_to = value.split(",").map(each => each.trim());
        changed();
      }} />
  <//>`;
};

const addressFields = ({ draft: { shipment }, choices, changed }: OrderForm) => {
  if (shipment === undefined) return undefined;
  const bound = binder(shipment.mailing_address, "shipment.mailing_address", changed);
  return html`<${Card} title="Address">
    ${bound("street_line1", "Street")}
    ${bound("street_line2", "Street, second line", { isOptional: true })}
    ${bound("postal_code", "Postal code")}
    ${bound("city", "City")}
    ${bound("region", "Region", { isOptional: true, hint: "Two letters; required in the US and Canada." })}
    ${bound("country_code", "Country", { suggestions: choices.countries, hint: "Two letters." })}
    ${binder(shipment, "shipment", changed)("customer_reference", "Your reference", { isOptional: true })}
  <//>`;
};
