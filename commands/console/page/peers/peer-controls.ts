import { readPeer, segment, steer } from "../calls.ts";
import { Button } from "../forms/button.ts";
import { Field } from "../forms/field.ts";
import { Form, type Values } from "../forms/form.ts";
import type { Choices, Shipment } from "../model.ts";
import { ShipmentControls, shipmentState } from "../requests/shipment.ts";
import { Card, code, FactList, html, shownLive, Table, time, useLive } from "../ui.ts";

type ControlsProps = { readonly name: string; readonly choices: Choices };

const number = (name: string, label: string, value: number, min = 0) =>
  html`<${Field} name=${name} label=${label} type="number" value=${value} min=${min} required />`;

/** Numbers are sent as such. */
const typed = (values: Values): object =>
  Object.fromEntries(Object.entries(values).map(([name, text]) => [name, /^\d+$/.test(text) ? Number(text) : text]));

type Post = readonly [label: string, path: string, body: object];

/** Buttons that each post a body to a control. */
const Posts = ({ peer, posts }: { peer: string; posts: readonly Post[] }) =>
  html`<div class="buttons">${posts.map(([label, path, body]) => html`<${Button} label=${label} run=${() => steer(peer, "POST", path, body)} />`)}</div>`;

function DeliveryControls({ choices }: ControlsProps) {
  const live = useLive(signal => readPeer<readonly Shipment[]>("delivery", "shipments", signal));
  return html`
    <${Card} title="Shipments, the newest first">
      ${shownLive(live, shipments =>
        shipments.length === 0
          ? html`<p class="empty">No shipments.</p>`
          : shipments
              .slice(-maxShipments)
              .toReversed()
              .map(shipment => html`<${ShipmentItem} key=${shipment.id} shipment=${shipment} choices=${choices} />`),
      )}
    <//>
    <${Card} title="Behaviour">
      <${Form} label="Set" send=${(values: Values) => steer("delivery", "POST", "settings", typed(values))}>
        ${number("shipAfterMs", "Ships by itself after, in milliseconds", 2000)}
      <//>
      <${Posts} peer="delivery" posts=${[
        ["Can be searched", "settings", { search: true }],
        ["Cannot be searched", "settings", { search: false }],
        ["Rotate its keys", "rotate-keys", {}],
        ["Rotate and remove the old keys", "rotate-keys", { forget: true }],
      ]} />
    <//>`;
}

const maxShipments = 50;

const ShipmentItem = ({ shipment, choices }: { shipment: Shipment; choices: Choices }) =>
  html`<section class="item">
    <h3>${code(shipment.id)}</h3>
    <${FactList} rows=${{
      State: shipmentState(shipment.state, choices),
      Reference: code(shipment.customerReference),
      Keys:
        shipment.keys.length === 0
          ? "not programmed yet"
          : html`<ul>${shipment.keys.map(({ serial, pin }) => html`<li>serial ${code(serial)}${pin !== undefined && html` with PIN ${code(pin)}`}</li>`)}</ul>`,
    }} />
    <details><summary>Change it</summary><${ShipmentControls} shipment=${shipment} choices=${choices} /></details>
  </section>`;

const EnrollmentControls = () => html`<${Card} title="Behaviour">
  <${Form} label="Set the token lifetime" send=${(values: Values) => steer("enrollment", "POST", "settings", typed(values))}>
    ${number("expiresIn", "Access token lifetime, in seconds", 900)}
  <//>
  <${Posts} peer="enrollment" posts=${[["Revoke all tokens", "revoke-tokens", {}]]} />
<//>`;

const RfprControls = () => html`<${Card} title="Behaviour">
  <p>What is to be enrolled is listed <a href="#/on-site">on site</a>.</p>
  <${Posts} peer="rfpr" posts=${[
    ["Enroll by itself", "settings", { eager: true }],
    ["Wait for the administrator", "settings", { eager: false }],
  ]} />
<//>`;

interface Registration {
  readonly userId: string;
  readonly credentialId: string;
  readonly displayName: string;
}

/** The settings that only this simulated identity provider has. */
const idpFields: Readonly<Record<string, (choices: Choices) => unknown>> = {
  entra: () => number("grantedMinutes", "Longest challenge, in minutes", 43_200, 5),
  pingone: ({ pingBytes }) => html`${number("maxDevices", "Keys a user may have", 5)}
    <${Field} name="bytes" label="Bytes of creation options are" options=${pingBytes} />`,
  aic: ({ aicForms }) => html`${number("maxDevices", "Keys a user may have", 100)}
    <${Field} name="form" label="The journey returns options as" options=${aicForms} />
    ${number("journeySeconds", "A journey lasts, in seconds", 14 * 86_400, 1)}`,
};

