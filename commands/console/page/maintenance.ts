import { useState } from "preact/hooks";
import { callHost, isSuccess, type Outcome } from "./calls.ts";
import { Button } from "./forms/button.ts";
import { Field } from "./forms/field.ts";
import { Form, type Values } from "./forms/form.ts";
import { idpIds } from "./idp-ids.ts";
import type { ViewProps } from "./model.ts";
import { Card, html, Json, Page, time, useLive } from "./ui.ts";

export function Maintenance({ facts: { apis, nextRuns }, choices: { timers } }: ViewProps) {
  const [report, setReport] = useState<{ readonly task: string; readonly outcome: Outcome }>();
  const idps = useLive(() => idpIds(), [], 60_000).data ?? [];
  const run = async (task: string, input: object = {}) => {
    const outcome = await callHost("POST", `/maintenance/${task}`, { body: input });
    setReport({ task, outcome });
    return outcome;
  };
  const tasks = (service: string) => html`<div class="buttons">
    <${Button} label="Back up" run=${() => run(`${service}/back-up`)} />
    <${Button} label="Seal again" run=${() => run(`${service}/reseal`)} />
  </div>`;
  const check = ({ user_id, idp_id }: Record<string, string>) =>
    run("connector/check-peers", { users: user_id ? [{ user_id, idp_id }] : [] });
  return html`<${Page} title="Maintenance" lead="What an administrator starts inside the network, by the host’s master key.">
    <${Card} title="Timers" hint="Each does what is due now; the two jobs on demand do every open item.">
      <ul class="timers">
        ${timers.map(
          timer => html`<li key=${timer}>
          <${Button} label=${timer} run=${() => callHost("POST", `/admin/functions/${timer}`, { body: {} })} />
          <span class="hint">${nextRun(timer, nextRuns)}</span>
        </li>`,
        )}
      </ul>
    <//>
    ${
      apis.connector &&
      html`<${Card} title="Connector">
      <${Form} label="Check every peer" send=${check}>
        <div class="grid">
          <${Field} name="user_id" label="A user who is to be known" value="ada@example.com" />
          <${Field} name="idp_id" label="To the identity provider" options=${idps} />
        </div>
      <//>
      <${Form} label="Erase one recipient" send=${({ by = "", who = "" }: Values) => run("connector/erase", { [by]: who })} confirm=${({
        who = "",
      }: Values) => ({
        title: "Erase this recipient?",
        text: `Everything that is kept of ${who} is deleted, with the other people in the same requests. Open requests are cancelled first.`,
        action: "Erase",
      })}>
        <div class="grid">
          <${Field} name="by" label="Known by" options=${["email", "external_id", "user_id"]} />
          <${Field} name="who" label="Who" required hint="Everything that is kept of the person goes; open requests are cancelled first." />
        </div>
      <//>
      ${tasks("connector")}
    <//>`
    }
    ${apis.core && html`<${Card} title="Authentication server">${tasks("auth")}<//>`}
    <div aria-live="polite">
      ${report && html`<${Card} title=${`${report.task} ${isSuccess(report.outcome) ? "has reported" : "was refused"}`}><${Json} value=${report.outcome.body} label="Report" /><//>`}
    </div>
  <//>`;
}

function nextRun(timer: string, runs: ViewProps["facts"]["nextRuns"]) {
  const at = runs.find(({ name }) => name === timer)?.at;
  return at === undefined ? "no run is known" : html`next ${time(at)}`;
}
