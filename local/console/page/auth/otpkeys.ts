import { useState } from "preact/hooks";
import { ask, callHost, changes, isSuccess, type Outcome, readHost, segment, shown } from "../calls.ts";
import { Button } from "../forms/button.ts";
import { DropFile } from "../forms/drop-file.ts";
import { Field } from "../forms/field.ts";
import { Form } from "../forms/form.ts";
import type { ViewProps } from "../model.ts";
import { Badge, Card, code, FactList, html, Page, Served, Table, useLive } from "../ui.ts";
import { Attributes } from "./attributes.ts";
import { shownOutcome } from "./shown-outcome.ts";

/** A key whose secret the console's server created and keeps. */
export interface SoftwareKey {
  readonly prefix: string;
  readonly kind: string;
  readonly digits: number;
}

interface Otp {
  readonly otp: string;
  readonly leftMs?: number;
  readonly given?: boolean;
}

export const softwareKeys = (signal?: AbortSignal): Promise<readonly SoftwareKey[]> =>
  ask("GET", "keys", signal && { signal });

/** Returns what the key shows next. A code of an event or of a Yubico key is made once. */
export const nextOtp = (prefix: string): Promise<Otp> => ask("POST", `keys/${prefix}/next`);

/** Says how long a code is good for, if that is limited. */
export const remarkOf = ({ leftMs, given }: Otp): string =>
  leftMs === undefined
    ? ""
    : `${given ? "Given before, so it passes no more. The next one" : "The next code"} comes in ${Math.ceil(leftMs / 1000)} s.`;

interface Listed {
  readonly prefix: string;
  readonly enabled: boolean;
}

/** Returns the prefixes of all keys. */
export function usePrefixes(): readonly string[] {
  const live = useLive(signal => readHost<readonly { prefix: string }[]>("/core/otpkeys", signal), [], 60_000);
  return live.data?.status === 200 ? live.data.body.map(({ prefix }) => prefix) : [];
}

const states = [
  ["", "all"],
  ["enabled=true", "enabled"],
  ["enabled=false", "disabled"],
  ["stopped=true", "stopped"],
];

export function OtpKeys({ facts, choices }: ViewProps) {
  const [query, setQuery] = useState("");
  const live = useLive(signal => readHost<readonly Listed[]>(`/core/otpkeys${query}`, signal), [query], 3000);
  const filter = async ({ state = "", since }: Record<string, string>) => {
    const filters = new URLSearchParams(state);
    if (since) filters.set("unused_since", new Date(since).toISOString());
    setQuery(filters.size === 0 ? "" : `?${filters}`);
    return undefined;
  };
  const own = useLive(softwareKeys, [], 3000);
  const create = async ({ digits, period, ...fields }: Record<string, string>, form: HTMLFormElement) => {
    const body = { ...fields, digits: Number(digits), period: Number(period) };
    const outcome = await shown("POST /core/otpkeys", () => ask<Outcome>("POST", "keys", { body }));
    if (isSuccess(outcome)) form.reset();
    return outcome;
  };
  return html`<${Page} title="Keys" lead="Keys that make one-time passwords.">
    <${Served} isServed=${facts.apis.core} name="Core API">
      <div class="columns">
        <${Card} title="New software key" hint="Its secret is created here, imported, and kept, so that this page can sign in with it.">
          <${Form} label="Import" send=${create}>
            <div class="grid">
              <${Field} name="kind" label="Kind" options=${choices.softwareKeyKinds} />
              <${Field} name="prefix" label="Prefix" hint="Empty: a random one." />
              <${Field} name="digits" label="Digits" options=${["6", "8"]} hint="Not of a yubico key." />
              <${Field} name="period" label="Seconds of a step" options=${["30", "60"]} hint="Of a totp key." />
              <${Field} name="algorithm" label="Algorithm" options=${choices.totpAlgorithms} hint="Of a totp key." />
            </div>
          <//>
        <//>
        <${ImportFile} />
        <${Card} title="Filter">
          <${Form} label="Apply" send=${filter}>
            <${Field} name="state" label="State" options=${states} />
            <${Field} name="since" label="Not used since" type="date" />
          <//>
        <//>
      </div>
      <${Card} title="One-time-password keys">
        ${shownOutcome(
          live,
          keys => html`<${Table} caption="Keys" columns=${["Prefix", "State", "Software key"]}
          rows=${keys.map(({ prefix, enabled }) => [
            html`<a class="strong" href=${`#/otpkey/${segment(prefix)}`}><code>${prefix}</code></a>`,
            html`<${Badge} state=${enabled ? "enabled" : "disabled"} />`,
            own.data?.find(key => key.prefix === prefix)?.kind ?? "no",
          ])}
          empty=${query ? "No key matches the filter." : "There is no key. Create a software key, or drop a file of keys."} />`,
        )}
      <//>
    <//>
  <//>`;
}

