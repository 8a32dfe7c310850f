import { useRef, useState } from "preact/hooks";
import type { UserSummary } from "../../../../docs/openapi/core.ts";
import { callHost, isSuccess, readHost } from "../calls.ts";
import { Button } from "../forms/button.ts";
import { Field } from "../forms/field.ts";
import { Form, type Values, valuesOf } from "../forms/form.ts";
import type { ViewProps } from "../model.ts";
import { refusalOf } from "../outcomes/refusal.ts";
import { Served } from "../outcomes/served.ts";
import { createStore, useStore } from "../store.ts";
import { Card, code, FactList, html, Page, shownLive, time, useLive } from "../ui.ts";
import { nextOtp, remarkOf, type SoftwareKey, softwareKeys } from "./software-keys.ts";

/** The session's value is a secret. It lives as long as this page is open. */
const session = createStore<string | undefined>(undefined);

const sessionHeader = (): Record<string, string> => {
  const value = session.get();
  return value === undefined ? {} : { "x-service-session": value };
};

export function SignIn({ facts }: ViewProps) {
  const keys = useLive(softwareKeys, [], 5000).data ?? [];
  const users = useLive(signal => readHost<readonly UserSummary[]>("/core/users?%24top=100", signal), [], 60_000).data
    ?.body;
  const current = useStore(session);
  const form = useRef<HTMLDivElement>(null);
  const logIn = async (values: Values) => {
    const outcome = await callHost<{ session: string }>("POST", "/client/login", {
      body: values,
      headers: sessionHeader(),
    });
    if (outcome.status === 200) session.set(outcome.body.session);
    return outcome;
  };
  const authenticate = async () => {
    const element = form.current?.querySelector("form");
    if (element) await callHost("POST", "/client/authenticate", { body: valuesOf(element) });
  };
  return html`<${Page} title="Sign-in">
    <${Served} isServed=${facts.apis.client} name="Client API">
      <div class="columns">
        <div ref=${form}>
          <${Card} title="Sign in">
            <${Form} label="Log in" send=${logIn} actions=${html`<${Button} label="Check without login" run=${authenticate} />`}>
              <${Field} name="username" label="Username" suggestions=${Array.isArray(users) ? users.map(({ name }) => name) : []} />
              <${Field} name="password" label="Password" type="password" autocomplete="current-password" />
              <${OtpField} keys=${keys} />
            <//>
          <//>
        </div>
        <div>
          ${
            current === undefined
              ? html`<${Card} title="Session"><p class="empty">No session. Log in with a user of the authentication server.</p><//>`
              : html`<${Session} key=${current} keys=${keys} />`
          }
        </div>
      </div>
    <//>
  <//>`;
}

/** A field for an OTP, with a button that lets a software key fill it in. */
function OtpField({ keys }: { keys: readonly SoftwareKey[] }) {
  const [otp, setOtp] = useState("");
  const [remark, setRemark] = useState("");
  const [prefix, setPrefix] = useState("");
  const chosen = prefix || (keys[0]?.prefix ?? "");
  const press = async () => {
    const next = await nextOtp(chosen);
    setOtp(next.otp);
    setRemark(remarkOf(next));
  };
  const field = html`<${Field} name="otp" label="OTP" value=${otp} onValue=${setOtp} hint="Typed, or by a software key." />`;
  if (keys.length === 0) return field;
  return html`<fieldset>
    <legend>One-time password</legend>
    <${Field} label="Software key" options=${keys.map(each => [each.prefix, `${each.prefix} (${each.kind})`])} value=${chosen} onValue=${setPrefix} />
    <div class="buttons"><${Button} label="Press the key" run=${press} /></div>
    <p class="hint" aria-live="polite">${remark}</p>
    ${field}
  </fieldset>`;
}

interface Status {
  readonly username: string;
  readonly user_id: number;
  readonly prefix?: string;
  readonly _creation_time: number;
  readonly _accessed_time: number;
}

function Session({ keys }: { keys: readonly SoftwareKey[] }) {
  const live = useLive(signal => readSession(signal), [], 60_000);
  const logOut = async () => {
    if (isSuccess(await callHost("POST", "/client/logout", { headers: sessionHeader() }))) session.set(undefined);
  };
  const assign = (values: Values) => callHost("POST", "/client/otpkeys", { body: values, headers: sessionHeader() });
  const change = (values: Values) => callHost("POST", "/client/password", { body: values, headers: sessionHeader() });
  return html`
    <${Card} title="Session">
      ${shownLive(live, body =>
        typeof body === "string"
          ? html`<p class="problem">${body}</p>`
          : html`<${FactList} rows=${{
              User: body.username,
              "User id": body.user_id,
              "Key used": code(body.prefix) ?? "none",
              Created: time(body._creation_time * 1000),
              "Last used": time(body._accessed_time * 1000),
            }} />`,
      )}
      <div class="buttons"><${Button} label="Log out" run=${logOut} /></div>
    <//>
    <${Card} title="Change the password">
      <${Form} label="Change" send=${change}>
        <${Field} name="oldpass" label="Current password" type="password" autocomplete="current-password" />
        <${Field} name="newpass" label="New password" type="password" autocomplete="new-password" />
        <${OtpField} keys=${keys} />
      <//>
    <//>
    <${Card} title="Assign a key of your own" hint="If AUTH_SELF_ASSIGN allows it, and the key is assigned to no user.">
      <${Form} label="Assign the key" send=${assign}>
        <${Field} name="password" label="Your password" type="password" autocomplete="current-password" />
        <${OtpField} keys=${keys} />
      <//>
    <//>`;
}

async function readSession(signal: AbortSignal): Promise<Status | string> {
  const outcome = await readHost<Status>("/client/status", signal, sessionHeader());
  return outcome.status === 200 ? outcome.body : refusalOf(outcome);
}
