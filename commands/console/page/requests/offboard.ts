import { useState } from "preact/hooks";
import type { OffboardReport } from "../../../../docs/openapi/connector.ts";
import { callHost, isSuccess, segment } from "../calls.ts";
import { Button } from "../forms/button.ts";
import { Field } from "../forms/field.ts";
import { Form, type Values } from "../forms/form.ts";
import type { ViewProps } from "../model.ts";
import { Served } from "../outcomes/served.ts";
import { Badge, Card, counted, html, Page, Table } from "../ui.ts";

interface Shown {
  readonly leaver: Values;
  readonly isDone: boolean;
  readonly report: OffboardReport;
}

/** Ends the credentials of a person who leaves: what would be done first, then the same for good. */
export function Offboard({ facts }: ViewProps) {
  const [shown, setShown] = useState<Shown>();
  const call = async (leaver: Values, isDone: boolean) => {
    const body = { ...leaver, dry_run: !isDone };
    const outcome = await callHost<{ data: OffboardReport }>("POST", "/v2/people/offboard", { body });
    setShown(isSuccess(outcome) ? { leaver, isDone, report: outcome.body.data } : undefined);
    return outcome;
  };
  return html`<${Page} title="Offboard" lead="A person leaves: open requests are cancelled, and active credentials removed at their identity providers.">
    <${Served} isServed=${facts.apis.connector} name="connector">
      <${Card} title="Who leaves">
        <${Form} label="Show what would be done" send=${(leaver: Values) => call(leaver, false)}>
          <div class="grid">
            <${Field} name="user_id" label="User" hint="As the orders name the user." />
            <${Field} name="idp_id" label="Only at the identity provider" hint="Empty: at all." />
            <${Field} name="email" label="Or the recipient's email" />
          </div>
        <//>
      <//>
      <div aria-live="polite">${shown && html`<${Report} ...${shown} run=${() => call(shown.leaver, true)} />`}</div>
    <//>
  <//>`;
}

function Report({ leaver, isDone, report, run }: Shown & { run: () => Promise<unknown> }) {
  const name = leaver.user_id ?? leaver.email ?? "";
  const planned = report.credentials.filter(({ action }) => action !== "none").length;
  const isLeft = isDone && !report.is_complete;
  return html`<${Card} title=${isDone ? `Done for ${name}` : `What would be done for ${name}`}>
    ${isDone && html`<p class="state-line">${report.is_complete ? "None of these credentials can be used any more." : "Something is left, or a job continues with it: repeat this later."}</p>`}
    <${Table} caption="Credentials of the person" columns=${["Key", "User", "State", isDone ? "Done" : "Would", "Problem"]}
      rows=${report.credentials.map(each => [
        html`<a class="strong" href=${`#/request/${segment(each.credential_request_id)}`}>${each.serial_number ?? each.key_id}</a>`,
        html`${each.user_id}<div class="small">${each.idp_id}</div>`,
        html`<${Badge} state=${each.state} />`,
        each.action,
        each.problem ?? each.revocation?.error_message,
      ])}
      empty="No order has a credential under this name. Check how it is written." />
    ${
      ((!isDone && planned > 0) || isLeft) &&
      html`<div class="buttons"><${Button} label=${isDone ? "Repeat" : "Offboard"} kind="danger" run=${run} confirm=${{
        title: `Offboard ${name}?`,
        text: `${counted(planned, "credential")} of ${name} will be cancelled or removed. This cannot be undone.`,
        action: "Offboard the person",
      }} /></div>`
    }
  <//>`;
}