interface Imported {
  readonly stopped?: string;
  readonly lines: readonly {
    readonly line: number;
    readonly prefix?: string;
    readonly outcome: string;
    readonly reason: string;
  }[];
}

function ImportFile() {
  const [result, setResult] = useState<Imported>();
  const take = async (name: string, text: string) => {
    setResult(await ask<Imported>("POST", "key-files", { body: { name, text } }));
    changes.set(changes.get() + 1);
  };
  return html`<${Card} title="Import a file" hint="A personalisation log of a key maker, or PSKC, as npm run import-otpkeys reads it.">
    <${DropFile} label="Drop a file here" hint="or choose one." take=${take} />
    <div aria-live="polite">
      ${result?.stopped && html`<p class="problem">Stopped: ${result.stopped}.</p>`}
      ${
        result &&
        html`<${Table} caption="Lines of the file" columns=${["Line", "Prefix", "Outcome", "Reason"]}
        rows=${result.lines.map(({ line, prefix, outcome, reason }) => [line, code(prefix), html`<${Badge} state=${outcome} />`, reason])}
        empty="The file describes no key." />`
      }
    </div>
  <//>`;
}

interface KeyRecord {
  readonly id: number;
  readonly prefix: string;
  readonly enabled: boolean;
  readonly stopped?: boolean;
  readonly stopped_since?: string;
  readonly failures?: number;
  readonly last_used?: string;
  readonly valid_from?: string;
  readonly valid_until?: string;
  readonly attributes: Readonly<Record<string, string>>;
}

export function OtpKey({ argument: prefix, facts }: ViewProps) {
  const path = `/core/otpkeys/${segment(prefix)}`;
  const live = useLive(signal => readHost<KeyRecord>(path, signal), [path], 3000);
  const own = useLive(softwareKeys, [], 60_000).data?.find(key => key.prefix === prefix);
  const remove = async () => {
    if (!isSuccess(await callHost("DELETE", path))) return;
    if (own !== undefined) await ask("DELETE", `keys/${prefix}`);
    location.hash = "#/otpkeys";
  };
  return html`<${Page} title="Key" lead=${code(prefix)}>
    <${Served} isServed=${facts.apis.core} name="Core API">
      ${shownOutcome(
        live,
        ({ id, enabled, stopped, stopped_since, failures, last_used, valid_from, valid_until, attributes }) => html`
        <${Card} title="Prefix and state">
          <${FactList} rows=${{
            Prefix: code(prefix),
            Id: id,
            State: html`<${Badge} state=${stopped ? "stopped" : enabled ? "enabled" : "disabled"} />`,
            "Stopped since": stopped_since,
            Failures: failures ?? 0,
            "Last use": last_used ?? "Never",
            Valid: validity(valid_from, valid_until),
          }} />
          <div class="buttons">
            <${Button} label="Enable" run=${() => callHost("POST", `${path}/enable`)} />
            <${Button} label="Disable" run=${() => callHost("POST", `${path}/disable`)} />
            <${Button} label="Delete this key" kind="danger" run=${remove} confirm=${{
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
  return html`<${Card} title="Validity" hint="A limit that is left empty is removed.">
    <${Form} label="Set the validity" send=${set}>
      <div class="grid">
        <${Field} name="valid_from" label="Valid from" type="date" />
        <${Field} name="valid_until" label="Valid until" type="date" />
      </div>
    <//>
  <//>`;
}

interface IssuedCode {
  readonly code: string;
  readonly valid_until: string;
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
  return html`<${Card} title="Temporary code" hint="For a lost key: disables the key, and is typed in place of its OTPs.">
    <${Form} label="Issue" send=${issue}>
      <div class="grid">
        <${Field} name="uses" label="Uses" options=${["1", "3", "10"]} />
        <${Field} name="hours" label="Valid for hours" options=${["8", "24", "72"]} />
      </div>
    <//>
    <p class="state-line" aria-live="polite">${issued && html`<code class="otp">${issued.code}</code> until ${issued.valid_until}, shown only once.`}</p>
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
