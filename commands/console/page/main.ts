import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { OtpKey } from "./auth/otpkey.ts";
import { OtpKeys } from "./auth/otpkeys.ts";
import { SignIn } from "./auth/sign-in.ts";
import { User } from "./auth/user.ts";
import { Users } from "./auth/users.ts";
import { ask, changes, connected, note } from "./calls.ts";
import { Copy } from "./forms/button.ts";
import { ConfirmDialog } from "./forms/confirm.ts";
import { Maintenance } from "./maintenance.ts";
import type { Choices, Facts, ViewProps } from "./model.ts";
import { Overview } from "./overview.ts";
import { Mailbox } from "./peers/mailbox.ts";
import { Peer } from "./peers/peer.ts";
import { Peers } from "./peers/peers.ts";
import { OnSite } from "./requests/on-site.ts";
import { Order } from "./requests/order.ts";
import { Request } from "./requests/request.ts";
import { Requests } from "./requests/requests.ts";
import { system, useStore } from "./store.ts";
import { html, nameOf, useLive } from "./ui.ts";

type View = (props: ViewProps) => unknown;

const views: Readonly<Record<string, View>> = {
  "": Overview,
  requests: Requests,
  request: Request,
  order: Order,
  "on-site": OnSite,
  mailbox: Mailbox,
  peers: Peers,
  peer: Peer,
  users: Users,
  user: User,
  otpkeys: OtpKeys,
  otpkey: OtpKey,
  "sign-in": SignIn,
  maintenance: Maintenance,
};

/** Views of what only the local system has. */
const simulated: readonly string[] = ["on-site", "mailbox", "peers", "peer", "sign-in", "maintenance", "/reference"];

const isOffered = (view: string, { isSimulated }: Facts): boolean => isSimulated || !simulated.includes(view);

/** A view by its name, or a page of its own by its path. */
type Entry = readonly [label: string, view: string, ...also: string[]];

const menu: readonly (readonly [group: string, entries: readonly Entry[]])[] = [
  ["", [["Overview", ""]]],
  [
    "Connector",
    [
      ["Requests", "requests", "request"],
      ["Order", "order"],
      ["On site", "on-site"],
      ["Mailbox", "mailbox"],
    ],
  ],
  [
    "Authentication",
    [
      ["Users", "users", "user"],
      ["Keys", "otpkeys", "otpkey"],
      ["Sign-in", "sign-in"],
    ],
  ],
  [
    "System",
    [
      ["Peers", "peers", "peer"],
      ["Maintenance", "maintenance"],
      ["API reference", "/reference"],
    ],
  ],
];

const readAddress = () => {
  const [, view = "", argument = ""] = /^#\/([a-z-]*)(?:\/(.*))?$/.exec(location.hash) ?? [];
  return { view, argument: decodeURIComponent(argument) };
};

function App() {
  const [{ view, argument }, setAddress] = useState(readAddress);
  useEffect(() => {
    const changed = () => setAddress(readAddress());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  const facts = useLive(
    async signal => {
      const known = await ask<Facts>("GET", "facts", { signal });
      system.set(known);
      return known;
    },
    [],
    3000,
  );
  const choices = useLive(signal => ask<Choices>("GET", "choices", { signal }), [], 600_000);
  const isLoaded = facts.data !== undefined && choices.data !== undefined;
  const View = (facts.data && isOffered(view, facts.data) && views[view]) || Overview;
  return html`
    <a class="skip" href="#main" onClick=${(event: Event) => {
      // The hash is the view's address.
      event.preventDefault();
      document.querySelector("main")?.focus();
    }}>Skip to the content</a>
    <header>
      <a class="brand" href="#/"><img src="icon.svg" alt="" width="28" height="28" /><span>${nameOf(facts.data)}</span></a>
      <p class="note">${facts.data && (facts.data.isSimulated ? "Development tool. Every peer is simulated." : Object.values(facts.data.addresses).join(" and "))}</p>
      ${facts.data && html`<${Menu} view=${view} facts=${facts.data} />`}
    </header>
    <main id="main" tabindex="-1">
      <${Connection} />
      ${
        isLoaded
          ? html`<${View} key=${`${view} ${["mailbox", "requests"].includes(view) ? "" : argument}`} facts=${facts.data} choices=${choices.data} argument=${argument} />`
          : html`<p class="empty" aria-busy="true">${facts.problem ?? choices.problem ?? "Loading …"}</p>`
      }
    </main>
    <${Corner} />
    <${ConfirmDialog} />
  `;
}

function Menu({ view, facts }: { view: string; facts: Facts }) {
  useEffect(() => {
    // On a phone the menu is wider than the screen. `scrollIntoView` would move the focus too.
    const nav = document.querySelector("nav");
    const current = nav?.querySelector("[aria-current]")?.getBoundingClientRect();
    if (nav && current) nav.scrollLeft += current.left + current.width / 2 - innerWidth / 2;
  }, [view]);
  return html`<nav aria-label="Views">
    ${menu
      .map(([group, entries]) => [group, entries.filter(([, link]) => isOffered(link, facts))] as const)
      .filter(([, entries]) => entries.length > 0)
      .map(
        ([group, entries]) => html`<div>
        ${group && html`<p class="group" id=${`group-${group}`}>${group}</p>`}
        <ul aria-labelledby=${group ? `group-${group}` : undefined}>
          ${entries.map(
            ([label, link, ...also]) =>
              html`<li><a href=${link.startsWith("/") ? link : `#/${link}`} aria-current=${[link, ...also].includes(view) ? "page" : undefined}>${label}</a></li>`,
          )}
        </ul>
      </div>`,
      )}
  </nav>`;
}

/** Shows that the system is not responding. */
function Connection() {
  const isConnected = useStore(connected);
  return html`<div role="alert">
    ${!isConnected && html`<p class="notice">The console is not responding. This page reconnects as soon as it runs again.</p>`}
  </div>`;
}

const shortMs = 8000;
/** What an action that leads to another view reported stays there: the view changes at once. */
const sameActionMs = 1000;

/** The outcome of the last call. A refusal stays until the next call, or until it is closed. */
function Corner() {
  const last = useStore(note);
  const count = useStore(changes);
  const isGood = last?.status !== undefined && last.status < 400;
  useEffect(() => {
    let since = Date.now();
    const unsubscribe = note.subscribe(() => {
      since = Date.now();
    });
    const leave = () => Date.now() - since > sameActionMs && note.set(undefined);
    addEventListener("hashchange", leave);
    return () => {
      unsubscribe();
      removeEventListener("hashchange", leave);
    };
  }, []);
  useEffect(() => {
    if (!isGood) return;
    const close = () =>
      document.querySelector("#outcome:hover, #outcome:focus-within") ? again() : note.set(undefined);
    let timer = setTimeout(close, shortMs);
    const again = () => {
      timer = setTimeout(close, shortMs);
    };
    return () => clearTimeout(timer);
  }, [last, count]);
  return html`<div id="outcome" role="status" aria-live="polite">
    ${
      last &&
      html`<div class=${`outcome ${isGood ? "good" : "bad"}`}>
      <p><strong>${last.status ?? "Failed"}</strong> <span>${last.name}</span></p>
      ${last.text && html`<pre tabindex="0">${last.text}</pre>`}
      ${last.curl && html`<${Copy} text=${last.curl} label="Copy as curl" of=${last.name} />`}
      <button type="button" class="quiet" aria-label="Close this note" onClick=${() => note.set(undefined)}>×</button>
    </div>`
    }
  </div>`;
}

render(html`<${App} />`, document.body);
