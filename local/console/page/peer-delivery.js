import { readPeer, steer } from "./calls.js";
import { card, el, factList } from "./dom.js";
import { button, field, form } from "./form.js";
import { code } from "./format.js";
import { live } from "./live.js";
import { shipmentControls, shipmentState } from "./shipment.js";

/** @type {import("./peer-controls.js").PeerControls} */
export function deliveryControls(left, choices) {
  const { area, ready } = live(
    left,
    signal => readPeer("delivery", "shipments", signal),
    (/** @type {any[]} */ shipments, again) =>
      shipments.length === 0
        ? el("p", { class: "empty" }, "It has no shipment.")
        : shipments.toReversed().map(shipment => drawShipment(shipment, choices, again)),
  );
  const settings = (/** @type {object} */ body) => steer("delivery", "POST", "settings", body).then(() => {});
  return {
    ready,
    cards: [
      card("Shipments, the newest first", area),
      card(
        "Ways of the service",
        form(
          "Set",
          ({ shipAfterMs }) => settings({ shipAfterMs: Number(shipAfterMs) }),
          field("shipAfterMs", "Ships by itself after, in milliseconds", {
            type: "number",
            value: 2000,
            min: 0,
            required: true,
          }),
        ),
        el(
          "div",
          { class: "buttons" },
          button("Can be searched", () => settings({ search: true })),
          button("Can not be searched", () => settings({ search: false })),
          button("Rotate its keys", () => steer("delivery", "POST", "rotate-keys", {})),
          button("Rotate and forget the old ones", () => steer("delivery", "POST", "rotate-keys", { forget: true })),
        ),
      ),
    ],
  };
}

/**
 * @param {any} shipment
 * @param {import("./choices.js").Choices} choices
 * @param {() => Promise<void>} refresh
 */
function drawShipment({ id, state, customerReference, keys }, choices, refresh) {
  const serials = keys.map((/** @type {any} */ { serial, pin }) =>
    el("li", {}, "serial ", code(serial), pin !== undefined && " with PIN ", code(pin)),
  );
  return el(
    "section",
    { class: "item" },
    el("h3", {}, code(id)),
    factList({
      State: shipmentState(state, choices),
      Reference: code(customerReference),
      Keys: serials.length === 0 ? "not programmed yet" : el("ul", {}, serials),
    }),
    el(
      "details",
      { "data-key": `controls ${id}` },
      el("summary", {}, "Move it"),
      shipmentControls({ id, state }, choices, refresh),
    ),
  );
}
