import { useState } from "preact/hooks";
import type { RegisteredKey } from "../../../../docs/openapi/connector.ts";
import { callHost, segment } from "../calls.ts";
import { Button } from "../forms/button.ts";
import { Field } from "../forms/field.ts";
import { Form } from "../forms/form.ts";
import type { ViewProps } from "../model.ts";
import { Served } from "../outcomes/served.ts";
import { shownOutcome } from "../outcomes/shown-outcome.ts";
import { usePages } from "../pages.ts";
import { Card, code, html, Page, Table, time } from "../ui.ts";
import { CredentialState, isRevocable, NotRegistered } from "./keys.ts";

/** A filter by state alone reads every key. */
const everyMs = 10_000;

/** The register of security keys. */
export function SecurityKeys({ facts, choices }: ViewProps) {
  const [query, setQuery] = useState("");
  const { live, pager } = usePages<RegisteredKey>("/v2/security-keys", query, everyMs);
  const filter = async (filters: Record<string, string>) => {
    setQuery(String(new URLSearchParams(filters)));
    return undefined;
  };
  return html`<${Page} title="Security keys" lead="The credentials on all keys, also of requests that the clean-up has deleted.">
    <${Served} isServed=${facts.apis.connector} name="connector">
      <${Card} title="Filter">
        <${Form} label="Apply" send=${filter}>
          <div class="grid">
            <${Field} name="serial_number" label="Serial number" />
            <${Field} name="user_id" label="User" hint="The whole name." />
            <${Field} name="state" label="State" options=${[["", "any"], ...choices.registerStates]} />
            <${Field} name="aaguid" label="Model, by its AAGUID" />
          </div>
        <//>
      <//>
      <${Card} title="Keys, those of the oldest request first">
        ${shownOutcome(
          live,
          keys => html`<${Table} caption="Security keys" columns=${["Key", "User", "State", "Times", ""]}
            rows=${keys.map(rowOf)} empty=${query ? "No key on this page matches the filter." : "There is no key."} />`,
        )}
        ${pager}
      <//>
    <//>
  <//>`;
}

const rowOf = (key: RegisteredKey): readonly unknown[] => {
  const request = segment(key.credential_request_id);
  const path = `/v2/credential-requests/${request}/security-keys/${segment(key.key_id)}`;
  return [
    html`<a class="strong" href=${`#/request/${request}`}>${key.serial_number ?? "no serial number yet"}</a><div class="small">${code(key.aaguid)}</div>`,
    html`${key.user_id}<div class="small">${key.idp_id}</div>`,
    html`<${CredentialState} ...${key} />`,
    html`${timesOf(key).map(([name, at]) => html`<div class="small">${name} ${time(at)}</div>`)}`,
    html`${
      isRevocable(key) &&
      html`<${Button} label="Revoke the key" kind="danger" needs="connector.support" run=${() => callHost("POST", `${path}/revoke`)} confirm=${{
        title: `Revoke the key ${key.serial_number ?? ""}?`,
        text: `All its credentials that are or may be active are removed at their identity providers, that of ${key.user_id} among them. They cannot be activated again.`,
        action: "Revoke it",
      }} />`
    } <${NotRegistered} credential=${key} path=${`${path}/credentials/${key.credential}`} />`,
  ];
};

const timesOf = (key: RegisteredKey) =>
  (
    [
      ["ordered", key.ordered_at],
      ["delivered", key.delivered_at],
      ["activated", key.activated_at],
      ["revoked", key.revoked_at],
    ] as const
  ).filter(([, at]) => at !== undefined);
