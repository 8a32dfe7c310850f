import { ask } from "./calls.js";
import { choices } from "./choices.js";
import { badge, card, el, table } from "./dom.js";
import { findRequests } from "./find-requests.js";
import { code, time } from "./format.js";
import { jobButtons } from "./jobs.js";
import { live } from "./live.js";
import { served } from "./surfaces.js";

/** @type {import("./main.js").View} */
export async function requests({ main, left }) {
  await served(main, "connector");
  const known = await choices();
  const { area, ready, refresh } = live(left, () => ask("GET", "requests"), draw);
  main.append(
    el("div", { class: "bar" }, el("a", { class: "button main", href: "#/order" }, "Order a key"), jobButtons(refresh)),
    card("All requests, the newest first", area),
    findRequests(known),
  );
  await ready;
  return "Requests";
}

/** @param {any[]} listed */
const draw = listed =>
  table(
    "Credential requests",
    ["Request", "State", "Made", "For", "Shipment", "Message"],
    listed.map(({ id, state, createdAt, email, shipmentId, errorMessage }) => [
      el("a", { href: `#/request/${encodeURIComponent(id)}`, "data-key": id }, code(id)),
      badge(state),
      time(createdAt),
      email,
      code(shipmentId),
      errorMessage,
    ]),
    "There is none yet. Order a key.",
  );
