import type { ListedCredentialRequest } from "../../../docs/openapi/connector.ts";
import { ask, callHost, messageOf, readHost, readPeer, segment } from "./calls.ts";
import { Button, Copy } from "./forms/button.ts";
import type { AuthenticatorRequest, ViewProps } from "./model.ts";
import { refusalOf } from "./outcomes/refusal.ts";
import type { MailPage } from "./peers/mailbox.ts";
import { JobButtons, OrderLink, reasonOf, usersOf } from "./requests/requests.ts";
import { useAllowed } from "./store.ts";
import { Badge, Card, code, FactList, html, Json, Page, shownLive, Table, time, useLive } from "./ui.ts";

const shownWaiting = 6;

export function Overview({ facts, choices }: ViewProps) {
  const { isSimulated, addresses, peers, apis, nextRuns } = facts;
  const work = useLive(
    async signal => {
      if (!apis.connector) return undefined;
      const list = async (filter: Readonly<Record<string, string>>) => {
        const path = `/v2/credential-requests?${new URLSearchParams(filter)}`;
        const outcome = await readHost<readonly ListedCredentialRequest[]>(path, signal);
        if (outcome.status !== 200) throw new Error(refusalOf(outcome));
        return { requests: outcome.body, hasMore: outcome.headers.link !== undefined };
      };
      const [received, started, all] = await Promise.all([
        ...["received", "started"].map(state => list({ state, $top: String(shownWaiting + 1) })),
        isSimulated ? list({ $top: "1000" }) : undefined,
      ]);
      return { all, open: [...(received?.requests ?? []), ...(started?.requests ?? [])] };
    },
    [apis.connector],
    3000,
  );
  const onSite = useLive(
    async signal =>
      peers.rfpr === undefined
        ? []
        : readPeer<readonly AuthenticatorRequest[]>("rfpr", "authenticator-requests", signal),
    [peers.rfpr],
    3000,
  );
  const mails = useLive(
    async signal => (peers.mail === undefined ? undefined : readPeer<MailPage>("mail", "mails?top=5", signal)),
    [peers.mail],
    3000,
  );
  const health = useLive(
    async signal =>
      Object.fromEntries(
        await Promise.all(
          Object.keys(addresses).map(async service => [
            service,
            await readHost(`/health/${service}`, signal).then(
              ({ status }) => (status === 200 ? "healthy" : "not healthy"),
              messageOf,
            ),
          ]),
        ),
      ) as Readonly<Record<string, string>>,
    [Object.values(addresses).join(" ")],
    5000,
  );
  const all = work.data?.all;
  const actions = html`<${JobButtons} /><${OrderLink} />`;
  const waiting = onSite.data?.filter(({ state }) => state === "waiting") ?? [];
  return html`<${Page} title="Overview" lead=${isSimulated ? "The whole system on this machine, and what waits to be done." : "What waits to be done."} actions=${actions}>
    ${
      all &&
      html`<ul class="tiles" aria-label="Requests by state">${choices.requestStates.map(
        state =>
          html`<li key=${state}><a href=${`#/requests/${state}`}><strong>${countOf(state, all)}</strong><${Badge} state=${state} /></a></li>`,
      )}</ul>`
    }
    <div class="split">
      <div>
        <${Card} title="What waits, and why">
          ${waiting.length > 0 && html`<p class="notice"><a href="#/on-site">${waiting.length} on site</a>: ${waiting.map(({ name }) => name).join(", ")}.</p>`}
          ${shownLive(work, data => html`<${Waiting} open=${data?.open ?? []} />`)}
        <//>
        ${
          isSimulated &&
          html`<${Card} title="Recent mails">
          ${shownLive(
            mails,
            page => html`<${Table} caption="The latest mails" columns=${["Subject", "To", "At"]}
            rows=${(page?.mails ?? []).map(({ id, subject, to, at }) => [
              html`<a href=${`#/mailbox/${segment(id)}`}>${subject}</a>`,
              to.join(", "),
              time(at),
            ])}
            empty="No email has come. PIN emails come when keys with a PIN are activated." />`,
          )}
        <//>`
        }
      </div>
      <div>
        <${Card} title="Health">
          <${FactList} rows=${{
            ...Object.fromEntries(
              Object.entries(addresses).map(([service, address]) => [
                `Address of ${service === "core" ? "Core" : "the connector"}`,
                html`${code(address)} <${Copy} text=${address} of=${`address of ${service}`} />`,
              ]),
            ),
            Health: shownLive(health, states =>
              Object.entries(states).map(([service, state]) => html`<p>${service} <${Badge} state=${state} /></p>`),
            ),
            ...Object.fromEntries(
              Object.entries(facts.roles ?? {}).map(([service, roles]) => [
                `Your role at ${service}`,
                roles?.join(", ") || "unknown",
              ]),
            ),
            Connector: html`<${Badge} state=${apis.connector ? "served" : "not served"} />`,
            "Core API": html`<${Badge} state=${apis.core ? "served" : "not served"} />`,
            "Client API": isSimulated && html`<${Badge} state=${apis.client ? "served" : "not served"} />`,
          }} />
        <//>
        ${
          isSimulated &&
          html`<${Card} title="Tokens" hint="Bearer tokens for programs on this machine.">
          <${Token} name="Connector" of="connector" />
          <${Token} name="Core API" of="core" />
        <//>
        <${Card} title="Next job runs">
          <${Table} caption="Next runs of the timers" columns=${["Timer", "At", ""]}
            rows=${nextRuns.map(({ name, at }) => [
              name,
              time(at),
              html`<${Button} label="Run now" kind="small" title=${`Run ${name} now`} run=${() => callHost("POST", `/admin/functions/${name}`, { body: {} })} />`,
            ])}
            empty="The timers of this host are not known here. Jobs can be run by the buttons above." />
        <//>`
        }
      </div>
    </div>
    ${apis.connector && html`<${Settings} />`}
  <//>`;
}

