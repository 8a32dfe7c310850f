import { useState } from "preact/hooks";
import { isSuccess, readPeer, steer } from "../calls.ts";
import { Button } from "../forms/button.ts";
import { Field } from "../forms/field.ts";
import { Form, type Values } from "../forms/form.ts";
import type { AuthenticatorRequest, Choices, ViewProps } from "../model.ts";
import { Badge, Card, code, FactList, html, Page, shownLive, time, useLive } from "../ui.ts";
import { JobButtons } from "./requests.ts";

/** What an administrator with the agent's app sees on site. */
export function OnSite({ choices }: ViewProps) {
  const live = useLive(signal => readPeer<readonly AuthenticatorRequest[]>("rfpr", "authenticator-requests", signal));
  const actions = html`<${JobButtons} /><a class="button" href="#/peer/rfpr">The pre-registration API</a>
    <a class="button main" href="#/order">Order a key</a>`;
  return html`<${Page} title="On site" lead="What the administrator enrolls with keys at hand." actions=${actions}>
    ${shownLive(live, requests =>
      requests.length === 0
        ? html`<p class="empty">Nothing is to be enrolled. <a href="#/order">Order</a> an on-site authenticator.</p>`
        : requests
            .toReversed()
            .map(each => html`<${Authenticator} key=${each.id} request=${each} choices=${choices} />`),
    )}
  <//>`;
}

interface Enrolled {
  readonly state: string;
  readonly serialNumber?: string;
  readonly errorMessage?: string;
  readonly shownPin?: string;
}

interface AuthenticatorProps {
  readonly request: AuthenticatorRequest;
  readonly choices: Choices;
}

/** An authenticator that is to be enrolled, or was, with the controls of its administrator. */
export function Authenticator({ request, choices }: AuthenticatorProps) {
  const [enrolled, setEnrolled] = useState<Enrolled>();
  const { id, name, recipient, state, credentials } = request;
  const person = [recipient.first_name, recipient.last_name].filter(Boolean).join(" ") || recipient.email;
  return html`<${Card} title=${`${name} for ${person}`}>
    <p class="state-line"><${Badge} state=${state} /> ${request.errorMessage}</p>
    ${
      enrolled &&
      html`<div class="notice" role="status">
      <p><strong>${`${name} is ${enrolled.state}`}</strong></p>
      ${enrolled.serialNumber !== undefined && html`<p>Serial number ${code(enrolled.serialNumber)}</p>`}
      ${enrolled.shownPin !== undefined && html`<p>Its PIN, shown this once: <strong>${code(enrolled.shownPin)}</strong></p>`}
      ${enrolled.errorMessage !== undefined && html`<p>${enrolled.errorMessage}</p>`}
    </div>`
    }
    <${FactList} rows=${{
      Request: code(id),
      Preferred: request.preferred,
      PIN: pinText(request),
      Until: state === "waiting" ? time(request.expiresAt) : undefined,
      "Serial number": code(request.serialNumber),
      Credentials: html`<ol>${credentials.map(
        ({ user, relyingParty, credentialId }) => html`<li>${user} at ${relyingParty} ${code(credentialId)}</li>`,
      )}</ol>`,
    }} />
    ${state === "waiting" && html`<${Waiting} request=${request} choices=${choices} enrolled=${setEnrolled} />`}
    ${
      state === "completed" &&
      html`<div class="controls">
      <${Form} label="Set answers" send=${({ sabotage = null }: Record<string, string | null>) => steer("rfpr", "POST", pathOf(id), { sabotage })}>
        <${Field} name="sabotage" label="Its answers are" options=${[["", "honest"], ...choices.sabotages]} value=${request.sabotage} />
      <//>
    </div>`
    }
  <//>`;
}

const pathOf = (id: string): string => `authenticator-requests/${encodeURIComponent(id)}`;

function Waiting({
  request: { id, preferred, pin },
  choices,
  enrolled,
}: AuthenticatorProps & { enrolled: (by: Enrolled) => void }) {
  const change = (body: object) => steer("rfpr", "POST", pathOf(id), body);
  const enroll = async (values: Values) => {
    const outcome = await steer<Enrolled>("rfpr", "POST", `${pathOf(id)}/enroll`, values);
    if (isSuccess(outcome)) enrolled(outcome.body);
    return outcome;
  };
  return html`<div class="controls">
    <${Form} label="Enroll it" send=${enroll}>
      <${Field} name="authenticator" label="Authenticator at hand" options=${choices.authenticatorKinds} value=${preferred} />
      ${pin?.entryMethod === "user_entered" && html`<${Field} name="pin" label="PIN that the user enters" />`}
    <//>
    <${Form} label="Decline it" send=${({ reason = "" }: Record<string, string>) => change({ decline: reason })}>
      <${Field} name="reason" label="Reason" />
    <//>
    <div class="buttons" role="group" aria-label=${`Request ${id}`}>
      <${Button} label="It cannot be enrolled" run=${() => change({ fail: "No authenticator takes it." })} />
      <${Button} label="Its time is over" run=${() => change({ expire: true })} />
    </div>
  </div>`;
}

const deliveries: Readonly<Record<string, string>> = {
  none: "handed over by the administrator",
  app: "shown here",
  email: "sent by mail",
};

function pinText({ pin, shownPin }: AuthenticatorRequest) {
  if (shownPin !== undefined)
    return html`<span><strong>${code(shownPin)}</strong> for the user of the authenticator</span>`;
  if (pin === undefined) return "none";
  const { minLength, entryMethod, deliveryMethod } = pin;
  return entryMethod === "user_entered"
    ? `entered by the user, ${minLength} characters or more`
    : `generated, ${minLength} digits or more, ${deliveries[deliveryMethod]}`;
}