function IdpControls({ name, choices }: ControlsProps) {
  const live = useLive(signal => readPeer<readonly Registration[]>(name, "registrations", signal), [name]);
  const users = [...new Set(["ada@example.com", ...(live.data ?? []).map(({ userId }) => userId)])];
  return html`
    <${Card} title="Registered keys">
      ${shownLive(
        live,
        registrations => html`<${Table} caption="Registered keys" columns=${["User", "Key", "Credential"]}
        rows=${registrations.map(({ userId, displayName, credentialId }) => [userId, displayName, code(credentialId)])}
        empty="No key is registered. Keys are registered when their credentials are activated." />`,
      )}
    <//>
    <${Card} title="Behaviour">
      <${Form} label="Set the account status" send=${({ user = "", accountStatus }: Values) => steer(name, "POST", `users/${encodeURIComponent(user)}`, { accountStatus })}>
        <div class="grid">
          <${Field} name="user" label="User" value="ada@example.com" suggestions=${users} required />
          <${Field} name="accountStatus" label="Account status" options=${choices.accountStatuses} />
        </div>
      <//>
      <${Form} label="Set the tenant" send=${(values: Values) => steer(name, "POST", "settings", typed(values))}>
        <div class="grid">
          ${number("expiresIn", "Access token lifetime, in seconds", 3600)}
          ${idpFields[name]?.(choices)}
        </div>
      <//>
      <${Posts} peer=${name} posts=${[
        ["Expire all challenges", "expire-challenges", {}],
        ["Revoke all tokens", "revoke-tokens", {}],
      ]} />
    <//>`;
}

const IssuerControls = () =>
  html`<${Card} title="Behaviour"><${Posts} peer="issuer" posts=${[["Sign with a new key", "rotate", {}]]} /><//>`;

const MailControls = ({ choices: { mailOutcomes } }: ControlsProps) => html`<${Card} title="Behaviour">
  <p><a href="#/mailbox">The mailbox</a> has what was sent.</p>
  <${Form} label="Set the outcome of the next sends" send=${({ message, ...values }: Record<string, string>) =>
    steer("mail", "POST", "outcomes", { ...typed(values), ...(message && { error: { code: "Simulated", message } }) })}>
    <div class="grid">
      <${Field} name="status" label="Outcome" options=${mailOutcomes} />
      ${number("times", "Times", 1, 1)}
      ${number("runningPolls", "Look-ups that say “Running” first", 1)}
      <${Field} name="message" label="Error message" />
    </div>
  <//>
<//>`;

interface ReceivedEvent {
  readonly at: number;
  readonly body: string;
}

const maxEvents = 100;

function SinkControls() {
  const live = useLive(signal => readPeer<readonly ReceivedEvent[]>("sink", "events", signal));
  return html`<${Card} title="Received events, the newest first">
    ${shownLive(
      live,
      events => html`<${Table} caption="Received events" columns=${["At", "Event", "Request", "Key", "State"]}
      rows=${events.slice(-maxEvents).toReversed().map(receivedRow)}
      empty="No event was received. Events of a request are sent when a job ends, and every minute." />`,
    )}
    <p class="hint">Only signed events are accepted. A fault above, such as a refusal with status 410 or 500, is what the connector gets instead.</p>
    <div class="buttons"><${Button} label="Empty the list" run=${() => steer("sink", "DELETE", "events")} /></div>
  <//>`;
}

function receivedRow({ at, body }: ReceivedEvent) {
  const { type, subject, data } = JSON.parse(body) as { type: string; subject: string; data: Record<string, unknown> };
  return [
    time(at),
    code(type),
    html`<a href=${`#/request/${segment(subject)}`}>${code(subject)}</a>`,
    data.key_id,
    data.state,
  ];
}

const controls: Readonly<Record<string, (props: ControlsProps) => unknown>> = {
  delivery: DeliveryControls,
  enrollment: EnrollmentControls,
  rfpr: RfprControls,
  entra: IdpControls,
  pingone: IdpControls,
  aic: IdpControls,
  issuer: IssuerControls,
  mail: MailControls,
  sink: SinkControls,
};

/** The controls that only this peer has. */
export function PeerControls({ name, choices }: ControlsProps) {
  const Own = controls[name];
  return Own && html`<${Own} name=${name} choices=${choices} />`;
}