/** Returns the number of requests of a state; that of the first page has a plus if there are more pages. */
const countOf = (
  state: string,
  { requests, hasMore }: { readonly requests: readonly ListedCredentialRequest[]; readonly hasMore: boolean },
): string => `${requests.filter(each => each.state === state).length}${hasMore ? "+" : ""}`;

function Waiting({ open }: { open: readonly ListedCredentialRequest[] }) {
  const mayOrder = useAllowed("connector.call");
  return html`
  <${Table} caption="Open requests" columns=${["For", "State", "What it waits for"]}
    rows=${open
      .slice(0, shownWaiting)
      .map(request => [
        html`<a class="strong" href=${`#/request/${segment(request.credential_request_id)}`}>${usersOf(request).join(", ")}</a>`,
        html`<${Badge} state=${request.state} />`,
        reasonOf(request),
      ])}
    empty=${mayOrder ? html`Nothing waits. <a href="#/order">Order a key</a>, and follow it here.` : "Nothing waits."} />
  ${open.length > shownWaiting && html`<p class="hint"><a href="#/requests/started">All open requests</a></p>`}
`;
}

function Token({ name, of }: { name: string; of: "core" | "connector" }) {
  const read = async () => (await ask<Readonly<Record<string, string>>>("GET", "tokens"))[of] ?? "";
  return html`<p class="token"><span>${name}</span> <code>${of}_••••••••</code> <${Copy} text=${read} of=${`token of the ${name}`} /></p>`;
}

function Settings() {
  const status = useLive(async signal => (await readHost("/v2/status", signal)).body, [], 60_000);
  return html`<details class="card"><summary>The connector’s settings</summary>
    ${shownLive(status, body => html`<${Json} value=${body} label="Settings" />`)}
  </details>`;
}
