import { useState } from "preact/hooks";
import { readPeer, steer } from "../calls.ts";
import { Button } from "../forms/button.ts";
import { Field } from "../forms/field.ts";
import { Form, type Values } from "../forms/form.ts";
import type { ViewProps } from "../model.ts";
import { Card, code, counted, html, Page, shownLive, Table, time, useLive } from "../ui.ts";
import { PeerControls } from "./peer-controls.ts";
import type { PeerCalls } from "./peers.ts";

const maxCalls = 50;

interface Fault {
  readonly kind: string;
  readonly times: number;
  readonly method?: string;
  readonly path?: string;
  readonly phase?: string;
  readonly [detail: string]: unknown;
}

export function Peer({ argument: name, facts: { peers }, choices }: ViewProps) {
  const isKnown = Object.hasOwn(peers, name);
  return html`<${Page} title=${isKnown ? `Peer ${name}` : "Peer"} lead=${code(isKnown ? peers[name] : undefined)}>
    ${
      isKnown
        ? html`<${Faults} name=${name} choices=${choices} /><${PeerControls} name=${name} choices=${choices} /><${Calls} name=${name} />`
        : html`<p class="problem">There is no peer ${name}.</p>`
    }
  <//>`;
}

/** The fields of each kind of fault other than method, path and phase. */
const detailsOf: Readonly<Record<string, readonly string[]>> = {
  refuse: ["status", "body"],
  delay: ["ms"],
  throttle: ["retryAfter", "body"],
  nonsense: ["status", "body"],
};

const detailFields: Readonly<Record<string, object>> = {
  status: { label: "Status", type: "number", placeholder: "its usual one", min: 200, max: 599 },
  body: { label: "Body", hint: "JSON, or any text. Empty: its usual one." },
  ms: { label: "Milliseconds", type: "number", value: 1000, min: 0 },
  retryAfter: { label: "Retry after, in seconds", type: "number", value: 1, min: 0 },
};

function Faults({ name, choices: { faultKinds } }: Pick<ViewProps, "choices"> & { name: string }) {
  const [kind, setKind] = useState(faultKinds[0] ?? "");
  const live = useLive(signal => readPeer<readonly Fault[]>(name, "faults", signal), [name]);
  return html`<${Card} title="Faults">
    ${shownLive(
      live,
      faults => html`<${Table} caption="Faults that are set" columns=${["Kind", "Times left", "Calls", "When", "Details"]}
      rows=${faults.map(({ kind, times, method, path, phase, ...details }) => [
        kind,
        times,
        code(`${method ?? "any method"} ${path ?? "any path"}`),
        phase === "after" ? "after its work" : "before its work",
        (detailsOf[kind] ?? [])
          .filter(each => details[each] !== undefined)
          .map(each => `${each}: ${typeof details[each] === "string" ? details[each] : JSON.stringify(details[each])}`)
          .join(", "),
      ])}
      empty="No fault is set." />`,
    )}
    <div class="buttons">
      <${Button} label="Clear all faults" run=${() => steer(name, "DELETE", "faults")} />
      <${Button} label="Release hanging calls" run=${() => steer(name, "POST", "release")} />
    </div>
    <${Form} label="Set a fault" send=${(values: Values) => steer(name, "POST", "faults", faultOf(values))}>
      <div class="grid">
        <${Field} name="kind" label="Kind" options=${faultKinds} value=${kind} onValue=${setKind} />
        <${Field} name="times" label="Times" type="number" value="1" min="1" />
        <${Field} name="phase" label="When" options=${[["before", "before its work"], ["after", "after its work"]]} />
        <${Field} name="method" label="Method" options=${[["", "any"], "GET", "POST", "PUT", "PATCH", "DELETE"]} />
        <${Field} name="path" label="Path" hint="A regular expression. Empty: every path." />
        ${(detailsOf[kind] ?? []).map(each => html`<${Field} key=${each} name=${each} ...${detailFields[each]} />`)}
      </div>
    <//>
  <//>`;
}

function faultOf({ body, ...values }: Values) {
  const typed = Object.entries(values).map(([name, text]) => [
    name,
    ["times", "status", "ms", "retryAfter"].includes(name) ? Number(text) : text,
  ]);
  return { ...Object.fromEntries(typed), ...(body && { body: parsed(body) }) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function Calls({ name }: { name: string }) {
  const live = useLive(signal => readPeer<PeerCalls>(name, `requests?top=${maxCalls}`, signal), [name]);
  return html`<${Card} title="Calls">
    ${shownLive(
      live,
      ({ total, hanging, requests }) => html`
      <p class="hint">${counted(total, "call")}, ${hanging === 0 ? "none" : hanging} hanging${total > maxCalls ? `; the last ${maxCalls}` : ""}</p>
      <${Table} caption="Calls, the newest first" columns=${["At", "Call", "Answer"]}
        rows=${requests.toReversed().map(({ method, path, at, status }) => [time(at), code(`${method} ${path}`), status ?? "none"])}
        empty="No call yet." />`,
    )}
    <div class="buttons">
      <${Button} label="Delete the list" kind="danger" run=${() => steer(name, "DELETE", "requests")} confirm=${{
        title: "Delete the list of calls?",
        text: "The peer deletes its list of calls. Nothing else changes.",
        action: "Delete",
      }} />
    </div>
  <//>`;
}
