import { useState } from "preact/hooks";
import type { RequestEvent } from "../../../../docs/openapi/connector.ts";
import { curlOf, segment } from "../calls.ts";
import { Copy } from "../forms/button.ts";
import type { Facts, Mail } from "../model.ts";
import { Badge, Card, html, Json, time } from "../ui.ts";
import { EventContent } from "./events.ts";

export interface TimelineEvent {
  readonly id: number;
  readonly at: number;
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

type Kind = "states" | "calls" | "mails" | "events" | "log";

interface Entry {
  readonly key: string;
  readonly at: number;
  readonly kind: Kind;
  readonly content: unknown;
}

const kinds: readonly (readonly [kind: "" | Kind, label: string])[] = [
  ["", "All"],
  ["states", "States"],
  ["calls", "Calls"],
  ["mails", "Mails"],
  ["events", "Events"],
  ["log", "Log"],
];

/** Everything that happened to a request, the newest first. */
export function Timeline({
  events,
  mails,
  sent,
  requestPath,
  facts,
}: {
  events: readonly TimelineEvent[];
  mails: readonly Mail[];
  /** Events for event sinks. */
  sent: readonly RequestEvent[];
  requestPath: string;
  facts: Facts;
}) {
  const [chosen, setChosen] = useState<"" | Kind>("");
  const entries = [
    ...events.map(event => entryOf(event, facts)),
    ...mails.map(mailEntry),
    ...sent.map(event => sentEntry(event, requestPath)),
  ];
  const shown = entries.filter(({ kind }) => chosen === "" || kind === chosen).sort((a, b) => b.at - a.at);
  return html`<${Card} title="Timeline" className="story">
    <div class="tabs" role="group" aria-label="Kinds of events">
      ${(facts.isSimulated ? kinds : []).map(
        ([kind, label]) =>
          html`<button type="button" aria-pressed=${kind === chosen ? "true" : "false"} onClick=${() => setChosen(kind)}>${label}</button>`,
      )}
    </div>
    ${shown.length === 0 && html`<p class="empty">${facts.isSimulated ? "Nothing was recorded. The timeline records hosts that run in the process of npm start." : "No event was recorded. The connector records events if it has an event sink (EVENT_SINK_URLS)."}</p>`}
    <ol class="timeline">
      ${shown.map(({ key, at, kind, content }) => html`<li key=${key} class=${kind}>${time(at)}<div>${content}</div></li>`)}
    </ol>
  <//>`;
}

const mailEntry = ({ id, at, subject, to }: Mail): Entry => ({
  key: `mail ${id}`,
  at: Date.parse(at),
  kind: "mails",
  content: html`<a href=${`#/mailbox/${segment(id)}`}>${subject}</a> <span class="hint">to ${to.join(", ")}</span>`,
});

const sentEntry = (event: RequestEvent, requestPath: string): Entry => ({
  key: `event ${event.id}`,
  at: Date.parse(event.time),
  kind: "events",
  content: html`<${EventContent} event=${event} requestPath=${requestPath} />`,
});

function entryOf({ id, at, event, fields }: TimelineEvent, facts: Facts): Entry {
  const entry = { key: String(id), at };
  if (event === "peer_call")
    return { ...entry, kind: "calls", content: callContent(fields as unknown as PeerCall, facts) };
  if (event === "state_change" || event === "request_state") {
    const { name = "Request", from, to = fields.state } = fields;
    const before = from === undefined ? "" : html`<${Badge} state=${from} /> → `;
    return { ...entry, kind: "states", content: html`<strong>${name}</strong> ${before}<${Badge} state=${to} />` };
  }
  const { requestId: _, ...shown } = fields;
  const details = Object.keys(shown).length > 0;
  return {
    ...entry,
    kind: "log",
    content: html`<code>${event}</code> ${typeof fields.route === "string" && `${fields.route} → ${fields.status}`}
      ${details && html`<details><summary>Fields</summary><${Json} value=${shown} label=${`Fields of ${event}`} /></details>`}`,
  };
}

interface PeerCall {
  readonly method: string;
  readonly url: string;
  readonly authorized: boolean;
  readonly contentType?: string;
  readonly request?: string;
  readonly status?: number;
  readonly response?: string;
  readonly failure?: string;
  readonly durationMs: number;
}

function callContent(
  { method, url, authorized, contentType, request, status, response, failure, durationMs }: PeerCall,
  { peers }: Facts,
) {
  const { origin, host, pathname } = URL.parse(url) ?? { origin: url, host: url, pathname: "" };
  const [peer = host] = Object.entries(peers).find(([, address]) => address === origin) ?? [];
  const tone = status === undefined || status >= 400 ? "bad" : "good";
  const name = `${method} ${pathname}`;
  const authorization = authorized ? "Bearer $TOKEN" : undefined;
  return html`<details>
    <summary><strong>${peer}</strong> <code>${name}</code> <span class=${`badge ${tone}`}>${status ?? "no response"}</span> <span class="hint">${durationMs} ms</span></summary>
    ${failure && html`<p class="problem">${failure}</p>`}
    ${request && html`<h3>Request</h3><${Json} value=${request} label=${`Request of ${name}`} />`}
    ${response && html`<h3>Response</h3><${Json} value=${response} label=${`Response to ${name}`} />`}
    <${Copy} text=${curlOf({ method, url, authorization, contentType, body: request })} label="Copy as curl" of=${name} />
  </details>`;
}
