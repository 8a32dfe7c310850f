import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { OtpKey } from "./auth/otpkey.ts";
import { OtpKeys } from "./auth/otpkeys.ts";
import { SignIn } from "./auth/sign-in.ts";
import { User } from "./auth/user.ts";
import { Users } from "./auth/users.ts";
import { ask } from "./calls.ts";
import { ConfirmDialog } from "./forms/confirm.ts";
import { Maintenance } from "./maintenance.ts";
import { type Choices, type Facts, isAllowed, type Need, type ViewProps } from "./model.ts";
import { Overview } from "./overview.ts";
import { Mailbox } from "./peers/mailbox.ts";
import { Peer } from "./peers/peer.ts";
import { Peers } from "./peers/peers.ts";
import { Offboard } from "./requests/offboard.ts";
import { OnSite } from "./requests/on-site.ts";
import { Order } from "./requests/order.ts";
import { Request } from "./requests/request.ts";
import { Requests } from "./requests/requests.ts";
import { SecurityKeys } from "./requests/security-keys.ts";
import { Connection, StatusBar } from "./status.ts";
import { system } from "./store.ts";
import { html, nameOf, useLive } from "./ui.ts";

type View = (props: ViewProps) => unknown;

const views: Readonly<Record<string, View>> = {
  "": Overview,
  requests: Requests,
  request: Request,
  order: Order,
  "security-keys": SecurityKeys,
  offboard: Offboard,
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

/** Roles without which a view has nothing to offer. */
const needs: Readonly<Record<string, Need>> = { offboard: "connector.support", order: "connector.call" };

const isOffered = (view: string, facts: Facts): boolean => {
  const need = needs[view];
  return (facts.isSimulated || !simulated.includes(view)) && (need === undefined || isAllowed(facts, need));
};

/** A view by its name, or a page of its own by its path. */
type Entry = readonly [label: string, view: string, ...also: string[]];

const menu: readonly (readonly [group: string, entries: readonly Entry[]])[] = [
  ["", [["Overview", ""]]],
  [
    "Connector",
    [
      ["Requests", "requests", "request"],
      ["Order", "order"],
      ["Security keys", "security-keys"],
      ["Offboard", "offboard"],
      ["On site", "on-site"],
      ["Mailbox", "mailbox"],
    ],
  ],
  [
    "Authentication",
    [
      ["Users", "users", "user"],
      ["OTP keys", "otpkeys", "otpkey"],
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
      <p class="note">${facts.data && (facts.data.isSimulated ? "Development tool. Every peer is simulated." : deploymentOf(facts.data))}</p>
      ${facts.data && html`<${Menu} view=${view} facts=${facts.data} />`}
    </header>
    <main id="main" tabindex="-1">
      <${Connection} />
      ${
        isLoaded
          ? html`<${View} key=${`${view} ${view === "mailbox" ? "" : argument}`} facts=${facts.data} choices=${choices.data} argument=${argument} />`
          : html`<p class="empty" aria-busy="true">${facts.problem ?? choices.problem ?? "Loading …"}</p>`
      }
    </main>
    <${StatusBar} />
    <${ConfirmDialog} />
  `;
}

/** Returns the host names of a deployment: they show on which one the operator works. */
const deploymentOf = ({ addresses }: Facts): string =>
  [...new Set(Object.values(addresses).map(address => new URL(address).host))].join(", ");

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

render(html`<${App} />`, document.body);
