import { useState } from "preact/hooks";
import type {
  PasswordCode as IssuedCode,
  LastRefusal,
  Lock as LockView,
  OtpKey,
  User as UserView,
  ValidationResult,
} from "../../../../docs/openapi/core.ts";
import { callHost, isSuccess, readHost, segment } from "../calls.ts";
import { Button } from "../forms/button.ts";
import { Field } from "../forms/field.ts";
import { Form, type Values } from "../forms/form.ts";
import type { ViewProps } from "../model.ts";
import { Served } from "../outcomes/served.ts";
import { shownOutcome } from "../outcomes/shown-outcome.ts";
import { Badge, Card, FactList, html, Page, Table, time, useLive } from "../ui.ts";
import { Attributes } from "./attributes.ts";
import { usePrefixes } from "./otpkeys.ts";

export function User({ argument: id, facts }: ViewProps) {
  const path = `/core/users/${segment(id)}`;
  const prefixes = usePrefixes();
  const live = useLive(signal => readHost<UserView>(path, signal), [path], 3000);
  const post = (what: string) => (body: object) => callHost("POST", `${path}/${what}`, { body });
  const remove = async () => {
    if (isSuccess(await callHost("DELETE", path))) location.hash = "#/users";
  };
  const name = live.data?.body?.name;
  const isDisabled = live.data?.body?.enabled === false;
  return html`<${Page} title="User" lead=${name}>
    <${Served} isServed=${facts.apis.core} name="Core API">
      ${shownOutcome(
        live,
        body => html`
        <${Card} title="Name and id"><${FactList} rows=${{ Name: body.name, Id: body.id, State: html`<${Badge} state=${body.enabled ? "enabled" : "disabled"} />`, "Last sign-in": time(body.last_login) ?? "Never", Password: body.must_change && "Must be changed", "Code for a new password": body.code_valid_until && html`until ${time(body.code_valid_until)}` }} /><//>
        <${Card} title="OTP keys">
          <${Table} caption="Assigned keys" columns=${["Prefix", "State", ""]}
            rows=${body.otpkeys.map(prefix => [
              html`<a href=${`#/otpkey/${segment(prefix)}`}><code>${prefix}</code></a>`,
              html`<${OtpKeyState} prefix=${prefix} />`,
              html`<${Button} label="Unassign" kind="danger" needs="core.admin" title=${`Unassign ${prefix}`} run=${() => callHost("DELETE", `${path}/otpkeys/${segment(prefix)}`)} confirm=${{
                title: "Unassign this key?",
                text: `${name ?? "The user"} can no longer sign in with the key ${prefix}.`,
                action: "Unassign the key",
              }} />`,
            ])}
            empty="No key is assigned." />
          <${Form} label="Assign" needs="core.admin" send=${({ otpkey = "" }: Record<string, string>) => post("otpkeys")({ otpkey })}>
            <${Field} name="otpkey" label="Prefix of the key" suggestions=${prefixes.filter(each => !body.otpkeys.includes(each))} />
          <//>
        <//>
        <${Attributes} owner=${path} attributes=${body.attributes} />`,
      )}
      <div class="columns">
        <${Card} title="Rename the user" needs="core.admin">
          <${Form} label="Rename" send=${({ username = "" }: Record<string, string>) => post("rename")({ username })}>
            <${Field} name="username" label="New username" hint="Ends the user's sessions." />
          <//>
        <//>
        <${Card} title="Reset the password" needs="core.admin">
          <${Form} label="Reset" send=${({ password = "" }: Record<string, string>) => post("reset")({ password })}>
            <${Field} name="password" label="New password" type="password" autocomplete="new-password" hint="Empty: none." />
          <//>
          <${PasswordCode} path=${path} name=${name} />
        <//>
        <${Lock} path=${path} />
        <${Validation} path=${path} />
        <${Card} title="The account" needs="core.support">
          <div class="buttons">
            ${
              isDisabled
                ? html`<${Button} label="Enable" needs="core.support" run=${() => post("enable")({})} />`
                : html`<${Button} label="Disable" kind="danger" needs="core.support" run=${() => post("disable")({})} confirm=${{
                    title: "Disable this user?",
                    text: `${name ?? "The user"} is signed out everywhere and cannot sign in. Attributes and keys stay.`,
                    action: "Disable the user",
                  }} />`
            }
            <${Button} label="End all sessions" kind="danger" needs="core.support" run=${() => post("sessions/delete")({})} confirm=${{
              title: "End all sessions?",
              text: `${name ?? "The user"} is signed out everywhere.`,
              action: "End the sessions",
            }} />
            <${Button} label="Delete this user" kind="danger" needs="core.admin" run=${remove} confirm=${{
              title: "Delete this user?",
              text: `${name ?? "The user"} can no longer sign in. Attributes and sessions are deleted, keys are unassigned.`,
              action: "Delete the user",
            }} />
          </div>
        <//>
      </div>
    <//>
  <//>`;
}

