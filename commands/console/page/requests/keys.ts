import type { Credential, CredentialRequest, SecurityKey } from "../../../../docs/openapi/connector.ts";
import { callHost, segment } from "../calls.ts";
import { Button } from "../forms/button.ts";
import { Badge, Card, code, html, time } from "../ui.ts";

/** The keys of a request with their credentials. @param path of the request in the API */
export function Keys({ request, path }: { request: CredentialRequest; path: string }) {
  const sections = [
    { provisioning: "shipped", keys: request.shipment?.shipment_items ?? [] },
    { provisioning: "on site", keys: request.authenticators ?? [] },
  ];
  return html`<div>
    ${sections.flatMap(({ provisioning, keys }) => keys.map(key => html`<${KeyCard} key=${key.id} item=${key} provisioning=${provisioning} path=${`${path}/security-keys/${segment(key.id)}`} />`))}
  </div>`;
}

interface KeyCardProps {
  readonly item: SecurityKey;
  readonly provisioning: string;
  readonly path: string;
}

function KeyCard({ item, provisioning, path }: KeyCardProps) {
  const { id, name, state, credentials, serial_number, replaced_by: by } = item;
  const hint = html`${code(id)} · ${provisioning}${serial_number && ` · serial ${serial_number}`}${by && html` · <a href=${`#/request/${segment(by)}`}>replaced by a new key</a>`}`;
  const active = credentials.filter(isRevocable).length;
  return html`<${Card} className="key" title=${html`${name} <${Badge} state=${state} />`} hint=${hint}>
    <ol class="credentials" aria-label=${`Credentials of ${name}`}>
      ${credentials.map((each, at) => html`<${CredentialItem} credential=${each} path=${`${path}/credentials/${at + 1}`} />`)}
    </ol>
    ${
      active > 1 &&
      html`<div class="buttons"><${Button} label="Revoke the key" kind="danger" needs="connector.support" run=${() => callHost("POST", `${path}/revoke`)} confirm=${{
        title: `Revoke ${name}?`,
        text: `Its ${active} active credentials are removed at their identity providers. They cannot be activated again.`,
        action: "Revoke the key",
      }} /></div>`
    }
  <//>`;
}

const isRevocable = ({ state }: Credential): boolean => state === "active" || state === "revoke_failed";

function CredentialItem({ credential, path }: { credential: Credential; path: string }) {
  const { user_id, idp_id, relying_party_id, state, retryable_until, error_message, revocation } = credential;
  const problem = revocation?.error_message ?? error_message;
  return html`<li>
    <p>${user_id} <${Badge} state=${state} /></p>
    <p class="hint">
      ${[idp_id, relying_party_id].filter(Boolean).join(", ")}
      ${state === "activation_pending" && retryable_until !== undefined && html` · retried until ${time(retryable_until)}`}
      ${revocation && html` · ${revocation.reason}, ${time(revocation.revoked_at ?? revocation.requested_at)}`}
    </p>
    ${problem !== undefined && html`<p class="problem">${problem}</p>`}
    ${
      isRevocable(credential) &&
      html`<div class="buttons"><${Button} label="Revoke" kind="danger" title=${`Revoke the credential of ${user_id}`} needs="connector.support" run=${() => callHost("POST", `${path}/revoke`)} confirm=${{
        title: "Revoke this credential?",
        text: `It is removed at the identity provider ${idp_id}: ${user_id} can no longer sign in there with this key. It cannot be activated again.`,
        action: "Revoke the credential",
      }} /></div>`
    }
  </li>`;
}
