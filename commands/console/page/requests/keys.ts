import type { Credential, CredentialRequest, RegisteredKey, SecurityKey } from "../../../../docs/openapi/connector.ts";
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
        text: `Its ${active} credentials that are or may be active are removed at their identity providers. They cannot be activated again.`,
        action: "Revoke the key",
      }} /></div>`
    }
  <//>`;
}

type Removable = Pick<Credential | RegisteredKey, "state" | "may_be_registered" | "user_id" | "idp_id">;

/** Whether a call removes the credential at its identity provider: it is active there, or may be. */
export const isRevocable = ({ state, may_be_registered }: Removable): boolean =>
  state === "active" || state === "revoke_failed" || (may_be_registered === true && state !== "revoking");

/** The state of a credential, and whether it may be registered nevertheless. */
export const CredentialState = ({ state, may_be_registered }: Removable) =>
  html`<${Badge} state=${state} />${may_be_registered && html` <${Badge} state="may be registered" />`}`;

/** Whether a person can end the doubt or the revocation of a credential. */
const isUnsettled = ({ state, may_be_registered }: Removable): boolean =>
  may_be_registered === true || state === "revoking" || state === "revoke_failed";

/** Ends the doubt or the revocation of a credential that a person has looked for. @param path of the credential in the API */
export const NotRegistered = ({ credential, path }: { credential: Removable; path: string }) => {
  const { user_id, idp_id } = credential;
  if (!isUnsettled(credential)) return undefined;
  const run = () => callHost("POST", `${path}/revoke`, { body: { not_registered: true } });
  return html`<${Button} label="Not registered" kind="danger" title=${`The credential of ${user_id} is not registered`} needs="connector.support" run=${run} confirm=${{
    title: "Is the credential not registered?",
    text: `Confirm only if you have looked at the identity provider ${idp_id}: ${user_id} does not have this key there, or you have removed it. The identity provider is not called. The credential becomes revoked.`,
    action: "It is not registered",
  }} />`;
};

function CredentialItem({ credential, path }: { credential: Credential; path: string }) {
  const { user_id, idp_id, relying_party_id, state, retryable_until, error_message, revocation } = credential;
  const problem = revocation?.error_message ?? error_message;
  return html`<li>
    <p>${user_id} <${CredentialState} ...${credential} /></p>
    <p class="hint">
      ${[idp_id, relying_party_id].filter(Boolean).join(", ")}
      ${state === "activation_pending" && retryable_until !== undefined && html` · retried until ${time(retryable_until)}`}
      ${revocation && html` · ${revocation.reason}, ${time(revocation.revoked_at ?? revocation.requested_at)}`}
    </p>
    ${problem !== undefined && html`<p class="problem">${problem}</p>`}
    ${
      (isRevocable(credential) || isUnsettled(credential)) &&
      html`<div class="buttons">
        ${
          isRevocable(credential) &&
          html`<${Button} label="Revoke" kind="danger" title=${`Revoke the credential of ${user_id}`} needs="connector.support" run=${() => callHost("POST", `${path}/revoke`)} confirm=${{
            title: "Revoke this credential?",
            text: `It is removed at the identity provider ${idp_id}: ${user_id} can no longer sign in there with this key. It cannot be activated again.`,
            action: "Revoke the credential",
          }} />`
        }
        <${NotRegistered} credential=${credential} path=${path} />
      </div>`
    }
  </li>`;
}