/** The state of an assigned OTP key. */
function OtpKeyState({ prefix }: { prefix: string }) {
  const path = `/core/otpkeys/${segment(prefix)}`;
  const live = useLive(signal => readHost<OtpKey>(path, signal), [path], 10_000);
  return shownOutcome(
    live,
    ({ enabled, stopped, temporary_code }) =>
      html`<${Badge} state=${stopped ? "stopped" : enabled ? "enabled" : "disabled"} /> ${temporary_code && "temporary code"}`,
  );
}

/** Resets the password with a code, with which the user sets a new one. */
function PasswordCode({ path, name = "The user" }: { path: string; name?: string }) {
  const [issued, setIssued] = useState<IssuedCode>();
  const issue = async () => {
    const outcome = await callHost<IssuedCode>("POST", `${path}/reset`, { body: { issue_code: true } });
    setIssued(isSuccess(outcome) ? outcome.body : undefined);
  };
  return html`<div class="buttons"><${Button} label="Reset with a code" kind="danger" needs="core.admin" run=${issue} confirm=${{
    title: "Reset the password with a code?",
    text: `${name} is signed out everywhere, the password ends, and a code is shown once, with which the user sets a new one.`,
    action: "Reset the password",
  }} /></div>
  <p class="state-line" aria-live="polite">${issued && html`<code class="otp">${issued.code}</code> until ${time(issued.valid_until)}, shown only once.`}</p>`;
}

function Lock({ path }: { path: string }) {
  const live = useLive(signal => readHost<LockView>(`${path}/lock`, signal), [path], 3000);
  return html`<${Card} title="Lock">
    ${shownOutcome(
      live,
      lock =>
        html`<${FactList} rows=${{
          "Last refusal":
            lock.last_refusal &&
            html`${time(lock.last_refusal.at)}: <code>${lock.last_refusal.reason}</code> ${refusedOtp(lock.last_refusal)} (docs/operate.md, “A user cannot sign in”)`,
          "Failed sign-ins": lock.failures,
          "Locked until": time(lock.locked_until ?? undefined) ?? "Not locked",
          "Running attempts": lock.running_attempts,
        }} />`,
    )}
    <div class="buttons"><${Button} label="Unlock" needs="core.support" run=${() => callHost("POST", `${path}/unlock`, { body: {} })} /></div>
  <//>`;
}

/** Why the OTP was refused, and the OTP key that it belongs to. */
const refusedOtp = ({ otp_outcome, otpkey }: LastRefusal) =>
  otp_outcome !== undefined &&
  html`<code>${otp_outcome}</code> ${otpkey !== undefined && html`<a href=${`#/otpkey/${segment(otpkey)}`}><code>${otpkey}</code></a>`}`;

function Validation({ path }: { path: string }) {
  const [result, setResult] = useState<ValidationResult>();
  const badge = (isValid: boolean | undefined) => html`<${Badge} state=${isValid ? "valid" : "not valid"} />`;
  const validate = async (values: Values) => {
    const outcome = await callHost<ValidationResult>("POST", `${path}/validate`, { body: values });
    setResult(outcome.body);
    return outcome;
  };
  return html`<${Card} title="Validate" needs="core.admin">
    <${Form} label="Validate" send=${validate}>
      <${Field} name="password" label="Password" type="password" />
      <${Field} name="otp" label="OTP" hint="It cannot be used again." />
    <//>
    <p class="state-line" aria-live="polite">${result && html`Password ${badge(result.valid_password)} OTP ${badge(result.valid_otp)}`}</p>
  <//>`;
}
