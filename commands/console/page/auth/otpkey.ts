import { useState } from "preact/hooks";
import type { TemporaryCode as IssuedCode, OtpKey as OtpKeyView } from "../../../../docs/openapi/core.ts";
import { ask, callHost, isSuccess, readHost, segment } from "../calls.ts";
import { Button } from "../forms/button.ts";
import { Field } from "../forms/field.ts";
import { Form } from "../forms/form.ts";
import type { ViewProps } from "../model.ts";
import { Served } from "../outcomes/served.ts";
import { shownOutcome } from "../outcomes/shown-outcome.ts";
import { Badge, Card, code, counted, FactList, html, Page, time, useLive } from "../ui.ts";
import { Attributes } from "./attributes.ts";
import { nextOtp, noSoftwareKeys, type Otp, remarkOf, type SoftwareKey, softwareKeys } from "./software-keys.ts";

export function OtpKey({ argument: prefix, facts }: ViewProps) {
  const path = `/core/otpkeys/${segment(prefix)}`;
  const live = useLive(signal => readHost<OtpKeyView>(path, signal), [path], 3000);
  const own = useLive(facts.isSimulated ? softwareKeys : noSoftwareKeys, [], 60_000).data?.find(
    key => key.prefix === prefix,
  );
  const remove = async () => {
    if (!isSuccess(await callHost("DELETE", path))) return;
    if (own !== undefined) await ask("DELETE", `keys/${prefix}`);
    location.hash = "#/otpkeys";
  };
  return html`<${Page} title="OTP key" lead=${code(prefix)}>
    <${Served} isServed=${facts.apis.core} name="Core API">
      ${shownOutcome(
        live,
        ({
          id,
          enabled,
          stopped,
          stopped_since,
          failures,
          last_used,
          valid_from,
          valid_until,
          temporary_code,
          users = [],
          attributes,
        }) => html`
        <${Card} title="Prefix and state">
          <${FactList} rows=${{
            Prefix: code(prefix),
            Id: id,
            State: html`<${Badge} state=${stopped ? "stopped" : enabled ? "enabled" : "disabled"} />`,
            Users: users.map(user => html`<a href=${`#/user/${user.id}`}>${user.name}</a> `),
            "Stopped since": time(stopped_since),
            Failures: failures ?? 0,
            "Last use": time(last_used) ?? "Never",
            Valid: validity(valid_from, valid_until),
            "Temporary code":
              temporary_code &&
              html`${counted(temporary_code.uses_left, "use")} left, until ${time(temporary_code.valid_until)}`,
          }} />
          <div class="buttons">
            <${Button} label="Enable" needs="core.support" run=${() => callHost("POST", `${path}/enable`)} />
            <${Button} label="Disable" needs="core.support" run=${() => callHost("POST", `${path}/disable`)} />
            <${Button} label="Delete this key" kind="danger" needs="core.admin" run=${remove} confirm=${{
              title: "Delete this key?",
              text: `${prefix} can no longer be used to sign in. Its secret is deleted here and in the service.`,
              action: "Delete the key",
            }} />
          </div>
        <//>
        ${own && html`<${Codes} ...${own} />`}
        <${Validity} path=${path} />
        <${TemporaryCode} path=${path} />
        <${Attributes} owner=${path} attributes=${attributes} />`,
      )}
    <//>
  <//>`;
}

const validity = (from: string | undefined, until: string | undefined) =>
  [from && `from ${from}`, until && `until ${until}`].filter(Boolean).join(" ") || "Always";

/** Sets the time in which OTPs of the key are accepted. */
function Validity({ path }: { path: string }) {
  const set = (values: Record<string, string>) => {
    const limits = Object.entries(values).map(([name, day]) => [name, new Date(day).toISOString()]);
    return callHost("POST", `${path}/validity`, { body: Object.fromEntries(limits) });
  };
  return html`<${Card} title="Validity" needs="core.admin" hint="A limit that is left empty is removed.">
    <${Form} label="Set the validity" send=${set}>
      <div class="grid">
        <${Field} name="valid_from" label="Valid from" type="date" />
        <${Field} name="valid_until" label="Valid until" type="date" />
      </div>
    <//>
  <//>`;
}

/** Issues a code in place of the OTPs of a lost key. */
function TemporaryCode({ path }: { path: string }) {
  const [issued, setIssued] = useState<IssuedCode>();
  const issue = async ({ uses = "", hours = "" }: Record<string, string>) => {
    const valid_until = new Date(Date.now() + Number(hours) * 3_600_000).toISOString();
    const body = { uses: Number(uses), valid_until };
    const outcome = await callHost<IssuedCode>("POST", `${path}/temporary-code`, { body });
    setIssued(isSuccess(outcome) ? outcome.body : undefined);
    return outcome;
  };
  const revoke = async () => {
    if (isSuccess(await callHost("DELETE", `${path}/temporary-code`))) setIssued(undefined);
  };
  return html`<${Card} title="Temporary code" needs="core.support" hint="For a lost key: disables the key, and is typed in place of its OTPs.">
    <${Form} label="Issue" send=${issue}>
      <div class="grid">
        <${Field} name="uses" label="Uses" options=${["1", "3", "10"]} />
        <${Field} name="hours" label="Valid for hours" options=${["8", "24", "72"]} />
      </div>
    <//>
    <p class="state-line" aria-live="polite">${issued && html`<code class="otp">${issued.code}</code> until ${time(issued.valid_until)}, shown only once.`}</p>
    <div class="buttons"><${Button} label="Revoke" kind="danger" run=${revoke} confirm=${{
      title: "Revoke the temporary code?",
      text: "The code is no longer accepted. The key stays disabled.",
      action: "Revoke the code",
    }} /></div>
  <//>`;
}

function Codes({ prefix, kind }: SoftwareKey) {
  const [otp, setOtp] = useState<Otp>();
  return html`<${Card} title=${`Software key of kind ${kind}`}>
    <p class="state-line" aria-live="polite">${otp ? html`<code class="otp">${otp.otp}</code> ${remarkOf(otp)}` : "A code is made when it is asked for."}</p>
    <div class="buttons"><${Button} label="Next code" run=${async () => setOtp(await nextOtp(prefix))} /></div>
  <//>`;
}
