import { ask, facts, readHost } from "./calls.js";
import { badge, card, el, factList, table } from "./dom.js";
import { code, counted, json } from "./format.js";
import { live } from "./live.js";

/** @type {import("./main.js").View} */
export async function overview({ main, left }) {
  const load = async () => {
    const known = await facts();
    const health = known.host === undefined ? undefined : (await readHost("/health").catch(() => undefined))?.status;
    return { ...known, health, requests: (await ask("GET", "requests")).length };
  };
  const { area, ready } = live(left, load, draw, { everyMs: 5000 });
  main.append(
    el(
      "p",
      { class: "lead" },
      "The whole system on this machine: what it keeps, what its peers were asked, and every lever to move them.",
    ),
    area,
  );
  await ready;
  return "Overview";
}

/** @param {import("./calls.js").Facts & { health?: number, requests: number }} data */
const draw = ({ host, peers, surfaces, health, requests }) => [
  el(
    "div",
    { class: "columns" },
    card(
      "Host",
      factList({
        Address: host === undefined ? "none yet" : code(host),
        Health: health === undefined ? "does not answer" : health === 200 ? badge("well") : badge(`answers ${health}`),
        Connector: badge(surfaces.connector ? "served" : "not served"),
        "Core API": badge(surfaces.core ? "served" : "not served"),
        "Client API": badge(surfaces.client ? "served" : "not served"),
      }),
    ),
    card(
      "A key’s way",
      el(
        "ol",
        { class: "steps" },
        el("li", {}, el("a", { href: "#/order" }, "Order a key"), "; it ships after two seconds."),
        el(
          "li",
          {},
          "Take it over: ",
          el("a", { href: "#/requests" }, counted(requests, "request")),
          ", process shipments.",
        ),
        el("li", {}, "Activate it: process credential requests."),
        el("li", {}, "Read its PIN in the ", el("a", { href: "#/mailbox" }, "mailbox"), "."),
        el("li", {}, "Or order one that is enrolled ", el("a", { href: "#/on-site" }, "on site"), "."),
      ),
    ),
  ),
  card(
    "Peers",
    table(
      "Addresses of the simulated peers",
      ["Peer", "Address"],
      Object.entries(peers).map(([name, url]) => [
        el("a", { href: `#/peer/${encodeURIComponent(name)}` }, name),
        code(url),
      ]),
      "This system has no peers.",
    ),
  ),
  surfaces.connector && settings(),
];

function settings() {
  const area = el("div", {}, el("p", { class: "empty" }, "Loading …"));
  return el(
    "details",
    {
      class: "card",
      "data-key": "settings",
      ontoggle: async () => area.replaceChildren(json((await readHost("/v2/status")).body)),
    },
    el("summary", {}, "The connector’s settings"),
    area,
  );
}
