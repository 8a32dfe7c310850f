import { el } from "./dom.js";
import { mailbox } from "./mailbox.js";
import { maintenance } from "./maintenance.js";
import { onSite } from "./on-site.js";
import { order } from "./order.js";
import { otpkey } from "./otpkey.js";
import { otpkeys } from "./otpkeys.js";
import { overview } from "./overview.js";
import { peer } from "./peer.js";
import { peers } from "./peers.js";
import { request } from "./request.js";
import { requests } from "./requests.js";
import { signIn } from "./sign-in.js";
import { user } from "./user.js";
import { users } from "./users.js";

/**
 * @typedef {{ main: HTMLElement, left: AbortSignal }} Place where a view puts its elements, and what tells it that it was left
 * @typedef {(place: Place, name: string) => string | Promise<string>} View answers its title
 */

/** @type {Record<string, View>} */
const views = {
  "": overview,
  requests,
  request,
  order,
  "on-site": onSite,
  mailbox,
  peers,
  peer,
  users,
  user,
  otpkeys,
  otpkey,
  "sign-in": signIn,
  maintenance,
};

/** @type {readonly (readonly [label: string, link: string, ...also: string[]])[]} */
const menu = [
  ["Overview", ""],
  ["Requests", "requests", "request"],
  ["Order", "order"],
  ["On site", "on-site"],
  ["Mailbox", "mailbox"],
  ["Peers", "peers", "peer"],
  ["Users", "users", "user"],
  ["Keys", "otpkeys", "otpkey"],
  ["Sign-in", "sign-in"],
  ["Maintenance", "maintenance"],
];

let leaving = new AbortController();

/** @param {{ moveFocus: boolean }} how */
async function show({ moveFocus }) {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const [, name = "", argument = ""] = /^#\/([a-z-]*)\/?(.*)$/.exec(location.hash) ?? [];
  const view = views[name] ?? overview;
  drawMenu(name);
  const main = el("div", { class: "view" });
  const title = await Promise.resolve(view({ main, left: signal }, decodeURIComponent(argument))).catch(error => {
    main.append(el("p", { class: "problem" }, error instanceof Error ? error.message : String(error)));
    return "Trouble";
  });
  if (signal.aborted) return;
  const heading = el("h1", { tabindex: "-1" }, title);
  main.prepend(heading);
  document.title = `${title} · Local console`;
  document.querySelector("main")?.replaceChildren(main);
  if (moveFocus) {
    heading.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
}

/** @param {string} shown */
function drawMenu(shown) {
  const links = menu.map(([label, link, ...also]) => {
    const current = [link, ...also].includes(shown);
    return el("li", {}, el("a", { href: `#/${link}`, "aria-current": current && "page" }, label));
  });
  document.querySelector("nav")?.replaceChildren(el("ul", {}, links));
  showCurrent();
}

/** On a phone the menu is wider than the screen. Moved by hand: what scrolls into view by itself takes the focus's place along. */
function showCurrent() {
  const nav = document.querySelector("nav");
  const current = nav?.querySelector("[aria-current]")?.getBoundingClientRect();
  if (nav && current) nav.scrollLeft += current.left + current.width / 2 - innerWidth / 2;
}

addEventListener("hashchange", () => show({ moveFocus: true }));
document.querySelector(".skip")?.addEventListener("click", event => {
  // The hash is the view's name here.
  event.preventDefault();
  document.querySelector("main")?.focus();
});
await show({ moveFocus: false });
