import { useState } from "preact/hooks";
import type { OtpKeySummary } from "../../../../docs/openapi/core.ts";
import { ask, changes, isSuccess, type Outcome, readHost, segment, shown } from "../calls.ts";
import { DropFile } from "../forms/drop-file.ts";
import { Field } from "../forms/field.ts";
import { Form } from "../forms/form.ts";
import type { ViewProps } from "../model.ts";
import { Served } from "../outcomes/served.ts";
import { shownOutcome } from "../outcomes/shown-outcome.ts";
import { usePages } from "../pages.ts";
import { Badge, Card, code, html, Page, Table, useLive } from "../ui.ts";
import { noSoftwareKeys, softwareKeys } from "./software-keys.ts";

/** Returns the prefixes of the first keys, as suggestions. */
export function usePrefixes(): readonly string[] {
  const live = useLive(signal => readHost<readonly OtpKeySummary[]>("/core/otpkeys?%24top=50", signal), [], 60_000);
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
  const { live, pager } = usePages<OtpKeySummary>("/core/otpkeys", query);
  const filter = async ({ state = "", since }: Record<string, string>) => {
    const filters = new URLSearchParams(state);
    if (since) filters.set("unused_since", new Date(since).toISOString());
    setQuery(String(filters));
    return undefined;
  };
  const own = useLive(facts.isSimulated ? softwareKeys : noSoftwareKeys, [], 3000);
  const create = async ({ digits, period, ...fields }: Record<string, string>, form: HTMLFormElement) => {
    const body = { ...fields, digits: Number(digits), period: Number(period) };
    const outcome = await shown("POST /core/otpkeys", () => ask<Outcome>("POST", "keys", { body }));
    if (isSuccess(outcome)) form.reset();
    return outcome;
  };
  return html`<${Page} title="OTP keys" lead="Keys that make one-time passwords.">
    <${Served} isServed=${facts.apis.core} name="Core API">
      <div class="columns">
        ${
          facts.isSimulated &&
          html`<${Card} title="New software key" hint="Its secret is created here, imported, and kept, so that this page can sign in with it.">
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
        <${ImportFile} />`
        }
        <${Card} title="Filter">
          <${Form} label="Apply" send=${filter}>
            <${Field} name="state" label="State" options=${states} />
            <${Field} name="since" label="Not used since" type="date" />
          <//>
        <//>
      </div>
      <${Card} title="Keys">
        ${shownOutcome(
          live,
          keys => html`<${Table} caption="Keys" columns=${["Prefix", "State", "Software key"]}
          rows=${keys.map(({ prefix, enabled }) => [
            html`<a class="strong" href=${`#/otpkey/${segment(prefix)}`}><code>${prefix}</code></a>`,
            html`<${Badge} state=${enabled ? "enabled" : "disabled"} />`,
            own.data?.find(key => key.prefix === prefix)?.kind ?? "no",
          ])}
          empty=${query ? "No key on this page matches the filter." : "There is no key."} />`,
        )}
        ${pager}
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
